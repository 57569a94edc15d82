"""Only the primary side of a partition goes on: whole groups in virtual time (PRIMARY)."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.messages import Address, Frame, Payloads, Run, View, ViewId
from raincheck.impl.primary.decision import MOST, Repairs
from raincheck.impl.primary.events import Info, Session
from raincheck.impl.sequencer.events import Data
from raincheck.impl.simulation.group import Link
from raincheck.impl.stack.frames import AttemptFrame, FragmentFrame, InfoFrame, encode
from raincheck.impl.stack.group import LAYERS
from raincheck.impl.stack.passing import Bundle
from raincheck.impl.stack.primary_layer import PrimaryLayer, primary_layer
from raincheck.impl.stack.repairs import LayerRepairs
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Excluded, JoinRefused, JoinReq
from raincheck.impl.wire.primary_bodies import encode_info

from .primary_judge import Judged, primary_config

CALLBACK = primary_config(5, on_merge="callback")


def begun(names: str, **settings: Any) -> Judged:
    """A primary group that has delivered something."""
    group = Judged(len(names), **settings)
    group.start(names[0])
    group.run_until(lambda: group.in_one_view(names[0]))
    group.start(*names[1:])
    group.one(names)
    return group


def parted(group: Judged, *parts: str) -> None:
    """Part the group until each part is a group of its own, and knows whether it is primary."""
    group.partition(*parts)
    group.run_until(lambda: all(group.in_one_view(*part) for part in parts), 20.0)
    group.run(0.5)


def goes_on(group: Judged, names: str) -> bool:
    """Whether what these send is delivered, to all of them or to none."""
    before = {name: group[name].messages for name in names}
    for name in names:
        group.send(name, [b"y"])
    group.run(0.5)
    more = {group[name].messages - before[name] for name in names}
    assert more in ({0}, {len(names)})
    return more != {0}


# ------------------------------------------------------------------ the first primary view


@pytest.mark.parametrize("order", list(permutations("abc"))[::2], ids="".join)
def test_a_group_is_primary_once_all_votes_are_there_in_whatever_order(order: list[str]) -> None:
    group = Judged(3)
    for name in order:
        assert not any(node.stack.primary for node in group.up)
        group.start(name)
        group.send(name, [b"early"])
        group.run(2.0)
    group.one("abc")
    assert {group[name].app.applied for name in "abc"} == {9}
    assert [change.primary for change in group[order[0]].primaries] == [False, False, True]
    assert group[order[0]].primaries[0].why == (
        "its members have 1 of the 3 votes that a first primary view needs"
    )


def test_processes_that_have_each_founded_alone_are_primary_as_one_group_only() -> None:
    group = Judged(3)
    group.partition("a", "b", "c")
    group.start("a", "b", "c")
    group.run(3.0)
    assert [node.stack.primary for node in group.up] == [False] * 3
    group.partition("ab", "c")
    group.run_until(lambda: group.in_one_view("a", "b"), 60.0)
    group.run(1.0)
    assert [node.stack.primary for node in group.up] == [False] * 3
    group.heal()
    group.one("abc", 60.0)
    assert [group[name].left for name in "abc"] == [None] * 3


def test_more_votes_than_expected_found_nothing() -> None:
    group = Judged(2)
    group.start("a")
    group.settings["b"] = {"votes": 2}
    group.start("b")
    group.run(3.0)
    assert group.in_one_view("a", "b")
    assert group["a"].primaries[-1].why == "its members have 3 votes, and expected_votes is 2"


# ------------------------------------------------------------------ partitions


def test_the_majority_goes_on_and_the_others_come_back_to_its_state() -> None:
    group = begun("abcde")
    parted(group, "ab", "cde")
    assert goes_on(group, "cde")
    assert not goes_on(group, "ab")
    assert group["a"].primaries[-1].why == (
        "it has no majority of the last primary view, 1 (a.0 b.0 c.0 d.0 e.0)"
    )
    group.heal()
    group.one("abcde")
    assert [group[name].left for name in "abcde"] == [None] * 5


def test_the_side_that_was_primary_last_prevails_though_the_other_one_is_larger() -> None:
    group = begun("abcde")
    parted(group, "abc", "de")
    parted(group, "ab", "cde")  # two of three go on
    assert goes_on(group, "ab")
    assert not goes_on(group, "cde")
    state = group["a"].app.checksum
    assert group["c"].app.checksum != state
    group.heal()
    group.run_until(lambda: group.primary("abcde"), 20.0)
    merged = group["e"].views[-1]
    assert set(merged.prevailing.members) == {group[name].address for name in "ab"}  # type: ignore[attr-defined]
    group.one("abcde")
    assert group["a"].app.applied == group["a"].messages  # it has never taken another state


@pytest.mark.parametrize(("first", "second"), [("ab", "cd"), ("ad", "bc"), ("cd", "ab")])
def test_of_two_halves_the_one_with_the_smallest_address_goes_on(first: str, second: str) -> None:
    group = begun("abcd")
    parted(group, first, second)
    assert [goes_on(group, first), goes_on(group, second)] == ["a" in first, "a" in second]
    group.heal()
    group.one("abcd")


def test_without_the_tie_breaker_neither_half_goes_on() -> None:
    group = begun("abcd", config=primary_config(4, tie_breaker=False))
    parted(group, "ab", "cd")
    assert [goes_on(group, "ab"), goes_on(group, "cd")] == [False, False]
    assert group["a"].primaries[-1].why == (
        "it has no majority of the last primary view, 1 (a.0 b.0 c.0 d.0)"
    )
    group.heal()
    group.one("abcd")
    group._config = primary_config(4)
    group.start("e")
    group.run(2.0)
    assert "expected_votes=4 tie_breaker=no" in str(group["e"].left)


def test_votes_make_a_majority_of_one_member() -> None:
    group = Judged(4)
    group.settings["c"] = {"votes": 2}
    group.start("c")
    group.run(1.5)
    group.start("a", "b")
    group.one("abc")
    parted(group, "ab", "c")  # two votes each, and a is the smallest
    assert [goes_on(group, "ab"), goes_on(group, "c")] == [True, False]
    group.heal()
    group.one("abc")


def test_a_group_that_shrinks_step_by_step_goes_on_to_its_last_member() -> None:
    group = begun("abcde")
    for rest, victim in (("abcd", "e"), ("abc", "d"), ("ab", "c"), ("a", "b")):
        group.crash(victim)
        group.one(rest)


def test_what_is_under_way_when_a_partition_comes_is_held_and_comes_when_sides_are_one() -> None:
    group = begun("abc", link=Link(delay=(0.02, 0.05)))
    group.send("c", [b"x"] * 5)  # c is cut off before a has sequenced it
    group.partition("ab", "c")
    sent = group["c"].sent
    group.run_until(lambda: group.in_one_view("c"))
    group.run(3.0)
    group.send("c", [b"y"] * 5)
    group.run(3.0)
    assert group["c"].stack.pending == 10
    before = group["a"].messages
    group.heal()
    group.run_until(lambda: group.primary("abc"), 20.0)
    group.run(1.0)
    assert group["c"].stack.pending == 0
    assert group["a"].messages - before == 10
    own = [run for run, _ in group["a"].delivered if run.sender == group["c"].address]
    assert sum(run.size for run in own) == sent + 5
    group.one("abc")


# ------------------------------------------------------------------ crashes, and lives anew


def test_who_comes_back_without_memory_counts_again_once_it_is_a_member() -> None:
    group = begun("abc")
    group.crash("c")
    group.one("ab")
    group.restart("c")
    group.one("abc")
    parted(group, "a", "bc")
    assert goes_on(group, "bc")


def test_a_majority_that_crashes_at_once_is_lost_until_an_operator_says_so() -> None:
    group = begun("abc")
    before = group["c"].primaries[-1].history
    for name in "ab":
        group.crash(name)
    group.run_until(lambda: group.in_one_view("c"))
    group.run(1.0)
    for name in "ab":
        group.restart(name)
    group.run_until(lambda: group.in_one_view(*"abc"), 20.0)
    group.run(2.0)
    assert not any(goes_on(group, name) for name in "abc")

    group.crash("b")
    group.settings["b"] = {"found": True}
    group.restart("b")
    group.run_until(lambda: group.primary("abc"), 20.0)
    change = group["c"].primaries[-1]
    assert change.history == change.view.id != before
    group.run(1.0)
    group.one("abc")


def test_what_an_operator_has_said_is_good_for_one_history() -> None:
    group = Judged(3)
    for name in "abc":
        group.settings[name] = {"found": True}
    group.start("a")
    group.run(1.5)
    group.start("b", "c")
    group.one("abc")
    parted(group, "ab", "c")
    parted(group, "a", "bc")  # two of the three that are expected, and a goes on without them
    assert [goes_on(group, "a"), goes_on(group, "bc")] == [True, False]
    assert group.problems == []


def test_of_three_that_have_all_crashed_all_found_again_without_an_operator() -> None:
    group = begun("abc")
    for name in "abc":
        group.crash(name)
    group.run(2.0)
    for name in "abc":
        group.restart(name)
    group.one("abc", 60.0)


def test_two_that_have_forgotten_do_not_found_beside_the_third() -> None:
    group = begun("abc")
    parted(group, "ab", "c")
    for name in "ab":
        group.crash(name)
    group.run(2.0)
    for name in "ab":
        group.restart(name)
    group.run_until(lambda: group.in_one_view("a", "b"), 60.0)
    group.run(2.0)
    assert not goes_on(group, "ab")


# ------------------------------------------------------------------ judged at random


STEPS = st.one_of(
    st.tuples(st.just("part"), st.lists(st.integers(0, 2), min_size=4, max_size=4)),
    st.tuples(st.just("heal"), st.none()),
    st.tuples(st.sampled_from(["crash", "restart", "send"]), st.sampled_from("abcd")),
    st.tuples(st.just("run"), st.sampled_from([0.05, 0.3, 1.3, 1.6, 2.5])),
)


def carry_out(group: Judged, steps: list[tuple[str, Any]], names: str = "abcd") -> None:
    """Carry out what happens to a group."""
    for kind, what in steps:
        match kind:
            case "part":
                parts = ["", "", ""]
                for name, part in zip(names, what, strict=True):
                    parts[part] += name
                group.partition(*filter(None, parts))
            case "heal":
                group.heal()
            case "run":
                group.run(what)
            case "crash" if group[what].up and len(group.up) > 1:
                group.crash(what)
            case "restart" if not group[what].up:
                group.restart(what)
            case "send" if speaks(group, what):
                group.send(what, [b"z"] * 2)
            case "leave" if speaks(group, what):
                send_all(group, what)
                group.leave(what)
        group.judge_shown()


def speaks(group: Judged, name: str) -> bool:
    """Whether it may send: it is there, and has not begun to leave."""
    return group[name].up and group[name].stack.status in ("joining", "member")


def send_all(group: Judged, name: str) -> None:
    """Send something of each kind."""
    group.send(name, [b"z"] * 2)
    if group[name].stack.status == "member":
        group.send_to(name, name, b"to myself")
        group.send_unordered(name, b"u")
        group.call(name, b"?")


def judge_at_random(steps: list[tuple[str, Any]], seed: int) -> None:
    """Judge a group to which that happens, and which is one again at the end."""
    group = Judged(4, seed, link=Link(loss=0.02, delay=(0.0005, 0.01)))
    group.start(*"abcd", founders=True)
    group.run(0.3)
    carry_out(group, steps)
    group.heal()
    group.run(4.0)
    assert group.formed
    assert group.problems == []


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(STEPS, min_size=8, max_size=24), st.integers(1, 1000))
def test_whatever_happens_there_is_one_chain_and_nobody_else_delivers(
    steps: list[tuple[str, Any]], seed: int
) -> None:
    judge_at_random(steps, seed)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, min_size=8, max_size=40), st.integers(1, 1000))
def test_whatever_happens_for_long_there_is_one_chain_and_nobody_else_delivers(
    steps: list[tuple[str, Any]], seed: int
) -> None:
    judge_at_random(steps, seed)


CUT_OFF = ("b", "c", "d", "bc", "bd", "cd")
"""Sides of a group of four whose rest goes on."""


def leave_cut_off(side: str, steps: list[tuple[str, Any]], seed: int, **settings: Any) -> Judged:
    """Return a group of which these have left where they were cut off, with all still to send."""
    group = Judged(4, seed, **settings)
    group.start(*"abcd", founders=True)
    group.run(0.3)
    group.partition(side, "".join(name for name in "abcd" if name not in side))
    for name in side:
        send_all(group, name)
        group.leave(name)
    group.run(3.0)
    group.judge_shown()
    for name in side:  # what is sent holds it back
        assert (group[name].stack.status, group[name].stack.view) == (
            "leaving",
            group[side[0]].views[-1],
        )
    carry_out(group, steps)
    group.heal()
    group.run(4.0)
    group.judge_shown()
    return group


@pytest.mark.parametrize("policy", ["state", "callback"])
@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.sampled_from(CUT_OFF),
    st.lists(STEPS | st.tuples(st.just("leave"), st.sampled_from("abcd")), max_size=16),
    st.integers(1, 1000),
)
def test_who_leaves_where_it_is_not_primary_delivers_nothing_and_does_not_call_itself_so(
    policy: str, side: str, steps: list[tuple[str, Any]], seed: int
) -> None:
    config, link = primary_config(4, on_merge=policy), Link(loss=0.02, delay=(0.0005, 0.01))
    with_state = policy == "state"
    group = leave_cut_off(side, steps, seed, config=config, link=link, with_state=with_state)
    assert group.problems == []


@pytest.mark.parametrize("seed", range(3))
def test_partitions_that_flap_end_in_one_primary_group(seed: int) -> None:
    # With "state", who is cut off again before it has the state leaves, and forgets.
    group, random = begun("abcde", seed=seed + 1, config=CALLBACK), Random(seed)
    for _ in range(25):
        parts = ["", "", ""]
        for name in "abcde":
            parts[random.choice((0, 0, 1, 2))] += name
        group.partition(*filter(None, parts))
        group.run(random.choice((0.05, 0.2, 0.9, 1.3, 1.4)))
        group.send(random.choice("abcde"), [b"z"])
    group.heal()
    group.run_until(lambda: group.primary("abcde"), 60.0)
    group.run(1.0)  # and what was held is delivered
    assert goes_on(group, "abcde")
    assert group.problems == []
    assert len(group.formed) > 4


@pytest.mark.parametrize(
    ("undone", "breaks"),
    [
        ({"tie": "half"}, "two primary views at 2"),
        ({"found_needs": "nothing"}, "are of two histories"),
        ({"lives": False}, "two primary views at 2"),
    ],
    ids=str,
)
def test_the_judge_sees_a_rule_that_is_taken_back(undone: dict[str, Any], breaks: str) -> None:
    group = Judged(4, layers=LayerRepairs(primary=Repairs(**undone)))
    group.start(*"abcd", founders=True)
    group.run(0.5)
    group.partition("ab", "cd")
    group.run(3.0)
    group.crash("b")
    group.partition("a", "bcd")
    group.restart("b")
    group.run(3.0)
    group.partition("a", "bc", "d")
    group.crash("d")
    group.restart("d")
    group.run(3.0)
    assert any(breaks in problem for problem in group.problems), group.problems


class _Open(PrimaryLayer):
    """PRIMARY without a latch."""

    def _report(self, why: str) -> None:
        super()._report(why)
        self.ground.not_primary = ""

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Pass all messages on."""
        framed = bundle.payloads.framed and not bundle.header.first
        (super() if framed else self.above).pass_up(bundle, now)


