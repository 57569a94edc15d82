"""Failure detection in larger groups: the first two in line watch all, the others those two."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import ConfigError
from raincheck.impl.gms.events import Suspect
from raincheck.impl.messages import Address, Digest, ViewId
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.failure_detection import FailureDetection
from raincheck.impl.stack.layer import Ground, Layer, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Alive, AreYouAlive

CONFIG = StackConfig(heartbeat=0.1, suspect_after=1.0, verify_after=0.2)
CODEC = Codec("raincheck", 60_000)
A, B, C, D, E, F = LINE = tuple(Address(name, 0) for name in "abcdef")
PLACES = {member: (f"10.0.0.{n}", 1) for n, member in enumerate(LINE)}
OF = {place: member for member, place in PLACES.items()}


class Streams(Layer):
    """Below: makes the signs of life."""

    def alive(self, _to):
        return Alive(self.me, ViewId(1, A), 0, False, Digest())


class Member:
    """The failure detection of one member of a view of six."""

    def __init__(self, me, heard=()):
        self.outbox = Outbox(CODEC)
        self.outbox.endpoints |= PLACES
        ground = Ground(me, CONFIG, self.outbox)
        self.layer = FailureDetection(ground)
        piled([Streams(ground), self.layer, Layer(ground)])
        self.layer.watch(LINE, (), 0.0)
        self.heard = heard
        self.now = 0.0

    def run(self, until):
        """Let the timer fire, `heard` speaking all the time; what went out, and to whom."""
        sent = []
        while (due := self.layer.deadline()) <= until:
            self.now = max(self.now, due)
            for member in self.heard:
                self.layer.heard(member, self.now)
            self.layer.handle_timer(self.now)
            sent += self.drain()
        self.now = until
        return sent

    def drain(self):
        return [
            (round(self.now, 3), CODEC.decode(out.data).header, {OF[place] for place in out.to})
            for out in self.outbox.drain()
        ]


def signs(sent):
    return [(at, to) for at, header, to in sent if isinstance(header, Alive)]


def questions(sent):
    return [(at, header.to, to) for at, header, to in sent if isinstance(header, AreYouAlive)]


@pytest.mark.parametrize("me", [A, B])
def test_the_first_two_in_line_give_all_others_signs_of_life(me):
    sent = Member(me, heard=LINE).run(0.95)
    assert signs(sent) == [(round(n / 10, 3), {*LINE} - {me}) for n in range(10)]


def test_another_member_gives_those_two_signs_of_life_and_now_and_then_one_more_in_turn():
    member = Member(D, heard=LINE)
    sent = member.run(0.85)
    assert [to for _, to in signs(sent)] == [{A}, {B}] * 9
    assert len(sent) == 18

    sent = member.run(6.95)
    others = [to for _, to in signs(sent) if not to & {A, B}]
    assert sorted(map(sorted, others[:3])) == [[C], [E], [F]]
    assert others[3:] == [*others[:3], others[0]]


def test_only_those_two_are_missed_by_another_member():
    member = Member(D, heard=[A])
    sent = member.run(1.15)
    assert member.layer.silence(1.15) == {B: 1.15}
    assert questions(sent) == [(at, B, {B}) for at in (1.0, 1.05, 1.1, 1.15)]
    member.run(1.25)
    assert member.layer.take() == [Suspect(B)]


def test_while_both_are_silent_the_next_in_line_are_asked_up_to_one_who_answers():
    member = Member(E, heard=[])
    sent = member.run(1.0)
    assert questions(sent) == [(1.0, m, {m}) for m in (A, B, C, D, F)]
    member.layer.heard(C, 1.01)  # so it is not for this one to look after F
    sent = member.run(1.1)
    assert questions(sent) == [(at, m, {m}) for at in (1.05, 1.1) for m in (A, B, D, F)]
    member.layer.heard(D, 1.11)
    member.layer.heard(F, 1.11)
    member.run(1.25)
    assert member.layer.take() == [Suspect(A), Suspect(B)]


def test_who_hears_nobody_before_it_lets_all_hear_its_questions_but_not_the_first_ones():
    presiding = questions(Member(A, heard=[B, C, D, E]).run(1.15))
    assert presiding[0] == (1.0, F, {F})
    assert presiding[1:] == [(at, F, {B, C, D, E, F}) for at in (1.05, 1.1, 1.15)]
    second = questions(Member(B, heard=[A, C, D, E]).run(1.15))
    assert second == [(at, F, {F}) for at in (1.0, 1.05, 1.1, 1.15)]


def test_a_question_that_is_heard_is_asked_again_of_a_member_that_is_silent_here_too():
    member = Member(D, heard=[A, B])
    member.run(1.02)
    member.layer.asked(AreYouAlive(A, F), 1.02)
    asked = [at for at, whom, to in questions(member.run(1.23)) if (whom, to) == (F, {F})]
    assert asked[0] == 1.02
    assert len(asked) >= 4
    assert member.layer.take() == [Suspect(F)]

    member.layer.heard(E, 1.23)
    member.layer.asked(AreYouAlive(A, E), 1.3)
    assert {whom for _, whom, _ in questions(member.run(2.65))} == {F}
    assert member.layer.take() == []


def test_a_late_timer_leaves_those_who_were_asked_time_to_be_heard_once():
    member = Member(A, heard=[B, C, D, E])
    member.run(1.15)
    member.layer.take()

    member.layer.handle_timer(1.45)  # 0.25 s late: the answer may wait in the socket
    assert member.layer.take() == []
    member.layer.handle_timer(1.6)  # late again; it has had its time
    assert member.layer.take() == [Suspect(F)]


def test_who_was_asked_when_it_went_out_of_view_is_notified_like_who_was_suspected():
    member = Member(D, heard=[A, B])
    member.run(1.02)
    member.layer.asked(AreYouAlive(A, F), 1.02)
    member.layer.watch((A, B, C, D, E), (), 1.1)
    assert 2 <= sum(to == {F} for _, to in signs(member.run(4.0))) <= 3


def test_who_becomes_one_of_the_first_two_begins_to_be_silent_then():
    member = Member(D, heard=[A, B])
    member.run(5.0)
    member.layer.watch((A, C, D, E, F), (), 5.0)
    assert questions(member.run(5.95)) == []
    assert {whom for _, whom, _ in questions(member.run(6.05))} == {C}


def test_a_member_that_is_gone_for_good_is_not_one_of_the_first_two():
    member = Member(D, heard=[B, C])
    member.layer.membership.gone = {A}
    sent = member.run(1.25)
    assert [to for _, to in signs(sent)][:4] == [{B}, {C}] * 2
    assert questions(sent) == []


def test_until_it_is_out_of_view_a_member_that_is_gone_is_watched_by_the_first_two():
    member = Member(A, heard=[B, C, D, E])
    member.layer.membership.gone = {F}
    member.run(1.25)
    assert member.layer.take() == [Suspect(F)]


# ---------------------------------------------------------------------- whole groups

NAMES = "abcdefghijklmnopqrstuvwxyz"


def group_of(size, seed=1, **settings):
    """A group whose members' heartbeats are not in step."""
    group, random = Simulator(seed, **settings), Random(seed)
    group.start(*NAMES[:size], founders=True)
    for name in NAMES[:size]:
        group.stall(name, 0.1 * random.random())
    group.run(1.5)
    return group


