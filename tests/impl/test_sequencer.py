"""SEQUENCER alone: each handler in a readable scenario, and what each repair is there for."""

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest, Payloads, Run, View, ViewId
from raincheck.impl.sequencer.core import Repairs, Sequencer, intervals
from raincheck.impl.sequencer.events import (
    Data,
    Deliver,
    Forward,
    InstallView,
    Join,
    JoinRsp,
    Leave,
    Multicast,
    ReceiveData,
    ReceiveForward,
    Resend,
    Send,
    SendForward,
    Stop,
)

A, B, C, D = (Address(name, 0) for name in "abcd")


def view(counter, *members, joiners=()):
    return View(ViewId(counter, members[0]), members, joiners)


def member(me, *members, **repairs):
    sequencer = Sequencer(me, repairs=Repairs(**repairs))
    sequencer.found(view(1, *members))
    return sequencer


def contents(size, mark=b"m"):
    return Payloads.pack([mark + b"%d" % i for i in range(size)])


def data(sender, first, size=1, *, position, tag=1, mark=b"m"):
    return Data(Run(sender, first, size), tag, contents(size, mark), position, 5)


def forward(sender, first, size=1, *, tag=1, position=1):
    return ReceiveForward(
        sender, Forward(Run(sender, first, size), tag, contents(size), position, 5)
    )


def refusal(sequencer, event):
    with pytest.raises(NotEnabled) as caught:
        sequencer.handle(event)
    assert caught.value.action == type(event).__name__
    return " ".join(caught.value.conjuncts)


# ------------------------------------------------------------------ sending


def test_a_member_forwards_to_the_coordinator_and_keeps_what_it_sent():
    b = member(B, A, B)

    [first] = b.handle(Send(contents(2)))
    [second] = b.handle(Send(contents(3)))

    assert first == SendForward(A, Forward(Run(B, 1, 2), 1, contents(2), 1, 1))
    assert second == SendForward(A, Forward(Run(B, 3, 3), 1, contents(3), 3, 2))
    assert intervals(b.forward_table) == [[1, 5]]
    assert (b.seqno, b.said, b.in_flight) == (5, 5, 5)


def test_the_coordinator_multicasts_its_own_messages_and_keeps_them_too():
    a = member(A, A, B)

    [sent] = a.handle(Send(contents(2)))

    assert sent == Multicast(Data(Run(A, 1, 2), 1, contents(2), 1, 1))
    assert intervals(a.forward_table) == [[1, 2]]


def test_without_its_repair_the_coordinator_keeps_nothing_of_its_own():
    a = member(A, A, B, own_table=False)

    a.handle(Send(contents(1)))

    assert not a.forward_table


def test_the_coordinator_sequences_what_is_forwarded_with_the_tag_kept():
    a = member(A, A, B)

    [sent] = a.handle(forward(B, 7, 2))

    assert sent.data.messages == Run(B, 7, 2)
    assert (sent.data.position, sent.data.clock) == (1, 6)
    [sent] = a.handle(Send(contents(1)))
    assert sent.data.position == 3


def test_a_forward_to_somebody_who_is_not_coordinator_is_dropped():
    assert member(B, A, B).handle(forward(A, 1)) == []


def test_a_forward_of_an_older_view_is_dropped_because_its_sender_resends_it():
    a = member(A, A, B)
    a.handle(InstallView(view(2, A, B)))

    assert a.handle(forward(B, 1, tag=1)) == []


def test_a_forward_of_a_newer_view_waits_for_that_view():
    b = member(B, A, B, C)

    assert b.handle(forward(C, 1, 2, tag=2)) == []
    assert b.early
    [sent] = b.handle(InstallView(view(2, B, C)))

    assert (sent.data.messages, sent.data.view) == (Run(C, 1, 2), 2)
    assert not b.early


def test_without_its_repair_a_forward_before_the_view_is_lost():
    assert member(B, A, B, C, view_tag=False).handle(forward(C, 1, tag=2)) == []


