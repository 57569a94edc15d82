"""GMS's core, one event after the other; how whole groups change views is in test_membership.py."""

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.gms.core import Gms, Repairs
from raincheck.impl.gms.events import (
    Answer,
    BeginChange,
    Finish,
    Install,
    InstallView,
    Leave,
    Out,
    Prepared,
    ProposeMerged,
    ReceiveAlive,
    ReceiveExcluded,
    ReceiveInstall,
    ReceiveJoin,
    ReceiveJoinRsp,
    ReceiveLeave,
    ReceiveNewView,
    ReceiveNotJoined,
    ReceivePrepare,
    ReceiveViewAck,
    RequestTransfer,
    Resume,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    Suspect,
    Suspend,
    Suspended,
    Trust,
)
from raincheck.impl.gms.views import prevails
from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.stack.gms_bodies import answers_of, arrival, body_of, piggyback
from raincheck.impl.wire.headers import PlacedView

A, B, C, D = (Address(name, 0) for name in "abcd")
C1 = Address("c", 1)


def view(counter, leader, *members, joiners=()):
    return View(ViewId(counter, leader), members, tuple(joiners))


FIRST = view(1, A, A, B, C)
SECOND = view(2, A, A, B, C, D, joiners=[D])


def member(me, installed=FIRST, **repairs):
    core = Gms(me, repairs=Repairs(**repairs))
    core.begin(installed)
    return core


def prepared(core, leader, *participants, counter=1):
    return core.handle(ReceivePrepare(leader, counter, participants))


# ------------------------------------------------------------------ a change, from its leader


def test_a_view_is_installed_when_all_survivors_hold_it_and_then_the_joiner_is_answered():
    a = member(A)
    assert a.handle(ReceiveJoin(D)) == []
    assert a.handle(BeginChange()) == [Suspend((A, B, C))]
    assert a.handle(ReceiveJoin(Address("e", 0))) == []  # bundled: the flush is still under way

    order = a.handle(Suspended((Answer(B, FIRST), Answer(C, FIRST))))

    e = Address("e", 0)
    new = view(2, A, A, B, C, D, e, joiners=[D, e])
    assert order == [SendNewView(B, new), SendNewView(C, new)]
    a.handle(ReceiveViewAck(B, 2))
    with pytest.raises(NotEnabled, match="waiting"):
        a.handle(InstallView())
    assert a.view == FIRST
    a.handle(ReceiveViewAck(C, 2))
    # In this order: JOIN_RSP is made of the state in which the view is installed.
    assert a.handle(InstallView()) == [
        Install(new),
        SendInstall(B, 2),
        SendInstall(C, 2),
        SendJoinRsp(D, new),
        SendJoinRsp(e, new),
    ]
    # The group goes on when all have installed it, and say so.
    a.handle(ReceiveViewAck(B, 2))
    with pytest.raises(NotEnabled, match="waiting"):
        a.handle(Finish())
    a.handle(ReceiveViewAck(C, 2))
    assert a.handle(Finish()) == [Resume()]
    assert (a.phase, a.joining, a.wanted) == ("idle", set(), False)


def test_who_leads_is_the_first_member_that_is_not_gone():
    b = member(B)
    assert b.leader == A
    with pytest.raises(NotEnabled, match="Leader"):
        b.handle(ReceiveJoin(D))
    b.handle(Suspect(A))
    assert b.leader == B
    b.handle(Trust(A))
    assert b.leader == A
    b.handle(ReceiveLeave(A))
    b.handle(Trust(A))  # who has left does not come back
    assert b.handle(BeginChange()) == [Suspend((B, C))]


def test_a_suspicion_during_a_change_is_final_and_nobody_waits_for_the_suspect():
    a = member(A)
    a.handle(ReceiveJoin(D))
    a.handle(BeginChange())
    a.handle(Suspended((Answer(B, FIRST), Answer(C, FIRST))))
    a.handle(ReceiveViewAck(B, 2))

    a.handle(Suspect(C))
    a.handle(Trust(C))

    assert a.gone == {C}
    assert SendInstall(C, 2) not in a.handle(InstallView())


