"""Groups that meet become one: whole groups in virtual time (docs/protocols/merge2.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest

from raincheck.impl.errors import ConfigError
from raincheck.impl.merge2.events import MergeId
from raincheck.impl.messages import Address, MergeView, View, ViewId
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack import merge_checks
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.merge2_layer import Merge2Layer
from raincheck.impl.stack.passing import Merging
from raincheck.impl.wire.merge_bodies import MergeReq

MERGING = StackConfig(on_merge="callback")
NAMES = "abcd"


ORDERS = pytest.mark.parametrize("order", ["sequencer", "total"])


def founded(
    names: str = NAMES, seed: int = 1, link: Link | None = None, order: str = "sequencer"
) -> Simulator:
    """A group that merges, which has delivered something."""
    group = Simulator(seed, link=link, config=replace(MERGING, order=order))
    group.start(*names, founders=True)
    say(group, names)
    group.run(0.3)
    return group


def say(group: Simulator, names: Iterable[str], count: int = 3) -> None:
    """Each of these sends some messages."""
    for name in names:
        if group[name].up and group[name].left is None:
            group.send(name, [b"x"] * count)


def split(group: Simulator, *parts: str) -> None:
    """Part the group until each part is a group, which delivers."""
    group.partition(*parts)
    group.run_until(lambda: all(group.in_one_view(*part) for part in parts))
    for part in parts:
        say(group, part)
    group.run(0.3)


def one(group: Simulator, names: str = NAMES, timeout: float = 20.0) -> None:
    """Wait until these are one group, which delivers what all of them send."""
    group.run_until(lambda: group.in_one_view(*names), timeout)
    before = {name: group[name].messages for name in names}
    say(group, names)
    group.run(0.5)
    assert {group[name].messages - before[name] for name in names} == {3 * len(names)}
    check(group)


def check(group: Simulator) -> None:
    """What a merge must not break, for every member that there has been."""
    views: dict[ViewId, tuple[Address, ...]] = {}
    together: dict[tuple[ViewId, ViewId], dict[str, object]] = defaultdict(dict)
    for node in group.nodes.values():
        delivered: dict[int, list[tuple[Address, int]]] = defaultdict(list)
        last: dict[Address, int] = {}
        for run, view in node.delivered:
            assert run.first > last.get(run.sender, 0), f"{node.name} delivers {run} again"
            last[run.sender] = run.last
            delivered[view] += [(run.sender, n) for n in range(run.first, run.last + 1)]
        numbers = [view.id.counter for view in node.views]
        assert numbers == sorted(set(numbers)), f"{node.name} goes back: {numbers}"
        for view in node.views:
            assert views.setdefault(view.id, view.members) == view.members
            assert node.address in view.members
        for view, following in zip(node.views, node.views[1:], strict=False):
            here = delivered[view.id.counter]
            together[view.id, following.id][node.name] = here
    for step, logs in together.items():
        first, *others = logs.values()
        assert all(log == first for log in others), f"{step}: {sorted(logs)} differ"


def merged(group: Simulator, name: str) -> MergeView:
    """The last view of that node, which is a merged one."""
    view = group[name].views[-1]
    assert isinstance(view, MergeView)
    return view


# ------------------------------------------------------------------ split and heal


@pytest.mark.parametrize("parts", [("ab", "cd"), ("a", "bcd"), ("d", "abc"), ("a", "b", "c", "d")])
def test_parts_of_a_group_become_one_again_and_nobody_has_to_leave(parts: tuple[str, ...]) -> None:
    group = founded()
    split(group, *parts)
    last = {part: group[part[0]].stack.view for part in parts}

    group.heal()
    one(group)

    assert [group[name].left for name in NAMES] == [None] * 4
    views = [merged(group, name) for name in NAMES]
    assert len({(view, view.subgroups) for view in views}) == 1
    assert {v.id: set(v.members) for v in views[0].subgroups} == {
        v.id: set(v.members) for v in last.values() if v is not None
    }
    assert views[0].joiners == ()
    assert views[0].id.counter == max(v.id.counter for v in last.values() if v is not None) + 1


def test_all_three_parts_of_a_group_of_six_become_one() -> None:
    group = founded("abcdef")
    split(group, "ab", "cd", "ef")
    group.heal()
    one(group, "abcdef")
    assert len(merged(group, "f").subgroups) == 3


def test_sides_with_different_numbers_of_views_merge() -> None:
    group = founded()
    split(group, "a", "bcd")
    for joiner in "xyz":  # views of one side only
        group.partition("a", "bcd" + joiner)
        group.start(joiner)
        group.run_until(lambda joiner=joiner: group.in_one_view(*"bcd", joiner))
        group.leave(joiner)
        group.run_until(lambda: group.in_one_view(*"bcd"))
    group.heal()
    one(group)
    assert merged(group, "a").id.counter > 8


@ORDERS
def test_what_is_under_way_when_a_merge_begins_is_delivered_once_by_all(order: str) -> None:
    group = founded(link=Link(delay=(0.001, 0.02)), order=order)
    split(group, "ab", "cd")
    group.heal()

    def load() -> None:
        say(group, NAMES, 2)
        if not group.in_one_view(*NAMES):
            group.after(0.01, load)

    load()
    group.run_until(lambda: group.in_one_view(*NAMES))
    group.run(1.0)
    one(group)
    ours = merged(group, "a").id.counter
    logs = [[each for each in group[name].delivered if each[1] == ours] for name in NAMES]
    assert logs[0] == logs[1] == logs[2] == logs[3] != []
    for node in group.up:  # its own messages came back, all of them, in order
        own = [run for run, _ in node.delivered if run.sender == node.address]
        assert sum(run.size for run in own) == node.sent


def test_founders_that_did_not_hear_each_other_become_one_group() -> None:
    group = Simulator(3, config=MERGING)
    group.partition("a", "b", "c")
    group.start("a", "b", "c")
    group.run_until(lambda: all(group.in_one_view(name) for name in "abc"))
    group.heal()
    one(group, "abc", 60.0)


def test_a_member_that_was_excluded_by_mistake_comes_back_by_a_merge() -> None:
    group = founded()
    group.stall("c", 3.0)
    group.run_until(lambda: group.in_one_view(*"abd"))
    one(group)
    assert group["c"].left is None


def test_a_side_whose_application_is_slow_is_merged_in_the_end() -> None:
    """Its view is held ready late, so it may be left out of the first attempt."""
    group = founded()
    split(group, "ab", "cd")
    group["d"].stack.hold(group.now)
    say(group, "c")
    group.heal()
    group.after(5.0, lambda: group.release("d"))
    group.run(6.0)
    one(group)
    assert [group[name].left for name in NAMES] == [None] * 4


@ORDERS
def test_large_messages_and_unicasts_go_on_in_a_merged_view(order: str) -> None:
    group = founded(order=order)
    split(group, "ab", "cd")
    group.heal()
    group.run_until(lambda: group.in_one_view(*NAMES))
    number = group["a"].stack.send_large(bytes(300_000))
    group["a"].stack.flush(group.now)
    group.send_to("a", "d", b"for d")
    group.send_unordered("c", b"for all")
    group.run(2.0)
    assert not group["a"].stack.under_way(number)
    assert [payload for *_, payload in group["d"].unicasts] == [b"for d"]
    assert all([p for *_, p in group[name].unordered] == [b"for all"] for name in NAMES)


def test_somebody_who_joins_while_groups_merge_is_in_it_too() -> None:
    group = founded()
    split(group, "ab", "cd")
    group.heal()
    group.start("e")
    one(group, "abcde", 30.0)


def test_groups_with_a_key_merge() -> None:
    group = Simulator(1, config=MERGING, keys=read_keys([b"k" * 32], {}))
    group.start(*NAMES, founders=True)
    say(group, NAMES)
    group.run(1.0)
    split(group, "ab", "cd")
    group.heal()
    one(group, timeout=40.0)


# ------------------------------------------------------------------ crashes and flapping


def test_the_end_of_a_merge_does_not_end_the_flush_of_a_view_change_that_has_begun() -> None:
    group = founded(link=Link(delay=(0.001, 0.003)))
    split(group, "ac", "bd")
    group.heal()
    while stage(group, "a") != "installed":
        group.run(0.0005)
    group.partition("ac", "bd")  # a waits in vain, and leaves b and d out
    parts = group["a"].stack._group
    while parts.gms.core.phase != "installing":
        group.run(0.0005)

    parts.gms.down(Merging(False), group.now)

    assert not parts.flush.latch_open()
    group.run_until(lambda: group.in_one_view("a", "c"))
    group.heal()
    one(group)


def test_who_stands_still_in_a_merged_view_takes_part_in_no_other_merge() -> None:
    group = founded(link=Link(delay=(0.001, 0.003)))
    split(group, "ac", "bd")
    group.heal()
    while stage(group, "a") != "installed":
        group.run(0.0005)
    layer, stranger = group["c"].stack._group.find(Merge2Layer), Address("B", 1)
    layer.core.coordinates = True  # as the first member of the merged view, if it came from there
    request = MergeReq(MergeId(stranger, 1))

    layer.receive(stranger, request, ("10.9.9.9", 1), group.now)
    assert layer.core.stage == "idle"

    layer.core.coordinates = False
    one(group)
    layer.core.coordinates = True
    layer.receive(stranger, request, ("10.9.9.9", 1), group.now)
    assert layer.core.stage == "flushing"


@pytest.mark.parametrize("who", NAMES)
@pytest.mark.parametrize("where", ["flushing", "installed"])
def test_a_member_may_leave_while_groups_merge(who: str, where: str) -> None:
    group = founded(link=Link(delay=(0.001, 0.003)))
    split(group, "ac", "bd")
    group.heal()
    while "a" not in {name for name in "ab" if stage(group, name) == where}:
        group.run(0.0005)
        assert group.now < 30
    group.leave(who)
    group.run_until(lambda: group[who].left == "", 20.0)
    one(group, NAMES.replace(who, ""), 30.0)


def stage(group: Simulator, name: str) -> str:
    """How far the merge is that a node takes part in."""
    return group[name].stack._group.find(Merge2Layer).core.stage


@pytest.mark.parametrize("victim", NAMES)
@pytest.mark.parametrize("where", ["flushing", "answered", "installing", "installed"])
def test_whoever_crashes_during_a_merge_the_others_become_one(victim: str, where: str) -> None:
    group = founded(link=Link(delay=(0.001, 0.003)))
    split(group, "ac", "bd")
    leaders = [name for name in "ab" if name == victim] or ["a", "b"]
    group.heal()
    while not any(stage(group, name) == where for name in leaders):
        group.run(0.0005)
        assert group.now < 30
    group.crash(victim)
    one(group, NAMES.replace(victim, ""), 30.0)


SEEDS = [n if n < 3 else pytest.param(n, marks=pytest.mark.slow) for n in range(30)]


def trouble(group: Simulator, seed: int, names: str) -> list[str]:
    """Part and heal the group at random times, crash some; return who has not crashed."""
    random, crashed = Random(seed), set[str]()
    for _ in range(random.choice((1, 2, 3))):
        parts: list[str] = ["", "", ""]
        for name in names:
            parts[random.randrange(3)] += name
        group.partition(*filter(None, parts))
        group.run(random.choice((0.3, 1.2, 1.5, 2.5, 4.0)))
        group.heal()
        if len(crashed) < 2 and random.random() < 0.5:
            victim = random.choice([name for name in names if name not in crashed])
            crashed.add(victim)
            group.after(random.uniform(0.0, 2.5), lambda victim=victim: group.crash(victim))
        group.run(random.choice((0.1, 0.5, 0.7, 1.0, 1.3, 3.0)))
    group.run(3.0)
    return [name for name in names if name not in crashed]


def load(group: Simulator, names: str, pause: float, until: list[str]) -> None:
    """Let all send again and again, until there is something in that list."""
    if not until:
        say(group, names, 1)
        group.after(pause, lambda: load(group, names, pause, until))


@ORDERS
@pytest.mark.parametrize("seed", SEEDS)
def test_after_partitions_crashes_and_losses_there_is_one_group(seed: int, order: str) -> None:
    print(f"seed {seed}")
    names = "abcde"
    group = founded(names, seed, Link(loss=0.02, delay=(0.0005, 0.01)), order)
    load(group, names, 0.1, [])
    alive = trouble(group, seed, names)
    group.run_until(lambda: group.in_one_view(*alive), 30.0)
    before = {name: group[name].messages for name in alive}
    group.run(5.0)
    assert all(group[name].messages > before[name] + 30 * len(alive) for name in alive)
    assert [group[name].left for name in alive] == [None] * len(alive)
    check(group)


def test_groups_that_are_too_large_together_stay_apart_and_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merge_checks, "LARGEST", 1800)
    group = Simulator(1, config=MERGING)
    group.start("a", "b", "c", "d", "e", founders=True)
    group.run(0.3)
    split(group, "ab", "cde")
    group.heal()
    group.run(5.0)
    said = {report.detail for report in group["a"].dropped}
    assert said == {
        "5 members are too many to merge: with their names, places and digests they take up to "
        "1840 bytes, and 1800 go into a datagram"
    }
    assert group.in_one_view(*"ab")
    assert group.in_one_view(*"cde")


# ------------------------------------------------------------------ policies


NO_STATE = "has merged, and has not got the group's state; join again"


def with_state(names: str = NAMES, seed: int = 1, order: str = "sequencer") -> Simulator:
    """A group whose applications have a state, which the larger side of a merge keeps."""
    config = StackConfig(on_merge="state", order=order)
    group = Simulator(seed, config=config, with_state=True)
    group.start(names[0])
    group.run_until(lambda: group.in_one_view(names[0]))
    group.start(*names[1:])
    group.run_until(lambda: group.in_one_view(*names))
    group.run(1.0)
    say(group, names)
    group.run(0.3)
    return group


def states(group: Simulator, names: str = NAMES) -> set[tuple[int, int]]:
    """The states of these members' applications."""
    return {(group[name].app.checksum, group[name].app.applied) for name in names}


