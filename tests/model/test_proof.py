"""Proofs are found by the protocol's name; a theory with kinds of its own is told plainly."""

from types import ModuleType

import pytest
import z3

from raincheck.model.proof.bounded import Search
from raincheck.model.proof.claims import proof_in
from raincheck.model.proof.induction import (
    Conjunct,
    Property,
    Theory,
    Transition,
    attempt,
    obligations,
)
from raincheck.model.proof.logic import And, Implies, Not, declared
from raincheck.model.proof.plain import explanation as plain_explanation
from raincheck.model.sequencer.proof import offered as sequencer


def tokens(*, careful: bool) -> Theory:
    """Tokens are held by at most one process each; a careless one takes what another holds."""
    exclusive = Conjunct(
        "Exclusive",
        "No two processes hold the same token.",
        ("process", "process", "token"),
        lambda s, p, q, t: Implies(And(s.holds(p, t), s.holds(q, t)), p == q),
        lambda s, p, q, t: [(s.holds(p, t), s.holds(q, t))],
    )
    take = Transition(
        "Take",
        "",
        (("p", "process"), ("t", "token")),
        lambda s, _, t: Not(s.exists(["process"], lambda q: s.holds(q, t))) if careful else True,
        lambda s, p, t: {
            "holds": lambda q, u: z3_or(s.holds(q, u), And(q == p, u == t)),
        },
    )
    return Theory(
        "tokens",
        {"holds": (("process", "token"), "bool")},
        {},
        (),
        lambda _: (True, {"holds": lambda _p, _t: False}),
        (take,),
        (exclusive,),
        (Property("Mutex", "One holder.", exclusive.formula),),
    )


def z3_or(left: object, right: object) -> object:
    from raincheck.model.proof.logic import Or

    return Or(left, right)


def test_a_theory_may_have_a_kind_of_its_own() -> None:
    assert all(attempt(each, 1).proved for each in obligations(tokens(careful=True)))


def test_a_term_of_another_sort_is_refused() -> None:
    token = z3.Const("t", z3.DeclareSort("Token"))
    number = declared("number", [z3.IntSort()], z3.IntSort())

    assert number(number(1)).sort() == z3.IntSort()
    for wrong in (lambda: number(token), lambda: And(number(1) == 1, token), lambda: number("one")):
        with pytest.raises(z3.Z3Exception):
            wrong()
    with pytest.raises(ValueError, match="zip"):
        number(1, 2)


def test_its_counterexample_is_written_in_its_symbols() -> None:
    theory = tokens(careful=False)
    (take,), (exclusive,) = theory.transitions, theory.invariant

    failure = Search(theory).failure(exclusive, take)

    assert failure is not None
    text = plain_explanation(failure)
    assert "action: Take (p = p" in text
    assert "violated: Exclusive: No two processes hold the same token." in text
    assert "holds(p" in text


def test_a_module_offers_its_proof() -> None:
    proof = proof_in(sequencer)
    assert proof.protocol == "sequencer"
    assert proof.theory().name == "sequencer"
    assert "ViewTag" in proof.without
    assert proof.basis_without(["ViewTag"]).rules.view_tag is False
    assert proof.explanation is sequencer.explanation is not plain_explanation


def test_a_module_with_a_theory_alone_is_reported_plainly() -> None:
    alone = ModuleType("tokens")
    alone.theory = lambda _basis=None: tokens(careful=True)  # type: ignore[attr-defined]

    proof = proof_in(alone)

    assert (proof.protocol, proof.without) == ("tokens", ())
    assert proof.explanation is plain_explanation
    assert proof.basis_without(["Anything"]) is None