# ------------------------------------------------------------------ receiving


def test_data_is_delivered_with_its_original_sender_and_ends_the_wait_for_it():
    b = member(B, A, B)
    b.handle(Send(contents(3)))

    [up] = b.handle(ReceiveData(A, data(B, 1, 2, position=1)))

    assert up == Deliver(Run(B, 1, 2), 1, contents(2))
    assert intervals(b.forward_table) == [[3, 3]]
    assert (b.received_table, b.position) == ({B: 2}, {A: 2})
    assert b.pending_bytes == sum(own.payloads.size for own in b.forward_table)


def test_duplicates_are_weeded_out_and_a_run_may_be_partly_known():
    b = member(B, A, B, C)
    b.handle(ReceiveData(A, data(C, 1, 3, position=1)))

    assert b.handle(ReceiveData(A, data(C, 1, 3, position=4))) == []
    [up] = b.handle(ReceiveData(A, data(C, 2, 4, position=7)))

    assert up == Deliver(Run(C, 4, 2), 1, contents(4).part(2, 2))
    assert b.position == {A: 10}


def test_nothing_is_delivered_past_a_hole():
    b = member(B, A, B, C)

    assert "IsNext" in refusal(b, ReceiveData(A, data(C, 2, position=1)))
    assert member(B, A, B, C, exact_next=False).handle(ReceiveData(A, data(C, 2, position=1)))


def test_data_is_taken_in_order_from_members_in_views_that_are_installed():
    b = member(B, A, B)

    assert "position" in refusal(b, ReceiveData(A, data(B, 1, position=2)))
    assert "CurrentView" in refusal(b, ReceiveData(D, data(B, 1, position=1)))
    assert "ViewTag" in refusal(b, ReceiveData(A, data(B, 1, position=1, tag=2)))
    assert "Running" in refusal(Sequencer(B), ReceiveData(A, data(B, 1, position=1)))
    assert b.clock == 0


# ------------------------------------------------------------------ views


def test_after_a_view_change_what_is_not_delivered_goes_out_again_in_order():
    c = member(C, A, B, C)
    for size in (2, 1, 3):
        c.handle(Send(contents(size)))
    c.handle(ReceiveData(A, data(C, 1, 2, position=1)))
    c.handle(InstallView(view(2, B, C)))

    assert refusal(c, Send(contents(1)))
    sent = [c.handle(Resend())[0], c.handle(Resend(2))[0], c.handle(Resend())[0]]

    assert [out.forward.messages for out in sent] == [Run(C, 3, 1), Run(C, 4, 2), Run(C, 6, 1)]
    assert {out.to for out in sent} == {B}
    assert [out.forward.position for out in sent] == [1, 2, 4]
    assert "resend" in refusal(c, Resend())
    c.handle(Send(contents(1)))
    assert intervals(c.forward_table) == [[3, 7]]


def test_what_arrives_meanwhile_need_not_be_resent():
    c = member(C, A, B, C)
    c.handle(Send(contents(2)))
    c.handle(InstallView(view(2, A, C)))

    c.handle(ReceiveData(A, data(C, 1, 2, position=1)))

    assert not c.resend
    assert not c.forward_table


def test_without_its_repair_only_a_new_coordinator_is_resent_to():
    c = member(C, A, B, C, resend_always=False)
    c.handle(Send(contents(2)))

    c.handle(InstallView(view(2, A, C)))
    assert not c.resend
    c.handle(InstallView(view(3, C)))
    assert c.resend


def test_those_who_left_are_forgotten():
    b = member(B, A, B, C)
    b.handle(ReceiveData(A, data(C, 1, position=1)))
    b.handle(ReceiveData(A, data(B, 1, position=2)))

    b.handle(InstallView(view(2, A, B)))

    assert b.received_table == {B: 1}


def test_views_are_installed_one_by_one_and_only_by_their_members():
    b = member(B, A, B)

    assert "view[n] + 1" in refusal(b, InstallView(view(3, A, B)))
    assert "Members(new)" in refusal(b, InstallView(view(2, A)))


