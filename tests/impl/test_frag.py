"""FRAG: large messages in fragments, whole in one view or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from raincheck.impl.errors import NotEnabled, WireError
from raincheck.impl.frag.core import MOST, Frag, Repairs
from raincheck.impl.frag.events import (
    Deliver,
    Dropped,
    Forget,
    Fragment,
    GivenUp,
    GiveUp,
    InstallView,
    Keep,
    ReceiveFragment,
    ReceiveGiveUp,
    Send,
    SendFragment,
)
from raincheck.impl.messages import Address, Batch, Frame, Payloads, View
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.frames import FragmentFrame, GivenUpFrame, decode, encode
from raincheck.impl.stack.repairs import LayerRepairs

A, B, C = (Address(name, 0) for name in "abc")
SMALL = StackConfig(max_bundle=2048, max_message=200_000)


def view(counter: int, *members: Address, joiners: tuple[Address, ...] = ()) -> InstallView:
    return InstallView(counter, members, joiners)


def member(me: Address = B, **settings: int) -> Frag:
    core = Frag(me, **settings)
    core.handle(view(1, A, B))
    return core


# ------------------------------------------------------------------ the core


def test_a_message_is_delivered_with_its_last_fragment() -> None:
    core = member()

    assert core.handle(ReceiveFragment(A, 1, 1, 0, 2)) == [Keep(A, 1)]
    assert core.handle(ReceiveFragment(A, 1, 1, 1, 2)) == [Keep(A, 1), Deliver(A, 1)]
    assert core.kept == {}


def test_a_sender_keeps_its_message_until_it_has_delivered_it() -> None:
    core = member(A)
    core.handle(Send(7, 1))

    assert core.handle(SendFragment(7)) == [Fragment(7, 1, 0, 1)]
    assert 7 in core.sending
    core.handle(ReceiveFragment(A, 7, 1, 0, 1))
    assert core.sending == {}


def test_a_view_with_joiners_begins_anew_and_another_one_goes_on() -> None:
    core = member(A)
    core.handle(Send(1, 3))
    for part in range(2):
        core.handle(SendFragment(1))
        core.handle(ReceiveFragment(A, 1, 1, part, 3))

    assert core.handle(view(2, A)) == []
    assert core.handle(SendFragment(1)) == [Fragment(1, 1, 2, 3)]

    assert core.handle(view(3, A, C, joiners=(C,))) == [Forget(A, 1)]
    assert core.handle(ReceiveFragment(A, 1, 1, 2, 3)) == [Dropped(A, "fragment_of_before")]
    assert core.handle(SendFragment(1)) == [Fragment(1, 3, 0, 3)]


def test_what_departed_members_have_begun_is_forgotten() -> None:
    core = member()
    core.handle(ReceiveFragment(A, 1, 1, 0, 2))

    assert core.handle(view(2, B)) == [Forget(A, 1)]
    assert core.kept == {}

    undone = Frag(B, repairs=Repairs(forgets_departed=False))
    for event in (view(1, A, B), ReceiveFragment(A, 1, 1, 0, 2), view(2, B)):
        undone.handle(event)
    assert A in undone.kept


def test_a_message_given_up_is_forgotten() -> None:
    sender, receiver = member(A), member(B)
    sender.handle(Send(1, 2))
    sender.handle(SendFragment(1))
    receiver.handle(ReceiveFragment(A, 1, 1, 0, 2))

    assert sender.handle(GiveUp(1)) == [GivenUp(1)]
    assert receiver.handle(ReceiveGiveUp(A, 1)) == [Forget(A, 1)]
    assert receiver.handle(ReceiveGiveUp(A, 1)) == []
    assert not sender.sending
    assert not receiver.kept


@pytest.mark.parametrize(
    "event",
    [
        ReceiveFragment(A, 1, 1, 1, 3),  # the first one is missing
        ReceiveFragment(A, 2, 1, 0, 3),  # twice
        ReceiveFragment(A, 2, 1, 2, 3),  # one is left out
        ReceiveFragment(A, 2, 1, 1, 4),  # another number of them
        ReceiveFragment(A, 3, 1, 3, 3),  # after the last one
        ReceiveFragment(A, 3, 1, 0, 0),  # none at all
    ],
)
def test_a_fragment_that_lies_is_dropped_and_changes_nothing(event: ReceiveFragment) -> None:
    core = member()
    core.handle(ReceiveFragment(A, 2, 1, 0, 3))
    before = {sender: dict(kept) for sender, kept in core.kept.items()}

    assert core.handle(event) == [Dropped(A, "fragment_out_of_place")]
    assert core.kept == before


def test_of_one_sender_only_so_much_is_kept() -> None:
    many, large = member(), member(window=10)
    for number in range(MOST):
        many.handle(ReceiveFragment(A, number, 1, 0, 2))
    large.handle(ReceiveFragment(A, 1, 1, 0, 6))

    too_many = [Dropped(A, "fragment_of_too_many")]
    assert many.handle(ReceiveFragment(A, MOST, 1, 0, 2)) == too_many
    assert large.handle(ReceiveFragment(A, 2, 1, 0, 5)) == too_many
    assert large.handle(ReceiveFragment(A, 2, 1, 0, 4)) == [Keep(A, 2)]


def test_guards_that_are_false_change_nothing() -> None:
    core = member(A, window=10)
    core.handle(Send(1, 6))

    for event in (
        Send(1, 1),
        Send(2, 5),
        SendFragment(2),
        GiveUp(2),
        ReceiveFragment(C, 1, 1, 0, 1),
        view(1, A, B),
    ):
        with pytest.raises(NotEnabled):
            core.handle(event)
    assert list(core.sending) == [1]


# ------------------------------------------------------------------ frames


def test_frames_are_read_as_they_were_written() -> None:
    for frame in (FragmentFrame(True, 1 << 40, 3, 2, 5, b"abc"), GivenUpFrame(9)):
        assert decode(encode(frame)) == frame


@pytest.mark.parametrize("content", [b"", b"\x00abc", b"\x01", b"\x01" + bytes(9), b"\xff"])
def test_a_frame_that_no_member_sends_is_refused(content: bytes) -> None:
    with pytest.raises(WireError, match="frame of"):
        decode(content)


def test_frames_stand_among_other_contents_on_the_wire() -> None:
    contents = [b"one", Frame(b"two"), b"", Frame(b"four")]
    packed = Payloads.pack(contents, framed=True)

    read = Payloads(packed.data, packed.start, packed.stop, packed.count)

    assert read.framed
    assert read.unpack() == contents
    assert [type(each) for each in read.unpack()] == [bytes, Frame, bytes, Frame]
    assert read.part(1, 2).unpack() == contents[1:3]
    assert read.part(1, 2).framed
    assert not Payloads.pack(contents[:1]).framed


# ------------------------------------------------------------------ a group


class Group:
    """A simulated group whose members send large messages and small ones while others fall."""

    def __init__(self, seed: int, repairs: Repairs | None = None, joins: int = 3) -> None:
        self.lots = Random(seed)
        self.contents: dict[str, bytes] = {}
        self.got: dict[Address, list[tuple[int, str]]] = {}
        link = Link(loss=0.02, duplicate=0.02, delay=(0.0005, 0.004))
        layers = LayerRepairs(frag=repairs or Repairs())
        self.sim = Simulator(
            seed=seed, link=link, config=SMALL, layers=layers, on_batch=self._batch
        )
        self.sim.start("a", "b", "c", founders=True)
        self.sent: list[tuple[Address, str]] = []
        for _ in range(12):
            self.sim.at(self.lots.uniform(0.1, 4), lambda: self.send(self.lots.choice("abcd")))
        self.sim.at(1.0, lambda: self.sim.start("d"))
        for _ in range(joins):
            self.sim.at(self.lots.uniform(0.2, 3.5), self.fall)
        self.sim.run(20.0)

    def send(self, name: str) -> None:
        node = self.sim.nodes.get(name)
        if node is None or not node.up or node.left is not None:
            return
        key = f"{len(self.contents)}"
        size = self.lots.choice((10, 5_000, 60_000, 150_000))
        self.contents[key] = key.encode().ljust(8) + self.lots.randbytes(size)
        self.sent.append((node.address, key))
        node.stack.send_large(self.contents[key])
        node.stack.flush(self.sim.now)
        self.sim._settle(node)

    def fall(self) -> None:
        up = [node.name for node in self.sim.up]
        if len(up) < 3:
            return
        name = self.lots.choice(up)
        self.sim.crash(name)
        self.sim.after(self.lots.uniform(0.1, 0.5), lambda: self.sim.restart(name))

    def _batch(self, node: Node, batch: Batch) -> None:
        for message in batch:
            key = message.payload[:8].decode().strip()
            assert message.payload == self.contents[key]
            self.got.setdefault(node.address, []).append((message.view, key))

    # ------------------------------------------------------------------ what must hold

    def lives(self) -> Iterator[tuple[Address, list[View], bool]]:
        for node in self.sim.nodes.values():
            for address, _, views in node.history:
                yield address, views, False
            yield node.address, node.views, node.up and node.left is None

    def findings(self) -> list[str]:
        """Return what is wrong with the deliveries."""
        found = []
        whole: dict[tuple[int, int], dict[Address, list[str]]] = {}
        for address, views, up in self.lives():
            counters = [each.id.counter for each in views]
            got = self.got.get(address, [])
            keys = [key for _, key in got]
            if len(set(keys)) < len(keys):
                found.append(f"{address} delivered a message twice")
            ends = [*pairwise(counters)]
            if up:
                ends.append((counters[-1], 0))
                own = {key for who, key in self.sent if who == address}
                if lost := own - set(keys):
                    found.append(f"{address} has not delivered its own {lost}")
            for number, following in ends:
                inside = [key for at, key in got if at == number]
                whole.setdefault((number, following), {})[address] = inside
        for (number, _), by_member in whole.items():
            if len({tuple(keys) for keys in by_member.values()}) > 1:
                found.append(f"view {number}: {by_member}")
        return found


@pytest.mark.parametrize("seed", range(8))
def test_members_that_share_a_view_and_the_next_deliver_the_same_whole_messages(seed: int) -> None:
    group = Group(seed)

    assert group.findings() == []
    assert sum(map(len, group.got.values())) > 10


@pytest.mark.parametrize(
    ("undone", "seeds"),
    [("begin_anew", 8), ("checks_epoch", 30), ("until_delivered", 8)],
)
def test_each_rule_is_needed(undone: str, seeds: int) -> None:
    repairs = Repairs(**{undone: False})

    assert any(Group(seed, repairs).findings() for seed in range(seeds))


def test_a_sender_is_given_its_own_message_and_not_a_copy_of_it() -> None:
    got: dict[str, bytes] = {}

    def take(node: Node, batch: Batch) -> None:
        (got[node.name],) = batch.payloads

    group = Simulator(on_batch=take)
    group.start("a", "b", founders=True)
    large = bytes(500_000)
    group["b"].stack.send_large(large)
    group["b"].stack.flush(group.now)
    group._settle(group["b"])
    group.run(1)

    assert got["b"] is large
    assert got["a"] == large
