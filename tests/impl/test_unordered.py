"""Unordered messages: reliable, in each sender's order, the same at all that go on together."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from raincheck.impl.errors import MessageTooLarge, NotMember
from raincheck.impl.messages import Address, Frame, Payloads, Run, View
from raincheck.impl.sequencer.events import Data
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.flush_layer import FlushLayer

SMALL = StackConfig(max_bundle=2048, max_message=100_000)
BAD = Link(loss=0.1, duplicate=0.05, delay=(0.0005, 0.01))


def group_of(names: str, *, seed: int = 1, link: Link | None = None, **kept: bool) -> Simulator:
    group = Simulator(seed=seed, link=link, config=SMALL, **kept)
    group.start(*names, founders=True)
    return group


def had(node: Node, sender: str) -> list[bytes]:
    """What a node has had of a sender without order."""
    return [payload for who, _, payload in node.unordered if who.node == sender]


def shared(nodes: Iterable[Node]) -> list[tuple[View, list[Node]]]:
    """The views from which several nodes went on together, and those nodes."""
    stays: dict[tuple[View, View], list[Node]] = {}
    for node in nodes:
        for view, following in zip(node.views, node.views[1:], strict=False):
            stays.setdefault((view, following), []).append(node)
    return [(view, here) for (view, _), here in stays.items() if len(here) > 1]


def in_view(node: Node, counter: int) -> dict[Address, list[bytes]]:
    found: dict[Address, list[bytes]] = {}
    for sender, view, payload in node.unordered:
        if view == counter:
            found.setdefault(sender, []).append(payload)
    return found


# ------------------------------------------------------------------ what holds


@pytest.mark.parametrize("seed", range(1, 13))
def test_those_that_go_on_together_have_the_same_ones_and_each_senders_in_order(seed: int) -> None:
    group, draw = group_of("abcd", seed=seed, link=BAD), Random(seed)
    sent: dict[str, list[bytes]] = {}
    ordered: list[bytes] = []
    group.at(draw.uniform(0.1, 0.5), lambda: group.crash(draw.choice("ad")))
    group.at(draw.uniform(0.2, 0.8), lambda: group.start("e"))
    group.at(draw.uniform(0.6, 1.0), lambda: group.leave("c"))
    for number in range(200):
        name = draw.choice([node.name for node in group.up])
        payload = b"%d" % number
        if draw.random() < 0.3:
            ordered.append(payload)
            group.send(name, [payload])
        elif not group[name].stack._group.application.leaving:
            assert group.send_unordered(name, payload) == 1
            sent.setdefault(name, []).append(payload)
        group.run(draw.uniform(0, 0.01))
    group.run(10)

    survivors = [node for node in group.up if node.name != "e"]
    assert len(shared(survivors)) >= 2
    for view, here in shared(group.up):
        first, *others = (in_view(node, view.id.counter) for node in here)
        assert all(other == first for other in others)
    for node in group.up:
        for sender, expected in sent.items():
            numbers = [int(payload) for payload in had(node, sender)]
            assert numbers == sorted(set(numbers)), "each once, in its sender's order"
            if node.name != "e" and group[sender].up:
                assert had(node, sender) == expected
    assert len({tuple(node.delivered) for node in survivors}) == 1


def test_one_takes_one_trip_and_an_ordered_one_two() -> None:
    group = group_of("abc", link=Link(delay=(0.01, 0.01)))

    group.send_unordered("b", b"none")
    group.send("b", [b"total"])
    group.run(0.015)

    assert had(group["c"], "b") == had(group["a"], "b") == [b"none"]
    assert group["c"].messages == 0
    group.run(0.01)
    assert group["c"].messages == 1


def test_nothing_passes_the_latch_and_what_waits_is_sent_in_the_next_view() -> None:
    group = Simulator(config=SMALL)
    group.blocking = True
    group.start("a", "b", founders=True)
    group["a"].app.block_takes = lambda: 0.5
    group.start("c")
    group.run_until(lambda: group["a"].app.blocked and group["b"].app.blocked)
    group.run(0.05)  # b's block() has returned
    group.send_unordered("b", b"later")
    group.send_unordered("a", b"before it")
    group.run(0.1)
    assert (had(group["a"], "b"), had(group["b"], "a")) == ([], [b"before it"])
    assert group["b"].stack.pending == 1

    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    group.run(0.5)

    assert {view for _, view, _ in group["c"].unordered} == {2}
    assert [payload for _, _, payload in group["c"].unordered] == [b"later"]
    assert had(group["a"], "b") == [b"later"]
    assert group["b"].stack.pending == 0


@pytest.mark.parametrize("waits", [True, False])
def test_a_joiner_does_not_disturb_the_transfer_of_the_state_to_another(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`waits` is false: it multicasts as soon as it has joined, which has to be noticed."""
    group = Simulator(config=SMALL, with_state=True)
    group.start("a", "b", founders=True)
    withheld = {"c", "e"}  # who is not given the state yet
    for node in group.up:
        give, given = node.app.give, node.app._given

        def some(stack, now, give=give, given=given):  # type: ignore[no-untyped-def]
            kept = {who: given.pop(who) for who in list(given) if who.node in withheld}
            gave = give(stack, now)
            given.update(kept)
            return gave

        monkeypatch.setattr(node.app, "give", some)
    if not waits:
        monkeypatch.setattr(FlushLayer, "may_multicast_unordered", FlushLayer.may_multicast)
    group.send_unordered("b", b"in the state")
    group.start("c")
    group.run(0.3)
    group.start("d", "e")  # both wait for the change that c has begun
    group.run(0.3)
    withheld.remove("c")
    group.run_until(lambda: bool(group["d"].app.transferred))
    assert group["d"].views[0] == group["e"].views[0]

    group.send_unordered("d", b"soon")
    group.run(0.3)
    early = had(group["a"], "d")
    withheld.clear()
    group.run_until(lambda: group["e"].app.transferred is not None)
    group.run(0.5)

    assert early == ([] if waits else [b"soon"])
    assert (group["e"].stack.counters["state_chunk_of_another_cut"] == 0) == waits
    assert group["e"].app.transferred is waits
    if waits:
        assert [payload for _, _, payload in group["e"].unordered] == [b"soon"]
        assert len({node.app.unordered for node in group.up}) == 1
        assert group["d"].stack.missing(group.now) == {}


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_state_of_a_joiner_and_the_messages_behind_it_are_all_of_them(seed: int) -> None:
    group, draw = group_of("abc", seed=seed, link=BAD, with_state=True), Random(seed)
    for name in ("d", "e"):
        group.at(draw.uniform(0.1, 0.6), lambda name=name: group.start(name))
    for number in range(150):
        node = draw.choice(group.up)
        group.send_unordered(node.name, b"%d" % number)
        group.send(draw.choice(group.up).name, [b"ordered"])
        group.run(draw.uniform(0, 0.01))
    group.run(5)

    assert {node.app.transferred for node in group.up if node.name in "de"} == {True}
    assert len({(node.app.unordered, node.app.applied) for node in group.up}) == 1
    assert sum(len(node.unordered) for node in group.up if node.name in "abc") == 3 * 150


