"""Calls: who is asked, what comes of it at each of them, and bad replies."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.errors import CallFailed, MessageTooLarge, NotInView
from raincheck.impl.messages import Address, Frame, Payloads, Run
from raincheck.impl.sequencer.events import Deliver
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.calls import (
    MOST_REASON,
    NOT_ASKED,
    OTHER_VIEW,
    TWICE,
    UNEXPECTED,
    Calls,
    Replies,
)
from raincheck.impl.stack.calls_layer import DISCARDED
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.frames import ReplyFrame, RequestFrame, encode
from raincheck.impl.stack.passing import Discarded
from raincheck.impl.stack.reports import Requested

A, B, C = (Address(name, 0) for name in "abc")
SMALL = StackConfig(max_bundle=2048, max_message=100_000)


def group_of(names: str, *, seed: int = 1, link: Link | None = None) -> Simulator:
    """A group whose members answer calls by what they were asked, and by how many messages."""
    group = Simulator(seed=seed, link=link, config=SMALL)
    group.start(*names, founders=True)
    group.on_request = answer
    return group


def answer(node: Node, asked: Requested) -> None:
    content = b"%d messages, %s" % (node.messages, asked.payload)
    node.stack.reply(asked, content, 0.0)


def silent(_node: Node, _asked: Requested) -> None:
    """Does not answer."""


def outcome(group: Simulator, name: str) -> Replies:
    [over] = group[name].calls
    return over.replies


# ------------------------------------------------------------------ the rules


def test_a_call_of_some_is_over_when_each_has_answered_failed_or_left() -> None:
    calls = Calls()
    number = calls.begin([A, B, C])

    assert calls.replied(A, number, 1, False, b"yes") == ("", [])
    assert calls.install([A, C]) == []
    assert calls.replied(C, number, 1, True, b"no") == ("", [number])

    replies = calls.take(number)
    assert (replies.answers, replies.failed, replies.left) == ({A: b"yes"}, {C: "no"}, (B,))
    assert not replies.complete
    assert str(replies) == "answered: a.0; c.0 has failed: no; left: b.0"
    assert len(calls) == 0


def test_a_reason_is_cut_whatever_its_sender_says() -> None:
    calls = Calls()
    number = calls.begin([A])

    assert calls.replied(A, number, 1, True, b"no" * MOST_REASON) == ("", [number])

    assert calls.take(number).failed == {A: "no" * (MOST_REASON // 2)}


def test_a_call_of_all_asks_those_of_the_view_in_which_it_is_delivered() -> None:
    calls = Calls()
    number = calls.begin(None)

    assert calls.install([A]) == []  # nobody is asked yet
    assert calls.delivered(number, 1, [A, B]) == []
    assert calls.delivered(number, 1, [A, B, C]) == []  # only the first time counts
    assert calls.replied(A, number, 1, False, b"") == ("", [])
    assert calls.install([A, C]) == [number]
    assert calls.take(number).left == (B,)


def test_replies_to_a_call_of_all_may_come_before_it_is_delivered_here() -> None:
    calls = Calls()
    number = calls.begin(None)

    assert calls.replied(B, number, 1, False, b"soon") == ("", [])
    assert calls.replied(B, number, 1, False, b"") == (TWICE, [])
    assert calls.delivered(number, 1, [A, B]) == []
    assert calls.replied(A, number, 1, False, b"") == ("", [number])
    assert calls.take(number).answers == {A: b"", B: b"soon"}


def test_what_was_answered_in_a_view_that_ended_before_the_call_is_void() -> None:
    calls = Calls()
    number = calls.begin(None)

    assert calls.replied(C, number, 4, False, b"an order that died with c") == ("", [])
    assert calls.install([A, B]) == []
    assert calls.delivered(number, 5, [A, B]) == []
    assert calls.replied(B, number, 4, False, b"") == (OTHER_VIEW, [])
    assert calls.replied(B, number, 5, False, b"b") == ("", [])
    assert calls.replied(A, number, 5, False, b"a") == ("", [number])

    replies = calls.take(number)
    assert (replies.answers, replies.left) == ({B: b"b", A: b"a"}, (C,))


def test_a_call_that_ends_undelivered_keeps_the_answers_of_one_view() -> None:
    calls = Calls()
    number = calls.begin(None)
    calls.replied(C, number, 4, False, b"c")
    calls.replied(B, number, 5, False, b"b")

    replies = calls.end(number, [A, B, C])
    assert (replies.answers, replies.left, replies.late) == ({B: b"b"}, (C,), (A,))


def test_whoever_has_not_answered_in_time_is_late() -> None:
    calls = Calls()
    some, everybody = calls.begin([A, B]), calls.begin(None)
    calls.replied(B, some, 1, False, b"")

    assert calls.end(some, [A, B, C]).late == (A,)
    assert calls.end(everybody, [A, B, C]).late == (A, B, C)
    assert calls.replied(A, some, 1, False, b"") == ("", [])


def test_replies_that_nobody_waits_for_are_named() -> None:
    calls = Calls()
    assert calls.replied(A, 1, 1, False, b"") == (UNEXPECTED, [])
    number = calls.begin([A, B])
    assert calls.replied(A, 0, 1, False, b"") == (UNEXPECTED, [])
    assert calls.replied(A, number + 1, 1, False, b"") == (UNEXPECTED, [])
    assert calls.replied(C, number, 1, False, b"") == (NOT_ASKED, [])
    calls.replied(A, number, 1, False, b"first")
    assert calls.replied(A, number, 1, False, b"second") == (TWICE, [])
    assert calls.replied(A, number, 1, True, b"second") == (TWICE, [])
    calls.replied(B, number, 1, False, b"")
    assert calls.take(number).answers == {A: b"first", B: b""}


@given(st.data())
def test_every_call_ends_with_each_member_in_one_place(data: st.DataObject) -> None:
    members = [Address(name, 0) for name in "abcde"]
    calls, here = Calls(), set(members)
    asked = data.draw(st.sets(st.sampled_from(members), min_size=1))
    number = calls.begin(asked)
    over: list[int] = []
    for _ in range(data.draw(st.integers(0, 12))):
        who = data.draw(st.sampled_from(members))
        if data.draw(st.booleans()):
            _, over = calls.replied(who, number, 1, data.draw(st.booleans()), b"")
        else:
            here.discard(who)
            over = calls.install(here)
        if over:
            break
    replies = calls.take(number) if over else calls.end(number, ())

    places = [*replies.answers, *replies.failed, *replies.left, *replies.late]
    assert sorted(places) == sorted(asked)
    assert bool(over) == (not replies.late)


def test_one_answer_is_returned_and_anything_else_raises() -> None:
    assert Replies(answers={A: b"yes"}).one() == b"yes"
    for replies in (Replies(), Replies(late=(A,)), Replies(answers={A: b"", B: b""})):
        with pytest.raises(CallFailed):
            replies.one()
    with pytest.raises(CallFailed, match=r"nobody has answered; too late: a\.0"):
        Replies(late=(A,)).one()


# ------------------------------------------------------------------ in a group


def test_a_call_of_all_finds_all_members_behind_the_same_messages() -> None:
    group = group_of("abc", link=Link(loss=0.1, delay=(0.001, 0.02)))
    for name in "abc":
        group.send(name, [b"%d" % number for number in range(20)])
    group.call("b", b"how many?")
    group.send("c", [b"later"] * 20)

    group.run(5)

    replies = outcome(group, "b")
    assert set(replies.answers) == {group[name].address for name in "abc"}
    assert replies.complete
    assert len(set(replies.answers.values())) == 1


def test_a_call_of_some_asks_only_them_and_large_ones_come_whole() -> None:
    group = group_of("abc", link=Link(loss=0.1))
    group.call("a", bytes(20_000), ["a", "c"])
    group.run(3)

    answers = outcome(group, "a").answers
    assert answers == {A: b"0 messages, " + bytes(20_000), C: b"0 messages, " + bytes(20_000)}
    assert group["b"].requested == []


def test_a_large_call_of_all_is_one_message() -> None:
    group = group_of("abc", link=Link(loss=0.1))
    group.call("a", bytes(20_000))
    group.run(3)

    assert len(outcome(group, "a").answers) == 3
    assert [len(group[name].requested) for name in "abc"] == [1, 1, 1]


def test_whoever_crashes_or_leaves_has_left_and_whoever_joins_is_not_asked() -> None:
    group = group_of("abcd")
    group.on_request = lambda node, asked: (
        answer(node, asked) if node.name in "ab" else silent(node, asked)
    )
    group.call("a", b"?")
    group.run(0.1)
    group.crash("c")
    group.leave("d")
    group.start("e")
    group.run_until(lambda: group.in_one_view("a", "b", "e"))

    replies = outcome(group, "a")
    assert set(replies.answers) == {A, B}
    assert set(replies.left) == {C, group["d"].address}
    assert replies.late == ()


def test_a_call_that_is_ended_says_who_is_late() -> None:
    group = group_of("ab")
    group.on_request = silent
    number = group.call("a", b"?")
    group.run(0.5)

    assert group["a"].stack.end_call(number).late == (A, B)
    answer(group["b"], group["b"].requested[0])
    group["b"].stack.flush(group.now)
    group._settle(group["b"])
    group.run(0.5)
    assert group["a"].calls == []
    assert group["a"].stack.counters["late_reply"] == 1
    assert group["a"].stack.counters["refused"] == 0


@pytest.mark.parametrize("seed", range(1, 7))
def test_every_call_is_over_though_members_crash(seed: int) -> None:
    group, draw = group_of("abcd", seed=seed, link=Link(0.05, 0.05, (0.001, 0.01))), Random(seed)
    made = dict.fromkeys("bcd", 0)
    group.at(draw.uniform(0.05, 0.5), lambda: group.crash("a"))
    group.at(draw.uniform(0.5, 1.0), lambda: group.restart("a") if not group["a"].up else None)
    for _ in range(60):
        name = draw.choice("bcd")
        others = [m.node for m in group[name].stack.members]
        to = draw.choice([None, draw.sample(others, 2)])
        group.call(name, b"?", to)
        made[name] += 1
        group.run(draw.uniform(0, 0.05))

    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.run(5)

    for name, count in made.items():
        calls = group[name].calls
        assert len(calls) == count
        for over in calls:
            assert not over.replies.failed
            assert {who.node for who in over.replies.left} <= {"a"}


def test_own_calls_of_all_do_not_ask_a_member_that_ignores_its_own() -> None:
    group = group_of("ab")
    group["a"].stack.ignore_own()
    group.call("a", b"?")
    group.run(1)

    assert set(outcome(group, "a").answers) == {B}
    assert group["a"].requested == []


def test_a_reply_to_a_member_that_is_gone_is_counted() -> None:
    group = group_of("abc")
    group["b"].stack.reply(Requested(Address("z", 0), 1, 1, b"", True), b"", group.now)
    assert group["b"].stack.counters["reply_to_nobody"] == 1


def test_a_joiner_says_that_it_does_not_answer_what_is_in_its_state() -> None:
    group = group_of("ab")
    group.on_request = silent
    number = group.call("a", b"?", ["b"])
    group.run(1)
    request = Payloads.pack([b"plain", encode(RequestFrame(number, b"?"))], framed=True)

    group["b"].stack._group.calls.up(Discarded(Run(A, 1, 2), 1, request), group.now)
    group["b"].stack.flush(group.now)
    group._settle(group["b"])
    group.run(1)

    assert outcome(group, "a").failed == {B: DISCARDED}


def test_the_callers_mistakes_are_refused_at_the_call() -> None:
    group = group_of("ab")
    stack = group["a"].stack
    with pytest.raises(NotInView):
        stack.call(b"", [B, C], 0.0)
    with pytest.raises(MessageTooLarge):
        stack.call(bytes(100_000), None, 0.0)
    with pytest.raises(MessageTooLarge):
        stack.reply(Requested(B, 1, 1, b"", True), bytes(100_000), 0.0)
    group.run(1)
    assert group["b"].requested == []


@pytest.mark.parametrize(
    ("first", "frame", "said"),
    [
        (0, ReplyFrame(9, 1, False, b""), UNEXPECTED),
        (0, ReplyFrame(0, 1, True, b""), UNEXPECTED),
        (5, ReplyFrame(1, 1, False, b""), "a reply to all"),
        (5, Frame(b"\x09"), "begins with"),
        (5, Frame(b""), "begins with"),
        (0, Frame(b"\x03\x00"), "frame of 2 bytes"),
        (0, Frame(b"\x00" + bytes(25)), "FragmentFrame in a message"),
    ],
)
def test_bad_frames_are_counted_named_and_end_nobody(
    first: int, frame: ReplyFrame | Frame, said: str
) -> None:
    group = group_of("ab")
    content = encode(frame) if isinstance(frame, ReplyFrame) else frame
    payloads = Payloads.pack([content], framed=True)

    group["a"].stack._group.calls.up(Deliver(Run(B, first, 1), 1, payloads), group.now)
    group["a"].stack.flush(group.now)
    group._settle(group["a"])

    assert group["a"].stack.counters["refused"] == 1
    assert said in group["a"].dropped[0].detail
    group.call("a", b"goes on")
    group.run(1)
    assert len(outcome(group, "a").answers) == 2