def test_an_idle_group_sends_a_number_of_datagrams_that_grows_with_its_size_only():
    for size in (6, 12, 24):
        group = group_of(size)
        group.run(3.0)  # STABLE has come to rest
        before = group.datagrams
        group.run(8.0)
        signs = 2 * (2 * size - 3) / CONFIG.heartbeat + (size - 2)
        stable = size * size / 2
        assert signs - size <= (group.datagrams - before) / 8.0 <= signs + stable


SEVERAL = "first", "two", "last two", "every 2nd", "all but the last", "all but the first"


@pytest.mark.parametrize("size", [3, 5, 12])
@pytest.mark.parametrize("dead", SEVERAL)
def test_crashes_at_once_are_found_in_a_time_that_does_not_grow(size, dead):
    names = NAMES[:size]
    ends = {
        "first": names[:1], "two": names[:2], "last two": names[-2:], "every 2nd": names[1::2],
        "all but the last": names[:-1], "all but the first": names[1:],
    }[dead]  # fmt: skip
    alive = [name for name in names if name not in ends]
    group = group_of(size)
    start = group.now
    for name in ends:
        group.crash(name)
    group.run_until(lambda: group.in_one_view(*alive), timeout=1.3)
    assert group.now - start > 1.0


@settings(max_examples=25, deadline=None)
@given(data=st.data(), size=st.integers(2, 9), seed=st.integers(0, 1000))
def test_any_crashes_that_leave_a_member_are_found_though_much_is_lost(data, size, seed):
    names = NAMES[:size]
    dead = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=size - 1, unique=True))
    group = group_of(size, seed, link=Link(loss=0.3))
    for name in dead:
        group.run(data.draw(st.sampled_from([0.0, 0.001, 0.04, 0.5, 1.21])))
        group.crash(name)

    def found():
        members = {m.node for node in group.up for m in node.stack.view.members}
        return members.isdisjoint(dead)

    group.run_until(found, timeout=20.0)
    assert group.up