def test_a_joiner_that_is_left_alone_need_not_wait_to_be_told() -> None:
    group = Simulator(config=SMALL, with_state=True)
    group.start("a", founders=True)
    group.start("b")
    group.run_until(lambda: bool(group["b"].views))
    group.crash("a")
    group.send_unordered("b", b"alone")
    assert group["b"].stack.missing(group.now)[group["a"].address]

    group.run(5)

    assert had(group["b"], "b") == [b"alone"]


def test_a_member_leaves_when_all_have_its_messages() -> None:
    group = group_of("abc", link=Link(loss=0.3))
    group.send_unordered("b", *(b"%d" % number for number in range(300)))

    group.leave("b")
    group.run(10)

    assert group["b"].left == ""
    assert len(had(group["a"], "b")) == len(had(group["c"], "b")) == 300


def test_a_reader_that_takes_nothing_holds_up_the_senders_within_bounds() -> None:
    group = group_of("ab")
    group["b"].stack.hold(group.now)
    accepted = 0
    for _ in range(300):
        accepted += group.send_unordered("a", *[bytes(1000)] * 20)
        group.run(0.01)
    config = SMALL
    limit = config.send_buffer + (2 * config.multicast_window + 2) * config.max_bundle
    assert accepted * 1000 < limit
    assert group["a"].stack.room_unordered == 0
    assert group["b"].unordered == []

    group.release("b")
    group.run(5)

    assert len(had(group["b"], "a")) == accepted


def test_the_coordinator_and_the_others_all_get_on_under_full_load() -> None:
    group = group_of("abc")
    for name in "abc":
        group.send(name, [bytes(1500)] * 3000)
    for _ in range(300):
        for name in "abc":
            group.send_unordered(name, *[bytes(1500)] * 5)
        group.run(0.002)

    for name in "abc":
        assert len(had(group["c"], name)) > 300
        ordered = sum(run.size for run, _ in group["c"].delivered if run.sender.node == name)
        assert ordered > 300
    group.run(20)
    assert group["b"].messages == 9000


# ------------------------------------------------------------------ mistakes and lies


def test_what_does_not_fit_into_one_bundle_is_refused_at_the_call() -> None:
    group = group_of("ab")
    stack = group["a"].stack
    whole = bytes(stack.max_whole)
    assert group.send_unordered("a", whole) == 1
    with pytest.raises(MessageTooLarge, match="goes in one bundle; send it with order='total'"):
        stack.send_unordered([b"", whole + b"x"])
    group.run(1)
    assert had(group["b"], "a") == [whole]

    group.leave("a")
    assert stack.room_unordered == 0
    with pytest.raises(NotMember):
        stack.send_unordered([b""])


@pytest.mark.parametrize(
    ("sender", "payloads", "said"),
    [
        (Address("a", 0), Payloads.pack([b"x"]), "unordered messages of a.0"),
        (Address("z", 0), Payloads.pack([b"x"]), "unordered messages of z.0"),
        (Address("b", 0), Payloads.pack([Frame(b"\2")], framed=True), "frames among unordered"),
    ],
)
def test_a_member_that_lies_is_counted_and_named(
    sender: Address, payloads: Payloads, said: str
) -> None:
    group = group_of("abc")
    nakack = group["b"].stack._group.layers[2]
    nakack.multicast(Data(Run(sender, 0, payloads.count), 1, payloads, 0, 0), group.now)
    group["b"].stack.flush(group.now)
    group._settle(group["b"])
    group.run(0.5)

    for name in "ac":
        assert group[name].stack.counters["refused"] == 1
        assert f"b.0 sent {said}" in group[name].dropped[0].detail
        assert group[name].unordered == []
    group.send_unordered("b", b"goes on")
    group.run(0.5)
    assert had(group["c"], "b") == [b"goes on"]