def test_a_joiner_gets_the_table_and_the_digest_of_one_cut():
    a = member(A, A, B)
    a.handle(ReceiveData(A, data(B, 1, 4, position=1)))
    a.handle(forward(C, 1, tag=2))

    early, welcome = a.handle(InstallView(view(2, A, B, C, joiners=(C,))))

    assert early.data.position == 1
    assert welcome.to == C
    assert welcome.rsp.table == ((B, 4),)
    assert welcome.rsp.digest == Digest(((A, 4),))
    c = Sequencer(C)
    c.handle(Join(A, welcome.rsp))
    assert (c.status, c.view, c.received_table) == ("member", 2, {B: 4})
    assert c.handle(ReceiveData(A, data(B, 3, 2, position=5, tag=2))) == []
    assert c.handle(ReceiveData(A, data(B, 5, position=7, tag=2)))
    assert "status" in refusal(c, Join(A, welcome.rsp))


def test_a_joiner_without_the_table_either_takes_any_first_message_or_insists_on_the_first():
    rsp = JoinRsp(view(2, A, B, C, joiners=(C,)), (), Digest(), 3)
    late = ReceiveData(A, data(B, 5, position=1, tag=2))
    for policy, takes in (("any", True), ("one", False)):
        a = member(A, A, B, join_policy=policy)
        a.handle(ReceiveData(A, data(B, 1, 4, position=1)))
        [welcome] = a.handle(InstallView(rsp.view))
        assert welcome.rsp.table == ()
        c = Sequencer(C, repairs=Repairs(join_policy=policy))
        c.handle(Join(A, rsp))
        if takes:
            assert c.handle(late)
        else:
            assert "IsNext" in refusal(c, late)


# ------------------------------------------------------------------ leaving


def test_a_leaver_takes_nothing_new_and_stops_when_all_is_delivered():
    b = member(B, A, B)
    b.handle(Send(contents(1)))
    b.handle(Leave())

    assert "status" in refusal(b, Send(contents(1)))
    assert "forwardTable" in refusal(b, Stop())
    b.handle(ReceiveData(A, data(B, 1, position=1)))
    assert "stream" in refusal(b, Stop(drained=False))
    assert b.handle(Stop()) == []
    assert (b.status, b.view, b.seqno, b.received_table) == ("left", 0, 0, {})


def test_without_its_repair_a_leaver_just_stops():
    b = member(B, A, B, drain_on_leave=False)
    b.handle(Send(contents(1)))
    b.handle(Leave())

    b.handle(Stop(drained=False))

    assert b.status == "left"


def test_a_returning_process_has_another_address_unless_that_repair_is_undone():
    assert Sequencer(Address("a", 3)).me == Address("a", 3)
    assert Sequencer(Address("a", 3), repairs=Repairs(incarnations=False)).me == Address("a", 0)


def test_the_clock_passes_that_of_every_message_received():
    b = member(B, A, B)

    b.handle(ReceiveData(A, data(A, 1, position=1)._replace(clock=41)))
    [sent] = b.handle(Send(contents(1)))

    assert sent.forward.clock == 43


# ------------------------------------------------------------------ strangers


def test_a_coordinator_sequences_nobodys_message_but_a_members_own():
    a = member(A, A, B)
    in_anothers_name = ReceiveForward(C, forward(B, 1).forward)

    assert a.handle(forward(C, 1)) == []
    assert a.handle(in_anothers_name) == []
    assert [type(effect) for effect in a.handle(forward(B, 1))] == [Multicast]


def test_a_message_that_waited_for_its_view_is_sequenced_only_if_its_sender_is_in_it():
    b = member(B, A, B)
    for sender in (C, D, B):
        b.handle(forward(sender, 1, tag=2))

    effects = b.handle(InstallView(view(2, B, C)))

    assert [each.data.messages.sender for each in effects] == [C, B]
    assert b.early == []
