"""MERGE2's core: what is beside the specification, for the stack and for the long run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import NotEnabled
from raincheck.impl.merge2.core import MOST, Merge2
from raincheck.impl.merge2.events import (
    NO_MERGE,
    Answer,
    Decide,
    Digest,
    Effect,
    Finish,
    Flushed,
    Install,
    InstallView,
    Merge,
    MergeId,
    ReceiveCancel,
    ReceiveFound,
    ReceiveInstalled,
    ReceiveInstallMergeView,
    ReceiveMergeReq,
    ReceiveMergeRsp,
    ReceiveResume,
    Resend,
    Resume,
    SendCancel,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    SideInstalled,
    Suspect,
    Suspend,
    Suspended,
    View,
)
from raincheck.impl.messages import Address, ViewId

A, B, C, D = (Address(name, 0) for name in "abcd")
M = MergeId(A, 1)


def alone(me: Address, counter: int = 1) -> Merge2:
    """A coordinator of a group of one."""
    return Merge2(me, View(ViewId(counter, me), (me,)))


def cut(*read: tuple[Address, int]) -> Digest:
    return tuple(sorted(read))


def flushed(core: Merge2, digest: Digest) -> list[Effect]:
    return core.handle(Flushed(frozenset(core.view.members), digest))


def installed(core: Merge2, view: View) -> list[Effect]:
    """The layers around install the view at the side."""
    return core.handle(InstallView(view)) + core.handle(SideInstalled())


def answered(*others: Address) -> Merge2:
    """The leader a, once it and the others, each a group of one, have answered."""
    leader = alone(A)
    leader.handle(Merge(frozenset(others), 1, is_known=False))
    flushed(leader, cut((A, 3)))
    for other in others:
        answer = Answer(other, 1, frozenset({other}), cut((other, 5)))
        leader.handle(ReceiveMergeRsp(other, M, answer))
    return leader


def decided(*others: Address) -> tuple[Merge2, View]:
    """That leader, once its own side has the merged view."""
    leader = answered(*others)
    view = next(e for e in leader.handle(Decide()) if isinstance(e, Install)).view
    installed(leader, view)
    return leader, view


# ------------------------------------------------------------------ a merge


def test_two_groups_become_one_and_go_on_together() -> None:
    a, b = alone(A, 4), alone(B, 7)

    assert a.handle(Merge(frozenset({B}), 1, is_known=False)) == [SendMergeReq(B, M), Suspend()]
    assert b.handle(ReceiveMergeReq(A, M)) == [Suspend()]
    assert flushed(a, cut((A, 3), (B, 2))) == [Suspended(M)]
    answer = Answer(B, 7, frozenset({B}), cut((A, 1), (B, 5)))
    assert flushed(b, answer.digest) == [SendMergeRsp(A, M, answer), Suspended(M)]
    assert not a.may_decide
    assert a.handle(ReceiveMergeRsp(B, M, answer)) == []
    assert a.may_decide

    view, digest = View(ViewId(8, A), (A, B), M), cut((A, 3), (B, 5))
    assert a.handle(Decide()) == [
        SendInstallMergeView(B, M, view, digest),
        Install(view, digest),
    ]
    assert b.handle(ReceiveInstallMergeView(A, M, view, digest)) == [Install(view, digest)]
    assert installed(a, view) == []
    assert installed(b, view) == [SendInstalled(A, M, True)]
    assert (a.busy, b.busy, a.may_finish) == (True, True, False)
    a.handle(ReceiveInstalled(B, M, True))
    assert (a.busy, a.may_finish) == (False, True)
    assert a.handle(Finish()) == [SendResume(B, M), Resume()]
    assert b.handle(ReceiveResume(A, M)) == [Resume()]

    for core in (a, b):
        assert (core.stage, core.merge, core.view) == ("idle", NO_MERGE, view)
        assert core.coordinates == (core is a)


def test_a_refused_event_changes_nothing() -> None:
    core = answered(B)
    before = dict(vars(core))

    for event in (Merge(frozenset({C}), 2, False), SideInstalled(), Finish(), Suspect(C)):
        with pytest.raises(NotEnabled):
            core.handle(event)

    assert vars(core) == before


def test_two_lives_of_a_node_are_two_processes() -> None:
    b, again = alone(B), MergeId(Address("a", 1), 1)
    b.handle(ReceiveMergeReq(A, M))
    flushed(b, ())
    b.handle(Suspect(A))

    assert b.handle(ReceiveMergeReq(A, M)) == [SendMergeRsp(A, M, None)]
    assert b.handle(ReceiveMergeReq(again.leader, again)) == [Suspend()]


# ------------------------------------------------------------------ sides without the merged view


def test_nothing_is_finished_while_a_side_lacks_the_view() -> None:
    leader, view = decided(B, C)
    leader.handle(ReceiveInstalled(B, M, True))
    leader.handle(ReceiveInstalled(C, M, False))

    assert leader.absent == {C}
    assert not leader.may_finish
    assert not leader.busy  # GMS makes the next view, which leaves that side out
    assert leader.handle(InstallView(View(ViewId(view.id.counter + 1, A), (A, B)))) == []
    assert (leader.stage, leader.absent) == ("idle", set())


def test_a_side_that_is_suspected_is_told_and_lacks_the_view() -> None:
    leader, _ = decided(B, C)
    leader.handle(ReceiveInstalled(B, M, True))

    assert leader.handle(Suspect(C)) == [SendCancel(C, M)]
    assert leader.absent == {C}
    assert not leader.may_finish


def test_a_side_that_was_left_out_before_the_decision_is_not_waited_for() -> None:
    leader = alone(A)
    leader.handle(Merge(frozenset({B, C}), 1, is_known=False))
    flushed(leader, ())
    leader.handle(ReceiveMergeRsp(B, M, Answer(B, 1, frozenset({B}), ())))
    leader.handle(Suspect(C))
    view = next(e for e in leader.handle(Decide()) if isinstance(e, Install)).view
    installed(leader, view)
    leader.handle(ReceiveInstalled(B, M, True))

    assert view.members == (A, B)
    assert leader.may_finish


# ------------------------------------------------------------------ what lasts


def test_what_is_sent_again_is_what_was_sent() -> None:
    leader = answered(B, C)
    first = [each for each in leader.handle(Decide()) if isinstance(each, SendInstallMergeView)]
    leader.handle(ReceiveInstalled(B, M, True))

    again = leader.handle(Resend(frozenset({A}), cut((A, 9))))

    assert again == [each for each in first if each.to == C]


def test_only_so_many_processes_are_remembered() -> None:
    core = alone(A)
    core.handle(InstallView(View(ViewId(2, A), (A, B))))
    for number in range(2 * MOST):
        core.handle(ReceiveFound(Address(f"n{number}", 0)))

    assert len(core.known) == MOST
    assert {A, B, Address(f"n{2 * MOST - 1}", 0)} <= core.known.keys()
    assert Address("n0", 0) not in core.known


def test_only_so_many_leaders_of_merges_are_remembered() -> None:
    core = alone(D)
    leaders = [Address(f"a{number}", 0) for number in range(MOST + 3)]
    for leader in leaders:
        core.handle(ReceiveMergeReq(leader, MergeId(leader, 1)))
        core.handle(Suspect(leader))

    assert len(core.entered) == MOST
    assert [*core.entered] == leaders[3:]


PROCESSES = st.sampled_from([A, B, C, D])
MERGES = st.builds(MergeId, PROCESSES, st.integers(1, 3))
MEMBERS = st.frozensets(PROCESSES, min_size=1)
VIEWS = st.builds(
    lambda counter, by, members, merge: View(ViewId(counter, by), tuple(sorted(members)), merge),
    st.integers(1, 9),
    PROCESSES,
    MEMBERS,
    MERGES,
)
DIGESTS = st.dictionaries(PROCESSES, st.integers(0, 9)).map(lambda read: cut(*read.items()))
ANSWERS = st.none() | st.builds(Answer, PROCESSES, st.integers(1, 9), MEMBERS, DIGESTS)
ARRIVALS = st.one_of(
    st.builds(ReceiveFound, PROCESSES),
    st.builds(ReceiveMergeReq, PROCESSES, MERGES),
    st.builds(ReceiveMergeRsp, PROCESSES, MERGES, ANSWERS),
    st.builds(ReceiveInstallMergeView, PROCESSES, MERGES, VIEWS, DIGESTS),
    st.builds(ReceiveInstalled, PROCESSES, MERGES, st.booleans()),
    st.builds(ReceiveResume, PROCESSES, MERGES),
    st.builds(ReceiveCancel, PROCESSES, MERGES),
)


@settings(deadline=None)
@given(st.lists(ARRIVALS, max_size=30), st.sampled_from(["alone", "asked", "answered"]))
def test_whatever_arrives_is_handled_and_leaves_a_state_that_fits_together(
    arrivals: list[ReceiveFound], beginning: str
) -> None:
    core = answered(B) if beginning == "answered" else alone(A)
    if beginning == "asked":
        core.handle(Merge(frozenset({B, C}), 1, is_known=False))
    view = core.view

    for arrival in arrivals:
        core.handle(arrival)

        assert core.view is view  # only the layers around install
        assert (core.merge == NO_MERGE) == (core.stage == "idle")
        assert core.leads or not (core.waiting or core.answers)
