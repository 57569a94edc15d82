"""SEQUENCER's binding: every edge on the real cores, and each planted fault where it sits."""

from __future__ import annotations

from collections import Counter, deque
from functools import cache, partial

import pytest

from raincheck.conformance.bindings.sequencer import reading
from raincheck.conformance.bindings.sequencer.binding import BINDING, make_core
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.replay.coverage import coverage, untried
from raincheck.conformance.replay.damage import without
from raincheck.conformance.replay.probes import Probes
from raincheck.conformance.replay.replay import Prepared, Replay, replay
from raincheck.conformance.replay.replayable import Replayable
from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.model.machine.runs import Address, Run

CASES = {case.name: case for case in load_cases()}
REPAIRED = ["join", "leave", "demote", "return", "f5-repaired", "f10-repaired", "f13-repaired"]
UNDONE = [
    "f1-seed",
    "f3-seed",
    "f5-undone",
    "f6-seed",
    "f9-undone",
    "f10-one-seed",
    "f12-undone",
    "f14-undone",
]


@cache
def prepared(name: str) -> Prepared:
    """A case's graph and walks."""
    [made] = Replayable(BINDING, [CASES[f"sequencer-{name}"]]).prepared()
    return made


@cache
def replayed(name: str) -> tuple[Replay, Probes]:
    """What the real cores do on a case's walks, and which guards were seen false."""
    probes = prepared(name).probes()
    return replay(prepared(name), probes=probes), probes


@pytest.mark.parametrize("name", [*REPAIRED, *UNDONE])
def test_every_edge_of_the_case_is_taken_by_the_real_cores(name: str) -> None:
    done, _ = replayed(name)
    assert done.mismatch is None, done.mismatch.text()
    assert (done.covered, done.missing) == (done.edges, [])
    assert done.actions.total() == done.edges
    case = CASES[f"sequencer-{name}"]
    assert case.distinct in (None, done.states)
    assert done.refusals > 0


def test_all_actions_are_taken_and_all_guards_seen_false() -> None:
    # What the repaired protocol never meets, a gap, takes a case with a repair undone; STABLE
    # reports to the design that keeps its messages until they are stable. A FORWARD that
    # nobody sent takes an adversary. Safe delivery has cases of its own.
    names = [*REPAIRED, "f3-undone", "f12-repaired", "f19-repaired", "f19-contents", "safe-join"]
    reached, refused = Counter[str](), Counter[str]()
    for name in names:
        done, probes = replayed(name)
        reached += done.actions
        refused += probes.refused
    assert untried(BINDING, refused) == []
    cases = [CASES[f"sequencer-{name}"] for name in names]
    found = coverage(BINDING, cases, reached, refused, ())
    assert found.verdict == "holds", found.detail
    assert (found.figures["actions"], found.figures["guards"]) == (19, 26)


def test_an_action_or_guard_that_nothing_reaches_is_a_finding() -> None:
    done, probes = replayed("f3-repaired")
    cases = [CASES["sequencer-f3-repaired"]]
    found = coverage(BINDING, cases, done.actions, probes.refused, ())
    assert found.verdict == "violated"
    assert "never taken: Crash" in found.detail
    assert 'never false: status[n] = "joining"' not in found.detail
    assert "never false: Running(n)" in found.detail


# ---------------------------------------------------------------- planted faults


class Forgetful(Sequencer):
    """It forgets one sender's entry when a view is installed."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Handle the event, then forget."""
        effects = super().handle(event)
        if isinstance(event, impl.InstallView):
            self.received_table.clear()
        return effects


class Talkative(Sequencer):
    """It takes new messages while it still has to resend."""

    @property
    def may_send(self) -> bool:
        """Whether it is a member is all it asks."""
        return self.status == "member"


class Confused(Sequencer):
    """It multicasts contents that are not those that it was given."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Handle the event with the contents of somebody else."""
        if isinstance(event, impl.ReceiveForward):
            other = reading.payloads("a", 1, 1)
            event = event._replace(forward=event.forward._replace(payloads=other))
        return super().handle(event)