@ORDERS
@pytest.mark.parametrize(("parts", "prevails"), [(("a", "bcd"), "b"), (("abc", "d"), "a")])
def test_the_smaller_side_takes_the_state_of_the_larger_one(
    parts: tuple[str, ...], prevails: str, order: str
) -> None:
    group = with_state(order=order)
    split(group, *parts)
    assert len(states(group)) == 2
    state = group[prevails].app.checksum
    group.heal()
    group.run_until(lambda: group.in_one_view(*NAMES), 20)
    say(group, NAMES)
    assert group[prevails].app.checksum == state
    group.run(3.0)
    assert len(states(group)) == 1
    assert group[prevails].app.applied == group[prevails].messages
    say(group, NAMES)
    group.run(0.5)
    assert len(states(group)) == 1
    assert all(node.left is None for node in group.up)


@pytest.mark.parametrize("victim", NAMES)
def test_a_side_gets_the_state_whoever_crashes_as_it_waits_for_it(victim: str) -> None:
    group = with_state()
    split(group, "ab", "cd")
    for _ in range(2):
        say(group, "cd")
    group.heal()
    group.run_until(lambda: group.in_one_view(*NAMES), 20)
    say(group, NAMES)
    group.crash(victim)
    rest = NAMES.replace(victim, "")
    group.run_until(lambda: group.in_one_view(*rest), 20)
    group.run(3.0)
    say(group, rest)
    group.run(1.0)
    assert len(states(group, rest)) == 1
    assert all(group[name].left is None for name in rest)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_partitions_crashes_and_losses_all_have_one_state(seed: int) -> None:
    print(f"seed {seed}")
    names, done = "abcde", list[str]()
    group = with_state(names, seed)
    group.link = Link(loss=0.02, delay=(0.0005, 0.01))
    load(group, names, 0.05, done)
    alive = trouble(group, seed, names)
    there = [name for name in alive if group[name].left is None]
    said = {group[name].left for name in alive if name not in there}
    assert all(str(why).endswith(NO_STATE) for why in said)  # parted again before it came
    group.run_until(lambda: group.in_one_view(*there), 60.0)
    group.run(4.0)
    done.append("done")
    group.run(2.0)
    assert len(states(group, "".join(there))) == 1