def test_the_judge_sees_a_latch_that_does_not_close() -> None:
    kinds = [_Open if kind is primary_layer else kind for kind in LAYERS]
    group = Judged(3, kinds=kinds)
    group.start(*"abc", founders=True)
    group.run(0.5)
    parted(group, "ab", "c")
    group.send("c", [b"y"])
    group.run(0.5)
    assert group.problems == ["c.0 delivers in a view that is not primary"]


def test_the_judge_sees_a_latch_that_does_not_close_before_who_leaves() -> None:
    kinds = [_Open if kind is primary_layer else kind for kind in LAYERS]
    group = Judged(4, kinds=kinds)
    group.start(*"abcd", founders=True)
    group.run(0.3)
    group.partition("d", "abc")
    send_all(group, "d")
    group.leave("d")
    group.run(3.0)
    assert "d.0 delivers in a view that is not primary" in group.problems
    assert "d.0 is asked in a view that is not primary" in group.problems


# ------------------------------------------------------------------ unicasts, calls, large messages


def test_unicasts_wait_until_the_view_is_primary_again() -> None:
    group = begun("abcd")
    parted(group, "ab", "cd")
    group.send_to("c", "d", b"from c")
    group.send_to("d", "d", b"to myself")
    group.run(1.0)
    assert group["d"].unicasts == []
    group.heal()
    group.one("abcd")
    assert sorted(payload for *_, payload in group["d"].unicasts) == [b"from c", b"to myself"]
    assert {view for _, view, _ in group["d"].unicasts} == {group["d"].views[-1].id.counter}