@pytest.mark.parametrize(("preset", "length", "stays"), [
    ("fast", 0.2, True), ("fast", 1.0, False),
    ("lan", 1.0, True), ("lan", 3.0, False),
    ("wan", 1.0, True), ("wan", 3.0, True),
])  # fmt: skip
@pytest.mark.parametrize("who", "abe")
def test_a_member_may_stand_still_for_as_long_as_the_preset_bears(preset, length, stays, who):
    group = group_of(5, config=StackConfig.preset(preset))
    for _ in range(8):
        group.stall(who, length)
        group.run(length + 1.53)
        assert group.in_one_view(*"abcde") == stays
        assert all(len(node.views) == 1 for node in group.up) == stays
        if not stays:
            break


def test_a_preset_is_a_set_of_defaults():
    assert StackConfig.preset("lan") == StackConfig()
    wan = StackConfig.preset("wan", heartbeat=0.2)
    assert (wan.heartbeat, wan.suspect_after, wan.max_bundle) == (0.2, 3.5, 60_000)
    with pytest.raises(ConfigError, match="preset is 'moon'; choose one of 'lan', 'fast', 'wan'"):
        StackConfig.preset("moon")


@pytest.mark.parametrize("length", [0.1, 0.3, 0.5, 0.9, 1.0])
def test_a_member_that_stood_still_reads_what_has_come_before_it_suspects_anybody(length):
    group = group_of(5)
    for name in "abe" * 3:
        group.stall(name, length)
        group.run(length + 0.53)
    assert [node.suspected for node in group.up] == [[]] * 5


@pytest.mark.parametrize("deaf", "ab")
def test_a_member_that_the_first_in_line_does_not_hear_is_out_and_learns_it(deaf):
    group = group_of(6)
    group.links["d", "a"] = Link(loss=1.0)
    if deaf == "b":
        group.links["d", "b"] = Link(loss=1.0)
    group.run_until(lambda: group.in_one_view(*"abcef"), timeout=2.0)
    group.run_until(lambda: group["d"].left is not None, timeout=5.0)
    assert "excluded" in group["d"].left


def test_whom_another_member_does_not_hear_stays():
    group = group_of(6)
    group.links["d", "e"] = Link(loss=1.0)
    group.links["a", "e"] = Link(loss=1.0)
    group.run(5.0)
    assert group.in_one_view(*"abcdef")
    assert all(len(node.views) == 1 for node in group.up)


@pytest.mark.parametrize("side", ["ab", "ef", "cd", "a"])
def test_after_a_partition_each_member_of_the_side_that_is_out_learns_it(side):
    group = group_of(7)
    rest = [name for name in NAMES[:7] if name not in side]
    group.partition(side, rest)
    group.run_until(lambda: group.in_one_view(*rest) and group.in_one_view(*side), timeout=3.0)
    group.heal()
    group.run_until(lambda: all(group[name].left is not None for name in side), timeout=10.0)
    assert group.in_one_view(*rest)
