"""A protocol's proof, found by the protocol's name.

`raincheck prove p` needs of `model/p/proof/theory.py` one function:

    def theory(basis=None) -> Theory

whose `name` is the protocol's. A module may offer more, by these names, itself or in
`model/p/proof/failure.py`:

    WITHOUT                          names of assumptions and repairs that can be dropped
    basis_without(names)             the basis without them, which `theory` then takes
    told(failure) -> str             a counterexample to induction in the protocol's words
    reachability(failure, basis)     whether the explorer reaches its state before, a phrase
    runs_that_break(conjuncts, basis)  name -> Path of a run of a small instance to a state in
                                     which that conjunct is false
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from raincheck.model.machine.graph import Path

from .bounded import Failure
from .induction import Conjunct, Theory
from .plain import told as plainly_told

T = TypeVar("T")

_MODELS: Final = "raincheck.model"
_PLACES: Final = ("theory", "failure")


@dataclass(frozen=True, slots=True)
class Proof:
    """What a protocol offers to the prover."""

    protocol: str
    theory: Callable[..., Theory]
    without: tuple[str, ...]
    """What can be dropped: assumptions and repairs, by the spec's names."""
    basis_without: Callable[[Sequence[str]], Any]
    told: Callable[[Failure], str]
    reachability: Callable[[Failure, Any], str]
    runs_that_break: Callable[[Sequence[Conjunct], Any], Mapping[str, Path[Any]]]


def proved() -> tuple[str, ...]:
    """Return the protocols that have a proof, in the order of their names."""
    folder = importlib.import_module(_MODELS)
    names = [each.name for each in pkgutil.iter_modules(folder.__path__)]
    return tuple(name for name in names if _has_proof(_module(name, "theory"), name))


def proof_of(protocol: str) -> Proof:
    """Return what the protocol offers; raise LookupError if it has no proof."""
    module = _module(protocol, "theory")
    if not _has_proof(module, protocol):
        raise LookupError(f"model/{protocol}/proof/theory.py with a function theory")
    places = (module, *(_module(protocol, each) for each in _PLACES[1:]))

    def offered(name: str, otherwise: T) -> T:
        return next((getattr(each, name) for each in places if hasattr(each, name)), otherwise)

    return Proof(
        protocol,
        module.theory,
        tuple(offered("WITHOUT", ())),
        offered("basis_without", lambda _names: None),
        offered("told", plainly_told),
        offered("reachability", lambda _failure, _basis: "not looked for in the model"),
        offered("runs_that_break", lambda _conjuncts, _basis: {}),
    )


def parts_of(protocol: str) -> tuple[str, ...]:
    """Return the modules in which `proof_of` looks."""
    return tuple(f"{_MODELS}.{protocol}.proof.{name}" for name in _PLACES)


def _has_proof(module: Any, name: str) -> bool:
    """Whether the module defines `theory`; others of the protocol's modules may import it."""
    theory = getattr(module, "theory", None)
    return theory is not None and theory.__module__ == f"{_MODELS}.{name}.proof.theory"


def _module(name: str, part: str) -> Any:
    whole = f"{_MODELS}.{name}.proof.{part}"
    try:
        return importlib.import_module(whole)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{whole}.".startswith(f"{error.name}."):
            raise
        return None