def test_unicasts_of_a_member_that_is_gone_before_the_view_is_primary_are_lost() -> None:
    group = begun("abcd")
    parted(group, "ab", "cd")
    group.send_to("c", "d", b"from c")
    group.run(0.5)
    group.crash("c")
    group.run_until(lambda: group.in_one_view("d"))
    group.heal()
    group.one("abd")
    assert group["d"].unicasts == []
    assert group["d"].stack.counters["not_primary"] == 1


def test_large_messages_calls_and_unordered_ones_wait_too() -> None:
    group = begun("abc")
    parted(group, "ab", "c")
    number = group["c"].stack.send_large(bytes(300_000))
    group.send_unordered("c", b"u")
    group.call("c", b"?")
    group.run(1.0)
    assert group["c"].stack.under_way(number)
    assert (group["c"].unordered, group["c"].requested) == ([], [])
    group.heal()
    group.run_until(lambda: group.primary("abc"), 20.0)
    group.run(2.0)
    assert not group["c"].stack.under_way(number)
    for name in "abc":
        assert [payload for *_, payload in group[name].unordered] == [b"u"]
        assert [each.payload for each in group[name].requested] == [b"?"]
    assert group.problems == []


# ------------------------------------------------------------------ options, and what peers say


def test_a_joiner_with_other_votes_expected_is_refused_and_both_are_told() -> None:
    group = Judged(2)
    group.start("a")
    group.run(1.5)
    group.settings["b"] = {"expected_votes": 3}
    group.start("b")
    group.run(2.0)
    said = group["b"].left
    assert said is not None
    assert "primary=majority expected_votes=3" in said
    assert "primary=majority expected_votes=2" in said
    assert any("expected_votes=3" in report.detail for report in group["a"].dropped)