def test_in_a_merged_view_that_another_member_leads_a_suspicion_passes():
    side = view(1, B, B, C)
    b = member(B, side)
    b.handle(RequestTransfer())
    b.handle(BeginChange())
    b.handle(Suspended((Answer(C, side),)))
    b.handle(ProposeMerged(view(2, A, A, B, C, joiners=[A])))
    b.handle(ReceiveViewAck(C, 2))
    b.handle(InstallView())

    b.handle(Suspect(C))  # whose VIEW_ACK is missing
    assert b.handle(Finish()) == [Resume()]
    b.handle(Trust(C))

    assert (b.gone, b.suspects) == (set(), set())


def test_a_state_transfer_has_its_turn_without_a_view():
    a = member(A)
    a.handle(RequestTransfer())
    assert a.handle(BeginChange()) == [Suspend((A, B, C))]
    assert a.handle(Suspended((Answer(B, FIRST), Answer(C, FIRST)))) == []
    assert a.phase == "finishing"
    assert a.handle(Finish()) == [Resume()]
    assert a.view == FIRST
    assert not a.wanted


@pytest.mark.parametrize(
    "answers",
    [
        (Answer(C, FIRST, (SECOND,)),),  # held by c, installed by nobody that is still there
        (Answer(C, SECOND),),  # c has installed it
    ],
)
def test_the_next_leader_completes_the_view_of_one_that_died(answers):
    b = member(B)
    b.handle(Suspect(A))
    b.handle(BeginChange())

    assert b.handle(Suspended(answers)) == [SendNewView(C, SECOND)]
    b.handle(ReceiveViewAck(C, 2))
    # It does not answer the joiner: it cannot know whether a has done so.
    assert b.handle(InstallView()) == [Install(SECOND), SendInstall(C, 2)]
    b.handle(ReceiveViewAck(C, 2))
    b.handle(Finish())
    assert b.handle(BeginChange()) == [Suspend((B, C, D))]


def test_without_takeover_a_number_is_given_twice():
    b = member(B, takeover=False)
    b.handle(Suspect(A))
    b.handle(BeginChange())

    assert b.handle(Suspended((Answer(C, SECOND),))) == [SendNewView(C, view(2, B, B, C))]


def test_of_two_lives_of_a_node_the_later_one_is_admitted():
    a = member(A)
    a.handle(ReceiveJoin(C1))
    assert a.gone == {C}
    assert a.handle(BeginChange()) == [Suspend((A, B))]
    [order] = a.handle(Suspended((Answer(B, FIRST),)))

    assert order.view == view(2, A, A, B, C1, joiners=[C1])
    assert a.refuses(C) is None
    later = member(A, order.view)
    assert later.refuses(C) == C1
    later.handle(ReceiveJoin(C))
    assert later.joining == set()


def test_a_join_is_idempotent():
    a = member(A)
    for _ in range(3):
        a.handle(ReceiveJoin(D))
    assert a.joining == {D}
    a.handle(ReceiveJoin(B))
    assert a.joining == {D}


# ------------------------------------------------------------------ following


def test_a_survivor_holds_the_view_until_all_do():
    b = member(B)
    assert prepared(b, A, A, B, C) == [Prepared(A, FIRST, ())]
    assert b.handle(ReceiveNewView(A, SECOND)) == [SendViewAck(A, 2)]
    assert b.view == FIRST
    assert b.handle(ReceiveInstall(A, 2)) == [Install(SECOND), SendViewAck(A, 2)]
    assert b.held == ()
    assert b.handle(ReceiveNewView(A, SECOND)) == [SendViewAck(A, 2)]  # again: it has it already


def test_what_it_holds_goes_to_the_next_leader_and_the_old_one_is_not_heeded_any_more():
    c = member(C)
    prepared(c, A, A, B, C)
    c.handle(ReceiveNewView(A, SECOND))

    assert prepared(c, B, B, C) == [Prepared(B, FIRST, (SECOND,))]
    assert c.gone == {A}
    assert c.handle(ReceiveInstall(A, 2)) == []
    assert c.handle(ReceiveNewView(A, SECOND)) == []
    assert prepared(c, A, A, B, C) == []
    assert c.view == FIRST


