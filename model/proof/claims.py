"""The interface of a protocol's proof: what its module offers to `raincheck prove`.

One function is required:

    def theory(basis=None) -> Theory

whose `name` is the protocol's. The module may offer more, by these names:

    WITHOUT                          names of assumptions and repairs that can be dropped
    basis_without(names)             the basis without them, an argument of `theory`
    explanation(failure) -> str      a counterexample to induction in the protocol's words
    reachability(failure, basis)     whether the explorer reaches its state before, a phrase
    runs_that_break(conjuncts, basis)  name -> Path of a run of a small instance to a state in
                                     which that conjunct is false
    edges(theory, machines)          explored steps of the model, as the theory takes them
    twins(theory, machines)          states of the model, with what its promises say of them
    EXCUSED                          a branch, a side of a guard or a theorem -> why nothing that
                                     is explored meets it
    compositions()                   this theory beside others that assume something of it, and it
                                     of them (composition.py)

Without `edges` and `twins` (model/proof/ties.py) a proof is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from raincheck.model.machine.graph import Path
from raincheck.model.machine.machine import ModelError

from .bounded import Failure
from .composition import Composition
from .induction import Conjunct, Theory
from .plain import explanation as plain_explanation
from .ties import Edges, Twins

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Proof:
    """A protocol's offer to the prover."""

    protocol: str
    module: str
    """The name of its module."""
    theory: Callable[..., Theory]
    without: tuple[str, ...]
    """The assumptions and repairs that can be dropped, by the spec's names."""
    basis_without: Callable[[Sequence[str]], Any]
    explanation: Callable[[Failure], str]
    reachability: Callable[[Failure, Any], str]
    runs_that_break: Callable[[Sequence[Conjunct], Any], Mapping[str, Path[Any]]]
    edges: Edges | None
    twins: Twins | None
    excused: Mapping[str, str]
    compositions: Callable[[], Sequence[Composition]]


def proof_in(module: ModuleType) -> Proof:
    """Return the proof that the module offers; the module has `theory`.

    Raises ModelError if that returns something else.
    """

    def offered(name: str, otherwise: T) -> T:
        found: T = getattr(module, name, otherwise)
        return found

    theory: object = module.theory()
    if not isinstance(theory, Theory):
        raise ModelError(f"{module.__name__}: theory() returned {theory!r}: return a Theory")
    return Proof(
        theory.name,
        module.__name__,
        module.theory,
        tuple(offered("WITHOUT", ())),
        offered("basis_without", lambda _names: None),
        offered("explanation", plain_explanation),
        offered("reachability", lambda _failure, _basis: "not looked for in the model"),
        offered("runs_that_break", lambda _conjuncts, _basis: {}),
        offered("edges", None),
        offered("twins", None),
        offered("EXCUSED", {}),
        offered("compositions", lambda: ()),
    )