def test_the_longest_settings_fit_into_what_is_said_of_them() -> None:
    longest = primary_config(
        1_000_000, on_merge="callback", tie_breaker=False, max_bundle=1 << 20, max_message=1 << 30
    )
    me = Address("x" * 64, 1 << 60)
    reason = f"its stack is {longest.fingerprint}, the group's is {longest.fingerprint}"
    codec = Codec("orders", 60_000)
    for header in (
        JoinReq(me, longest.fingerprint, True, 1, 1),
        JoinRefused(me, me, reason, 1),
        Excluded(me, me, View(ViewId(1, me), (me,)), longest.merging),
    ):
        assert codec.decode(codec.encode(header)).header == header


@pytest.mark.parametrize("other", [{"expected_votes": 3}, {"primary": None, "expected_votes": 0}])
def test_groups_with_other_rules_do_not_merge_and_a_primary_one_does_not_give_way(
    other: dict[str, Any],
) -> None:
    group = Judged(2)
    group.partition("ab", "cd")
    group.start("a", "b")
    for name in "cd":
        group.settings[name] = other
    group.start("c", "d")
    group.run(4.0)
    assert group.in_one_view(*"ab")
    assert group.in_one_view(*"cd")
    group.heal()
    group.run(70.0)
    assert [group[name].left for name in "ab"] == [None, None]
    mine = "'state' primary=majority expected_votes=2"
    if other["expected_votes"]:
        assert any(f"this group has {mine}" in report.detail for report in group["b"].dropped)
    assert any(f"has on_merge={mine}, this group" in report.detail for report in group["c"].dropped)
    group.one("ab")


