"""The ties of the proofs to the models: each protocol's hold, and a damaged theory is noticed."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from raincheck.conformance.cases.table import CaseTable
from raincheck.conformance.evidence.prooftie import tied
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.conformance.protocols.registry import protocols
from raincheck.model.flush.proof.theory import survived
from raincheck.model.proof.claims import proof_in
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, World
from raincheck.model.sequencer.proof.properties import _identical
from raincheck.model.sequencer.proof.vocabulary import is_heard, running


def results(
    protocol: str,
    damage: Callable[[Theory], Theory],
    *wanted: str,
    excused: Mapping[str, str] | None = None,
) -> dict[str, Result]:
    """The results of the edges, or of the wanted theorems."""
    record = protocols()[protocol]
    proof = proof_in(record.module("proof"))
    constants = {case.name: case.constants for case in CaseTable(record.cases).cases()}
    machine = record.get("model")
    unasked = "edges" if wanted else "twins"
    proof = replace(proof, **{unasked: lambda *_: ()})
    if excused is not None:
        proof = replace(proof, excused=excused)
    found, _ = tied(proof, damage(proof.theory()), wanted, lambda case: machine(constants[case]))
    return {each.name: each for each in found}


def unguarded(name: str, extra: Function) -> Callable[[Theory], Theory]:
    """A theory whose transition of that name happens only where the extra guard is true."""

    def change(each: Transition) -> Transition:
        if each.name != name:
            return each
        return replace(each, guard=lambda s, *at: And(each.guard(s, *at), extra(s, *at)))

    return lambda theory: replace(theory, transitions=tuple(map(change, theory.transitions)))


def weakened(name: str, formula: Callable[[World], Expr]) -> Callable[[Theory], Theory]:
    """A theory with another theorem under that name."""
    return lambda theory: replace(
        theory,
        properties=tuple(
            replace(each, formula=formula) if each.name == name else each
            for each in theory.properties
        ),
    )


def synchrony_of_running_senders(s: World) -> Expr:
    return s.forall(
        ["process", "process", "view", "process"],
        lambda p, q, v, c: Implies(
            And(survived(s, p, v), survived(s, q, v), s.member(v, c), s.running(c)),
            s.cut(p, v, c) == s.cut(q, v, c),
        ),
    )


def order_of_founders(s: World) -> Expr:
    def ordered(p: Expr, q: Expr, j1: Expr, j2: Expr, x1: Expr, x2: Expr) -> Expr:
        if And(s.founder(p), is_heard(s, p, j1), is_heard(s, q, x1), j1 < j2) is False:
            return True
        heard = And(is_heard(s, p, j1), is_heard(s, p, j2), is_heard(s, q, x1), is_heard(s, q, x2))
        same = And(_identical(s, p, j1, q, x1), _identical(s, p, j2, q, x2))
        both = And(running(s, p), running(s, q), s.founder(p), s.founder(q))
        return Implies(And(both, heard, same, j1 < j2), x1 < x2)

    return s.forall(["process", "process", "index", "index", "index", "index"], ordered)


@pytest.mark.parametrize(
    ("protocol", "name", "formula"),
    [
        ("flush", "VirtualSynchrony", synchrony_of_running_senders),
        ("sequencer", "TotalOrder", order_of_founders),
    ],
)
def test_a_theorem_that_says_less_than_its_promise_is_violated(
    protocol: str, name: str, formula: Callable[[World], Expr]
) -> None:
    twin = results(protocol, weakened(name, formula), name)[f"{protocol}-twin-{name}"]

    assert twin.verdict == VIOLATED
    assert "that break the promise" in twin.detail


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("ReceiveMulticast", lambda s, p, c: Not(s.frozen(p, c))),
        ("Crash", lambda s, p: Not(s.latch(p))),
    ],
)
def test_a_theory_that_forbids_what_the_model_does_is_violated(name: str, extra: Function) -> None:
    edges = results("flush", unguarded(name, extra))["flush-edges"]

    assert edges.verdict == VIOLATED
    assert f"the guard of {name}" in edges.detail


def test_a_branch_that_no_edge_takes_is_named() -> None:
    def twice(theory: Theory) -> Theory:
        crash = next(each for each in theory.transitions if each.name == "Crash")
        return replace(theory, transitions=(*theory.transitions, replace(crash, case="again")))

    edges = results("flush", twice)["flush-edges"]

    assert edges.verdict == INCONCLUSIVE
    assert edges.detail == "no explored edge has met Crash: again: never taken"


def test_an_alternative_that_no_edge_needs_and_a_condition_never_false_are_named() -> None:
    edges = results("flush", unguarded("Crash", lambda s, p: s.view(p) >= 1))["flush-edges"]

    assert edges.verdict == INCONCLUSIVE
    assert edges.detail == "no explored edge has met Crash: not view(p) >= 1"


def test_a_theorem_that_was_asked_of_no_broken_state_is_inconclusive() -> None:
    proof = proof_in(protocols()["flush"].module("proof"))
    nothing = replace(proof, edges=lambda *_: (), twins=lambda *_: ())

    found, _ = tied(nothing, proof.theory(), ["Still"], lambda case: pytest.fail(case))

    assert [each.verdict for each in found] == [INCONCLUSIVE, INCONCLUSIVE]


def test_an_excuse_for_what_was_met_is_refused() -> None:
    proof = proof_in(protocols()["flush"].module("proof"))
    met = {**proof.excused, "Crash: not running(p)": "no reason"}

    edges = results("flush", lambda theory: theory, excused=met)["flush-edges"]

    assert edges.verdict == INCONCLUSIVE
    assert edges.detail == "excused, although it was met or is none: Crash: not running(p)"


BOUND = {name for name, record in protocols().items() if record.offers("proof")}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", sorted(BOUND))
def test_every_proof_is_tied_to_its_model(protocol: str) -> None:
    proof = proof_in(protocols()[protocol].module("proof"))
    names = [each.name for each in proof.theory().properties]

    edges = results(protocol, lambda theory: theory)
    twins = results(protocol, lambda theory: theory, *names)

    assert edges[f"{protocol}-edges"].verdict == HOLDS, edges[f"{protocol}-edges"].detail
    assert [twins[f"{protocol}-twin-{name}"].verdict for name in names] == [HOLDS] * len(names)
