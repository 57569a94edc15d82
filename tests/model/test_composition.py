"""Theories side by side: the proof succeeds, and fails where a part or the coupling says less."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from raincheck.conformance.evidence.proofcircle import circle, circle_name, discharged
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE
from raincheck.model.nakack.proof import theory as nakack
from raincheck.model.nakack.proof.with_stable import compositions
from raincheck.model.nakack.proof.words import JOINING, running
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.composition import Composition, Joint, Taken
from raincheck.model.proof.induction import Conjunct, Theory, Transition, attempt
from raincheck.model.proof.logic import And, Expr, Implies, World
from raincheck.model.stable.proof import theory as stable

[BOTH] = compositions()


def left_open(composed: Composition, seed: int = 1) -> list[str]:
    """Return what is not proved: the claim, and the step after which it is."""
    found = composed.obligations()
    return [f"{o.claim} | {o.transition}" for o in found if not attempt(o, seed).proved]


# ---------------------------------------------------------------------- NAKACK and STABLE


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_nakack_and_stable_take_nothing_for_granted_that_rests_on_the_other(seed: int) -> None:
    assert left_open(BOTH, seed) == []


def test_every_step_of_both_is_there_and_what_one_causes_in_the_other_follows() -> None:
    names = {(part, each.name) for part, it in BOTH.parts.items() for each in it.transitions}
    leading = {(each.part, each.transition) for each in BOTH.steps}
    owed = {(o.transition, o.claim) for o in BOTH.obligations() if o.kind == "owed"}
    followed = {(lead, claim) for lead, claim in owed if lead != claim}

    assert len(leading) == len(BOTH.steps)
    assert names - leading == {
        ("nakack", "Purge"),
        ("stable", "InstallView: member"),
        ("stable", "InstallView: joiner"),
        ("stable", "Crash"),
        ("stable", "ViewChange"),
    }
    assert followed == {
        ("nakack.Deliver", "stable.Deliver"),
        ("stable.SendStability", "nakack.Purge"),
        ("stable.ReceiveStability: covers", "nakack.Purge"),
        ("stable.ReceiveStability: does not", "nakack.Purge"),
        ("nakack.InstallView", "stable.InstallView: member"),
        ("nakack.Join", "stable.InstallView: joiner"),
        ("nakack.Join", "stable.Deliver"),
        ("nakack.Crash", "stable.Crash"),
        ("nakack.ViewChange", "stable.ViewChange"),
    }
    # A digest is sent only if it is true, though its sender's own guard does not ask for that.
    assert ("stable.SendDigest: first", "stable.SendDigest: first") in owed


@pytest.mark.slow  # the audit asks the same of the same composition
def test_every_step_of_both_can_happen() -> None:
    search = Search(BOTH.theory)

    assert [each.name for each in BOTH.occasions() if not search.enabled(each)] == []


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ("without SameDelivered", "nakack.Purge | stable.SendStability"),
        # The audit leaves out each part in turn; here, one of each kind.
        pytest.param(
            "without PromisedBeforeTheCut", "stable.Deliver | nakack.Join", marks=pytest.mark.slow
        ),
        pytest.param(
            "without what is given of stable.SendDigest: later",
            "stable.SendDigest: later | stable.SendDigest: later",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "without what is given of nakack.ViewChange",
            "stable.ViewChange | nakack.ViewChange",
            marks=pytest.mark.slow,
        ),
        ("without what is given of stable.Deliver", "SameDelivered | stable.Deliver"),
    ],
)
def test_it_is_not_proved_without_a_part_of_what_couples_them(words: str, opened: str) -> None:
    assert opened in left_open(dict(BOTH.weakened())[words])


def with_part(name: str, part: Theory) -> Composition:
    """Return both with another theory in place of one."""
    return replace(BOTH, parts={**BOTH.parts, name: part}, own={**BOTH.own, name: part})


def purging(stable_at: Callable[[World, Expr, Expr], Expr]) -> Composition:
    """Return both where NAKACK purges only what is stable in that sense."""
    subject = nakack.theory()
    steps = tuple(
        replace(each, guard=stable_at) if each.name == "Purge" else each
        for each in subject.transitions
    )
    return with_part("nakack", replace(subject, transitions=steps))


def test_a_stable_that_heeds_the_stability_of_other_views_lets_nakack_purge_too_much() -> None:
    subject = stable.theory(stable.basis_without(["VoteCheck"]))

    found = left_open(with_part("stable", subject))

    assert set(found) == {
        "nakack.Purge | stable.ReceiveStability: covers",
        "nakack.Purge | stable.ReceiveStability: does not",
    }


@pytest.mark.parametrize("name", ["DueHolds", "StableIsOfAll"])
def test_what_stable_proves_of_stability_is_needed(name: str) -> None:
    subject = stable.theory()
    less = tuple(each for each in subject.invariant if each.name != name)

    found = left_open(with_part("stable", replace(subject, invariant=less)))

    assert found
    assert all(each.startswith("nakack.Purge | stable.") for each in found)


def test_a_nakack_that_takes_a_delivery_back_has_no_true_digests() -> None:
    subject = nakack.theory(nakack.basis_without(["MembersOnly"]))

    found = left_open(with_part("nakack", subject))

    assert "SameDelivered | nakack.ReceiveData: of a non-member" in found


def test_stable_does_not_promise_that_all_members_still_read_the_stream() -> None:
    """A member may have gone on to a view without the source, and have left the stream behind."""

    def everybody_reads(s: World, p: Expr, _k: Expr) -> Expr:
        def reads(m: Expr) -> Expr:
            asked = And(s.status(m) != JOINING, Implies(running(s, m), s.reads(m)))
            return Implies(s.in_view(s.view(p), m), asked)

        return And(running(s, p), s.reads(p), s.forall(["process"], reads))

    assert set(left_open(purging(everybody_reads))) == {
        "nakack.Purge | stable.SendStability",
        "nakack.Purge | stable.ReceiveStability: covers",
        "nakack.Purge | stable.ReceiveStability: does not",
    }


# ---------------------------------------------------------------------- what prove says


def counter(name: str, *, modest: bool = False) -> Theory:
    """A number that rises, or that is set to anything."""
    rise = Transition(
        "Rise",
        "",
        (("to", "number"),),
        lambda s, to: True if modest else to >= s.value(),
        lambda _s, to: {"value": lambda: to},
    )
    positive = Conjunct("Positive", "It is at least 0.", (), lambda s: s.value() >= 0)
    start = {"value": lambda: 0}
    symbols = {"value": ((), "number")}
    return Theory(name, symbols, {}, (), lambda _: (True, start), (rise,), (positive,), ())


SAME = Conjunct("Same", "Both are equal.", (), lambda s: s.left_value() == s.right_value())


def pair(*coupling: Conjunct, given: Callable[..., Expr] | None = None) -> Composition:
    """Return two counters, of which the right one follows the left one."""
    follow = Joint("left", "Rise", lambda _s, to: [Taken("right", "Rise", (to,))])
    return Composition(
        {"left": counter("left"), "right": counter("right")},
        {"left": counter("left"), "right": counter("right", modest=True)},
        (follow if given is None else replace(follow, given=given),),
        coupling,
        lambda _: True,
    )


def test_a_circle_is_broken_if_all_is_proved_and_the_coupling_is_needed() -> None:
    result, attempts = circle("left", pair(SAME), (1, 2), 1000)

    assert (result.name, result.verdict, result.detail) == ("left-circle-right", HOLDS, "")
    assert result.figures["breaks"] == ["left", "right"]
    assert result.figures["caught"] == ["without Same"]
    assert result.figures["occasions"] == result.figures["enabled"] == 1
    assert result.name == circle_name("left", pair(SAME))
    assert result.figures["discharges"] == discharged(pair(SAME)) == []
    assert len(attempts) == 2 * result.figures["obligations"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("composed", "reason"),
    [
        (
            pair(replace(SAME, body=lambda s: s.left_value() > s.right_value())),
            "open: Same after Init",
        ),
        (
            pair(SAME, Conjunct("Idle", "", (), lambda s: s.left_value() >= -1)),
            "the proof succeeds without Idle, too",
        ),
        (
            pair(SAME, given=lambda s, _: s.left_value() < 0),
            "never seen enabled where the invariant holds: left.Rise",
        ),
    ],
)
def test_a_circle_is_not_broken_by(composed: Composition, reason: str) -> None:
    result, _ = circle("left", composed, (1,), 1000)

    assert result.verdict == INCONCLUSIVE
    assert reason in result.detail.splitlines()


def test_a_circle_is_not_broken_if_a_part_is_not_proved_itself() -> None:
    composed = pair(SAME)
    wrong = Conjunct("Small", "", (), lambda s: s.value() <= 3)
    parts = {**composed.parts, "left": replace(composed.parts["left"], invariant=(wrong,))}

    result, _ = circle("left", replace(composed, parts=parts), (1,), 1000)

    assert result.verdict == INCONCLUSIVE
    assert "open: Small after Rise" in result.detail