def sessions(count: int, members: str) -> frozenset[Session]:
    """Primary views that somebody may have formed."""
    votes = tuple((Address(name, 0), 1) for name in members)
    return frozenset(
        Session(n, ViewId(n, votes[0][0]), ViewId(1, votes[0][0]), votes)
        for n in range(2, count + 2)
    )


def test_what_a_member_remembers_may_need_several_bundles() -> None:
    group = Judged(3, config=primary_config(3, max_bundle=2048))
    group.start(*"abc", founders=True)
    group.run(0.3)
    group.layer("b").core.attempts |= sessions(20, "bstuvwxyz")
    parted(group, "a", "bc")
    core = group.layer("c").core
    assert core.stage == "refused"  # b's attempts have reached c, and count
    assert group["c"].primaries[-1].why == (
        "others may have formed a later primary view, which members of this one have attempted"
    )


def test_a_member_that_keeps_too_many_attempts_attempts_nothing_more() -> None:
    group = Judged(3)
    group.start(*"abc", founders=True)
    group.run(0.3)
    group.layer("a").core.attempts |= sessions(MOST, "azyx")
    parted(group, "ab", "c")
    assert group["b"].primaries[-1].primary is False
    assert len(group.layer("a").core.attempts) == MOST


LIES: dict[str, tuple[bytes, str]] = {
    "no frame that there is": (b"\x09", "frame of 1 bytes"),
    "no INFO": (encode(InfoFrame(True, b"rubbish")), "INFO of 7 bytes: "),
    "no votes": (encode(InfoFrame(True, b"\x94\x00\xc2\xc0\x90")), "INFO of 5 bytes: "),
    "too much": (encode(InfoFrame(False, bytes(2 << 20))), "INFO of 2097152 bytes where none"),
    "ATTEMPT and more": (encode(AttemptFrame()) + b"!", "frame of 2 bytes"),
    "a fragment": (encode(FragmentFrame(False, 1, 0, 0, 1, b"x")), "FragmentFrame in a view"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_cannot_be_is_said_and_nothing_comes_of_it(lie: str) -> None:
    content, words = LIES[lie]
    group = Judged(2, manual=True)
    group.start("a", "b", founders=True)  # and nothing has arrived
    layer = group.layer("b")
    assert words in layer._take(group["a"].address, Frame(content))
    assert (layer.core.stage, layer._infos.keys()) == ("asking", {group["b"].address})
    assert layer._partial == {}


def told_by(name: str, last: Session | None, attempts: frozenset[Session]) -> Frame:
    """An INFO of that member."""
    me = Address(name, 0)
    return encode(InfoFrame(True, encode_info(Info(me, ViewId(1, me), 1, False, last, attempts))))


SESSIONS = st.builds(
    Session,
    st.integers(0, 1 << 41),
    st.builds(ViewId, st.integers(0, 9), st.builds(Address, st.sampled_from("abcx"), st.just(0))),
    st.builds(ViewId, st.integers(0, 9), st.just(Address("a", 0))),
    st.lists(
        st.tuples(st.builds(Address, st.sampled_from("abcx"), st.integers(0, 1)), st.just(1)),
        min_size=1,
        max_size=4,
    ).map(tuple),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.none() | SESSIONS, st.frozensets(SESSIONS, max_size=3), st.booleans())
def test_whatever_a_member_says_that_it_remembers_nobody_is_ended(
    last: Session | None, attempts: frozenset[Session], again: bool
) -> None:
    group = Judged(2, manual=True)
    group.start("a", "b", founders=True)
    layer = group.layer("b")
    problem = layer._take(group["a"].address, told_by("a", last, attempts))
    if again:
        layer._take(group["a"].address, encode(AttemptFrame()))
    assert (layer.core.stage == "asking") == bool(problem)
    assert layer.core.stage in ("asking", "attempting", "refused")


@pytest.mark.parametrize(
    ("last", "attempts", "words"),
    [
        (Session((1 << 40) + 1, *sorted(sessions(1, "ab"))[0][1:]), frozenset(), "of number 1099"),
        (None, sessions(1, "xyz"), "an attempt that cannot be its sender's"),
        (max(sessions(3, "ab")), sessions(2, "ab"), "an attempt that cannot be its sender's"),
    ],
)
def test_what_a_member_cannot_remember_is_refused(
    last: Session | None, attempts: frozenset[Session], words: str
) -> None:
    group = Judged(2, manual=True)
    group.start("a", "b", founders=True)
    assert words in group.layer("b")._take(Address("a", 0), told_by("a", last, attempts))


def test_a_frame_where_none_can_be_is_counted_and_ends_nobody() -> None:
    group = begun("ab")
    for content in (encode(InfoFrame(True, b"x")), Frame(b"\x09"), encode(AttemptFrame())):
        group.layer("a")._unsaid.append(content)
    group.layer("a").stirred = True
    group.send("a", [b"go"])
    group.run(0.5)
    assert group["b"].stack.counters["refused"] == 2  # an ATTEMPT may be late
    group.one("ab")


def test_messages_in_a_view_that_is_not_primary_are_taken_from_nobody() -> None:
    group = begun("abc")
    parted(group, "c", "ab")
    layer, me = group.layer("c"), group["c"].address
    data = Data(Run(me, 9, 1), layer.core.view.counter, Payloads.pack([b"evil"]), 99, 1)
    layer.multicast(data, group.now)
    group["c"].stack.flush(group.now)
    group.run(0.5)
    assert group.problems == []
    assert group["c"].stack.counters["refused"] == 1


def test_what_the_primary_side_has_delivered_of_a_member_that_is_cut_off_comes_once() -> None:
    group = begun("abc", link=Link(delay=(0.001, 0.002)))
    group.links["a", "c"] = Link(loss=1.0)
    group.links["b", "c"] = Link(loss=1.0)  # c is heard, and hears nothing
    group.send("c", [b"x"] * 5)
    large = group["c"].stack.send_large(bytes(300_000))
    number, large_call = group.call("c", b"?"), group.call("c", b"?" * 100_000)
    group.run(0.05)
    group.partition("ab", "c")
    group.run_until(lambda: group.in_one_view("a", "b") and group.in_one_view("c"))
    group.run(1.0)
    assert (group["a"].app.applied, group["c"].app.applied) == (12, 6)
    assert [each.number for each in group["a"].requested] == [number, large_call]
    assert group["c"].stack.pending > 6
    group.start("d")  # it has not been there, and is told
    group.partition("abd", "c")
    group.run_until(lambda: group.primary("abd"), 20.0)
    group.links.clear()
    group.heal()
    group.one("abcd")
    assert group["c"].stack.pending == 0
    assert not group["c"].stack.under_way(large)
    assert [each.number for each in group["c"].calls] == [number, large_call]  # over, unanswered
    assert [each.replies.answers for each in group["c"].calls] == [{}, {}]
    assert [len(group[name].requested) for name in "abcd"] == [2, 2, 0, 0]
    for name in "abd":
        own = [run for run, _ in group[name].delivered if run.sender == group["c"].address]
        numbers = [n for run in own for n in range(run.first, run.last + 1)]
        assert numbers == sorted(set(numbers))
    assert {group[name].app.applied for name in "abcd"} == {12 + 8}
    assert group["d"].stack._group.find(PrimaryLayer)._delivered == group.layer("a")._delivered