def test_who_cannot_be_given_the_state_leaves_and_says_why() -> None:
    group = with_state()
    split(group, "a", "bcd")
    for name in "bcd":
        group[name].app.garbage = True
    group.heal()
    group.run_until(lambda: group["a"].left is not None, 20)
    assert group["a"].left == f"a.0 {NO_STATE}"


@pytest.mark.parametrize("seed", [8, 32, 33])
def test_who_is_owed_the_state_gives_none(seed: int) -> None:
    print(f"seed {seed}")
    group = with_state(seed=seed)
    split(group, "ab", "cd")
    group.heal()
    group.run_until(lambda: group.in_one_view(*NAMES), 20)
    group.link = Link(loss=0.3, delay=(0.0005, 0.03))
    say(group, NAMES)
    for name in "ab":  # that have the state
        group.crash(name)

    group.run_until(lambda: None not in (group["c"].left, group["d"].left), 20)

    requester = group["c"].stack._group.state.core
    assert requester.provider == group["d"].address  # that was asked, too
    assert [group[name].left for name in "cd"] == [f"{name}.0 {NO_STATE}" for name in "cd"]


@pytest.mark.parametrize("where", ["answered", "installing", "installed"])
def test_a_state_that_is_wanted_during_a_merge_arrives(where: str) -> None:
    group = with_state()
    split(group, "a", "bcd")
    group.link = Link(delay=(0.001, 0.003))
    group.heal()
    leader = group["b"].views[-1].members[0].node
    while stage(group, leader) != where:
        group.run(0.0005)
    wants = next(name for name in "bcd" if name != leader)
    requester = group[wants].stack._group.state.core
    attempt = requester.attempt

    group.want_state(wants)
    group.run_until(lambda: group.in_one_view(*NAMES), 20)
    group.run(2.0)

    assert (requester.phase, requester.attempt) == ("set", attempt + 1)
    one(group)