class Clumsy(Sequencer):
    """It raises what no handler may raise."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Fail on a view."""
        if isinstance(event, impl.InstallView):
            raise KeyError("members")
        return super().handle(event)


class Stubborn(Sequencer):
    """It refuses to resend."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Clear what is to be resent before it is asked to."""
        if isinstance(event, impl.Resend):
            self.resend = deque()
        return super().handle(event)


class Behind(Sequencer):
    """It does not count what it has read of a stream."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Handle the event, then step back in the stream."""
        before = dict(self.position)
        effects = super().handle(event)
        if isinstance(event, impl.ReceiveData):
            self.position = before
        return effects


@pytest.mark.parametrize(
    ("core", "problem", "where"),
    [
        (Forgetful, "the states differ", "received_table["),
        (Behind, "the states differ", "position["),
        (Confused, "the outputs differ", "outputs: expected (Data("),
        (Talkative, "accepts what its guard forbids: Send", "HoldSends"),
        (Clumsy, "raises KeyError: 'members'", "InstallView"),
        (Stubborn, "the implementation refuses: Resend is not enabled", ""),
    ],
)
def test_a_planted_fault_is_found_and_located(
    core: type[Sequencer], problem: str, where: str
) -> None:
    case = prepared("join")
    make = partial(make_core, kind=core)
    done = replay(case, make=make)
    mismatch = done.mismatch
    assert mismatch is not None
    text = mismatch.text()
    assert problem in mismatch.problem
    assert where in text
    assert case.moves(case.walks[done.walk - 1])[: mismatch.step] == mismatch.moves
    # The same walk alone shows it again, and the sound core passes it.
    again = replay(case, make=make, walks=[done.walk])
    assert again.mismatch is not None
    assert (again.mismatch.moves, again.walk) == (mismatch.moves, done.walk)
    assert replay(case, walks=[done.walk]).mismatch is None


def test_what_arrives_is_offered_although_no_move_has_it() -> None:
    case = prepared("f3-undone")
    found = replay(case, make=without(BINDING, {"exact_next": False})).mismatch
    assert found is not None
    assert "accepts what its guard forbids: ReceiveData" in found.problem
    assert "ExactNext => IsNext(n, m)" in found.problem
    assert replay(case).mismatch is None


# ---------------------------------------------------------------- the reading


def test_contents_that_are_not_the_senders_are_seen() -> None:
    who = wire.Address("b", 1)
    run = wire.Run(who, 3, 2)
    mine = reading.singles(run, reading.payloads("b", 7, 2))
    assert mine == (Run(Address("b", 1), 3, 1, 7), Run(Address("b", 1), 4, 1, 8))
    assert reading.singles(run, reading.payloads("c", 7, 2))[0].payload == reading.DAMAGED
    assert reading.singles(run, reading.payloads("b", 7, 3))[0].payload == reading.DAMAGED
    nothing = wire.Run(who, 3, 0)
    assert reading.singles(nothing, reading.payloads("b", 7, 0))[0].payload == reading.DAMAGED


def test_every_variable_of_the_core_is_read() -> None:
    core = Sequencer(wire.Address("b", 2), repairs=Repairs())
    members = (wire.Address("a", 0), wire.Address("b", 2))
    core.found(wire.View(wire.ViewId(1, members[0]), members))
    before = reading.local_of(core)
    core.handle(impl.Send(reading.payloads("b", 1, 3)))
    early = impl.Forward(wire.Run(members[0], 1, 2), 2, reading.payloads("a", 1, 2), 1, 0)
    core.handle(impl.ReceiveForward(members[0], early))
    core.handle(impl.Leave())
    core.received_table[members[0]] = 4
    after = reading.local_of(core)
    changed = {name for name, old in before._asdict().items() if getattr(after, name) != old}
    assert changed == {"status", "seqno", "said", "forward_table", "received_table", "early"}
    assert (after.forward_table, after.seqno, after.incarnation) == (((1, 3),), 3, 2)
    assert [each.messages.first for each in after.early] == [1, 2]