def test_a_leader_that_is_behind_leaves_out_nobody_whom_it_cannot_know():
    c = member(C, SECOND)
    prepared(c, B, B, C, counter=1)
    assert c.gone == {A}
    prepared(c, B, B, C, counter=2)
    assert c.gone == {A, D}


def test_a_leader_that_joined_with_a_view_that_is_only_held_is_known():
    c = member(C)
    prepared(c, A, A, B, C)
    c.handle(ReceiveNewView(A, SECOND))
    assert prepared(c, D, C, D, counter=2) == [Prepared(D, FIRST, (SECOND,))]


def test_a_joiner_without_answer_says_so_and_takes_no_late_one():
    d = Gms(D)
    assert prepared(d, B, B, C, D, counter=2) == [SendNotJoined(B, 2)]
    assert d.handle(ReceiveJoinRsp(A, SECOND)) == []
    assert d.status == "joining"
    later = view(4, B, B, C, D, joiners=[D])
    assert d.handle(ReceiveJoinRsp(B, later)) == [Install(later)]
    assert d.running

    b = member(B, SECOND)
    b.handle(ReceiveNotJoined(D, 1))  # of an earlier view
    assert b.gone == set()
    b.handle(ReceiveNotJoined(D, 2))
    assert (b.gone, b.joining) == ({D}, {D})


def test_a_member_that_missed_a_view_is_out():
    b = member(B)
    prepared(b, A, A, B, C)
    third = view(3, A, A, B)
    assert b.handle(ReceiveNewView(A, third)) == [Out(A, third)]
    assert b.status == "excluded"


# ------------------------------------------------------------------ getting out


def test_who_leaves_says_so_and_is_not_asked_any_more():
    b = member(B)
    assert b.handle(Leave()) == [SendLeave(A), SendLeave(C)]
    assert (b.status, b.members, b.may_begin) == ("left", (), False)


def test_a_stranger_that_lives_is_notified_of_the_view():
    without_c = member(A, view(2, A, A, B))
    assert without_c.handle(ReceiveAlive(C)) == [SendExcluded(C, without_c.view)]
    assert without_c.handle(ReceiveAlive(B)) == []
    c = member(C)
    assert c.handle(ReceiveExcluded(A, without_c.view)) == [Out(A, without_c.view)]
    assert c.status == "excluded"


@pytest.mark.parametrize(
    ("sender", "theirs", "mine"),
    [
        (A, view(2, A, A, B), view(2, C, C)),  # the larger side
        (A, view(3, A, A, B), view(2, C, C, D)),  # the one with more views
        (A, view(2, A, A, B), view(2, C, C, D)),  # the smaller coordinator
    ],
)
def test_of_two_sides_exactly_one_prevails(sender, theirs, mine):
    assert prevails(sender, theirs, mine)
    assert not prevails(mine.members[-1], mine, theirs)


def test_what_follows_on_ones_own_view_prevails():
    assert prevails(B, view(2, A, A, B), FIRST)


def test_a_member_whose_sender_is_behind_stays():
    d = member(D, SECOND)
    wide = view(1, A, A, B, C, Address("e", 0), Address("f", 0))
    assert d.handle(ReceiveExcluded(C, wide)) == []
    assert d.running


# ------------------------------------------------------------------ the wire


def test_messages_cross_the_wire():
    def place(each):
        return PlacedView(each, tuple(("10.0.0.1", 7000) for _ in each.members))

    for sent, received in [
        (SendNewView(B, SECOND), ReceiveNewView(A, SECOND)),
        (SendViewAck(A, 2), ReceiveViewAck(A, 2)),
        (SendInstall(B, 2), ReceiveInstall(A, 2)),
        (SendNotJoined(B, 2), ReceiveNotJoined(A, 2)),
    ]:
        assert arrival(A, body_of(sent, place)) == received
    said = piggyback(Prepared(A, FIRST, (SECOND,)), place)
    assert answers_of([(A, said), (C, said), (D, ())], A) == (Answer(C, FIRST, (SECOND,)),)