def test_groups_that_do_not_merge_do_as_before() -> None:
    group = Simulator(1)
    group.start(*NAMES, founders=True)
    group.run(0.3)
    split(group, "abc", "d")
    group.heal()
    group.run_until(lambda: group["d"].left is not None, 20)
    assert group.in_one_view(*"abc")


def test_groups_with_different_policies_do_not_merge_and_say_so() -> None:
    group = Simulator(1, config=MERGING)
    group.partition("ab", "c")
    group.start("a", "b", founders=True)
    group._config = StackConfig()
    group.start("c")
    group.run_until(lambda: group.in_one_view("c"))
    group.heal()
    group.run_until(lambda: group["c"].left is not None, 60.0)  # as it would among its like

    assert group.in_one_view("a", "b")
    said = {report.detail for report in group["c"].dropped}
    assert any("has on_merge='callback', this group has 'leave'; give all" in one for one in said)


def test_a_process_with_another_policy_is_not_admitted() -> None:
    group = founded("ab")
    group._config = StackConfig()
    group.start("c")
    group.run(3.0)
    assert "on_merge=leave" in str(group["c"].left)
    assert "on_merge=callback" in str(group["c"].left)


def test_policies_that_cannot_work_are_refused() -> None:
    with pytest.raises(
        ConfigError, match="on_merge is 'maybe'; choose one of 'leave', 'callback', 'state'"
    ):
        StackConfig(on_merge="maybe")
    with pytest.raises(ConfigError, match="open_latch_after"):
        StackConfig(on_merge="callback", open_latch_after=1.0)


