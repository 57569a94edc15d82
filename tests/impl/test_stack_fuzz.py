"""Whatever arrives at a member's stack, no exception leaves it, and strangers change nothing.

The datagrams are captured ones, as they were or changed and sealed anew, and well-formed ones of
every kind, whose fields are drawn from what a member would believe or from the ends of their
types. They come to processes of every status. What a member's own endpoint sends is believed
without a key: it may make others wait, or have them excluded, but ends nobody with a false guard.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.conformance.field.stack.hostile import Drawer, changed
from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import Outgoing
from raincheck.impl.wire.datagrams import Codec

CODEC = Codec("raincheck", 60_000)
NAMES = "abc"
GOSSIP = {"stability": "gossip", "repair": "gossip"}
PROTOCOLS: list[dict[str, Any]] = [
    *({}, {"delivery": "safe"}, {"order": "total"}),
    *(GOSSIP, {"stability": "gossip"}),
]
"""The choices of a group that have datagrams of their own."""
EVIL: Endpoint = ("6.6.6.6", 666)
LIVES = [Address(name, life) for name in "abcdz" for life in (0, 1)]
DRAWER = Drawer(CODEC, LIVES, ("10.0.0.1", "10.0.0.2", "x"))


class Hostile(NamedTuple):
    """A datagram, and to whom it goes."""

    to: str
    data: bytes


@cache
def captured() -> list[tuple[str, str, bytes]]:
    """The datagrams, with source and target, of runs that have all changes of the view."""
    seen: list[tuple[str, str, bytes]] = []

    class Heard(Simulator):
        def _transmit(self, node: Node, out: Outgoing) -> None:
            seen.extend((node.name, self._by_endpoint[to], out.data) for to in out.to)
            super()._transmit(node, out)

    for config in (StackConfig(), StackConfig(**GOSSIP)):
        group = Heard(1, with_state=True, config=config, link=Link(loss=0.05))
        group.start(*NAMES, founders=True)
        group.send("b", [b"x"] * 3)
        group.run(0.6)
        group.start("d")
        group.run(1.0)
        group.crash("d")
        group.run(2.0)
        group.leave("c")
        group.run(1.0)
    return seen


def made(lots: Random) -> Hostile:
    """Draw a datagram that a member can read."""
    how, to = lots.random(), lots.choice("abcd")
    if how < 0.1:
        return Hostile(to, lots.choice(captured())[2])
    if how < 0.3:
        return Hostile(to, changed(lots.choice(captured())[2], lots))
    return Hostile(to, DRAWER.well_formed(Address(to, 0), lots))


def hostile(lots: Random, times: int) -> Iterator[Hostile]:
    """Draw so many datagrams."""
    for _ in range(times):
        yield made(lots)


# ------------------------------------------------------------------ a group that is attacked


def group_of_every_status(**protocols: Any) -> Simulator:
    """Three members, a fourth that is joining, and short times."""
    config = StackConfig(
        join_timeout=0.5, flush_timeout=1.0, suspect_after=0.5, retain_window=16, **protocols
    )
    group = Simulator(1, config=config)
    group.start(*NAMES, founders=True)
    group.send("b", [b"x"] * 3)
    group.run(0.2)
    group.start("d")
    return group


def size_of(group: Simulator, name: str) -> list[int]:
    """How much a process keeps."""
    stack = group[name].stack
    inner, ground = stack._group, stack._ground
    return [
        len(ground.outbox.endpoints),
        len(inner.gms.core.joining),
        inner.unicast.connections(),
        len(inner.joining.hosts),
        len(inner.detection._past),
        stack.buffered(),
        len(ground.strangers),
    ]


def attack_by_strangers(lots: Random, times: int, **protocols: Any) -> None:
    """A group in which one joins and one leaves hears strangers all the time."""
    group = group_of_every_status(**protocols)
    for number, (to, data) in enumerate(hostile(lots, times)):
        group.inject(to, data, (EVIL[0], EVIL[1] + number % 5))
        if number % 8 == 0:
            group.run(0.0005)
    group.run_until(lambda: group.in_one_view(*NAMES, "d"))
    group.leave("c")
    for number, (to, data) in enumerate(hostile(lots, times)):
        group.inject(to, data, (EVIL[0], EVIL[1] + number % 5))
        if number % 8 == 0:
            group.run(0.01)
    group.run_until(lambda: group.in_one_view("a", "b", "d"))
    group.send("a", [b"after"])
    group.run(2.0)

    assert [node.left for node in group.nodes.values()] == [None, None, "", None]
    assert [len(group[name].views) for name in "abcd"] == [3, 3, 2, 2]
    assert [group[name].messages for name in "abcd"] == [4, 4, 3, 1]
    check(logs(group), uniform="delivery" in protocols)
    check_quiet(group)
    assert all(size < 100 for name in "abd" for size in size_of(group, name))


def attack_by_members(lots: Random, times: int, **protocols: Any) -> None:
    """What comes from members' endpoints is believed, but nobody ends with a false guard."""
    group = group_of_every_status(**protocols)
    for number, (to, data) in enumerate(hostile(lots, times)):
        try:
            source = CODEC.decode(data).header.source.node
        except WireError:
            source = lots.choice("abcd")
        source = source if source in group.nodes else lots.choice("abcd")
        if source != to:
            group.inject(to, data, group[source].endpoint)
        if number % 8 == 0:
            group.run(lots.choice((0.0005, 0.02, 0.3)))
        assert all(size < 2000 for name in "abcd" for size in size_of(group, name))
    group.run(2.0)

    left = [node.left or "" for node in group.nodes.values()]
    assert [reason for reason in left if "is not enabled" in reason] == []


LOTS = st.randoms(use_true_random=False)
CHOICES = st.sampled_from(PROTOCOLS)


@settings(max_examples=10, deadline=None)
@given(LOTS, CHOICES)
def test_a_group_goes_on_whatever_strangers_send(lots: Random, protocols: dict[str, Any]) -> None:
    attack_by_strangers(lots, 40, **protocols)


@settings(max_examples=20, deadline=None)
@given(LOTS, CHOICES)
def test_no_datagram_from_a_members_endpoint_ends_anybody_by_a_false_guard(
    lots: Random, protocols: dict[str, Any]
) -> None:
    attack_by_members(lots, 60, **protocols)


@pytest.mark.slow
def test_a_hundred_thousand_datagrams_end_nobody() -> None:
    for seed in range(100):
        print("seed", seed)
        protocols = PROTOCOLS[seed % len(PROTOCOLS)]
        attack_by_strangers(Random(seed), 250, **protocols)
        attack_by_members(Random(seed), 500, **protocols)