def test_a_merged_view_is_a_view() -> None:
    a, b = Address("a", 0), Address("b", 0)
    sides = (View(ViewId(2, a), (a,)), View(ViewId(4, b), (b,)))
    view = MergeView.of(View(ViewId(5, a), (a, b), (b,)), sides, sides[1])
    assert view == View(ViewId(5, a), (a, b))
    assert view.subgroups == sides
    assert view.prevailing == sides[1]
    assert str(view) == "view 5 [a.0 b.0]"


@pytest.mark.parametrize("names", ["abc", "abcd", "abcde"])
def test_a_member_that_only_its_sides_leader_gave_up_goes_on_in_the_merged_view(names: str) -> None:
    """Another side's member leads that view, and hears the one that was given up (MRG-F21)."""
    group = founded(names)
    split(group, "a", names[1:])
    group.link = Link(delay=(0.001, 0.003))
    group.heal()
    doubted = group["c"].stack._group.gms.core
    while not doubted.held:
        group.run(0.0002)
    group.links["c", "b"] = Link(loss=1.0)  # before it has acknowledged the installation
    group.run(1.4)
    group.links.clear()
    group.run(5.0)

    one(group, names)


def test_who_led_a_side_goes_on_when_its_merged_view_is_never_acknowledged() -> None:
    """It waits for the VIEW_ACK of nobody whom another leader has excluded since (MRG-F20)."""
    group = founded("abcde")
    split(group, "abe", "cd")
    leader = group["c"].views[-1].members[0].node
    lost = "d" if leader == "c" else "c"
    group.run(0.5)
    group.link = Link(delay=(0.001, 0.003))
    group.heal()
    side = group[leader].stack._group.gms.core
    for phase in ("installing", "finishing"):
        while side.phase != phase:
            group.run(0.0002)
    split(group, "abe" + leader, lost)
    group.run(1.0)
    group.partition("abe", leader, lost)
    group.run(5.0)
    group.heal()

    one(group, "abcde", timeout=60.0)
