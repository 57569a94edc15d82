"""With a key, no datagram of any kind that lacks it or was heard before changes anything.

It comes from a stranger's endpoint and from a member's, which without a key would be believed. The
attacks are those of docs/stack.md and docs/ring.md.
"""

from random import Random
from typing import Any, get_args

import pytest

from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.conformance.field.stack.hostile import Drawer
from raincheck.impl.messages import Endpoint, Payloads
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.sealing.sealing import SEED, Sealing
from raincheck.impl.simulation.group import Flight, Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import Outgoing
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    LANES,
    Body,
    ForwardBody,
    Header,
    Sized,
    UnicastHeader,
)

OLD, NEW = read_keys([b"o" * 32, b"n" * 32], {})
EVIL: Endpoint = ("6.6.6.6", 666)
PLAIN = Codec("raincheck", 60_000)
UNSUMMED = Codec("raincheck", 60_000, sums=False)


def kinds_of(union: object) -> list[type]:
    """The kinds of a union, those of the unions in it included."""
    return [kind for each in get_args(union) for kind in (kinds_of(each) or [each])]


HEADERS, BODIES = kinds_of(Header), kinds_of(Body)
HEADERS.remove(UnicastHeader)  # it comes with each of the bodies
RARE = {
    "GossipRequest", "GroupQuestion", "JoinRefused", "MergeMessage", "Nak", "NotJoinedBody",
    "Reconcile", "ReconcileOk", "StateAsk", "StateCancel", "StateCredit", "StateRefuse",
}  # fmt: skip
"""What a group does not need that loses nothing, gives small states, and has met its hosts."""
OF_SAFE = {"ReceivedUpTo", "SafeUpTo"}
"""What only a group with safe delivery sends."""
OF_TOTAL = {"RequestBody", "CumSeqAckBody"}
"""What only a group that TOTAL orders sends."""
OF_VOTES, OF_GOSSIP = {"StableDigest", "Stability"}, {"GossipCopy"}
"""What only groups with that kind of stability send."""


class Sorted(Simulator):
    """A simulated group whose datagrams somebody records with their kinds."""

    def __init__(self, seed: int = 1, **protocols: Any) -> None:
        self.recorded: dict[type, list[Flight]] = {}
        self._kind: type = object
        config = StackConfig(**protocols)
        super().__init__(seed, keys=(OLD,), with_state=True, config=config)

    def _transmit(self, node: Node, out: Outgoing) -> None:
        header = UNSUMMED.decode(out.data).header
        self._kind = type(header.body if isinstance(header, UnicastHeader) else header)
        super()._transmit(node, out)

    def _fly(self, flight: Flight) -> None:
        self.recorded.setdefault(self._kind, []).append(flight)
        super()._fly(flight)


def changed(seed: int = 1, **protocols: Any) -> Sorted:
    """A group in which each kind of change has been, and that goes on as a, b and d."""
    group = Sorted(seed, **protocols)
    group.start("a", "b", "c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"), 20.0)
    for name in "abc":
        group.send(name, [b"%d" % i for i in range(20)])
    group.send_to("a", "b", b"alone")
    group.run(0.3)
    group.start("d")
    group.run_until(lambda: group.in_one_view(*"abcd"), 20.0)
    group.crash("c")
    group.run_until(lambda: group.in_one_view("a", "b", "d"), 20.0)
    group.restart("c")
    group.run_until(lambda: group.in_one_view(*"abcd"), 20.0)
    group.leave("c")
    group.run_until(lambda: group.in_one_view("a", "b", "d"), 20.0)
    group.run(2.0)
    return group


def state(group: Simulator) -> list[object]:
    """What the applications have seen."""
    return [(n.name, n.delivered, n.views, n.suspected, n.left) for n in group.nodes.values()]


def drops(group: Simulator) -> int:
    """How many datagrams were dropped because they are no news of a life that is proved."""
    reasons = ("replayed", "moved", "unproved")
    return sum(group[name].stack.counters[reason] for name in "abd" for reason in reasons)


def goes_on(group: Simulator) -> None:
    """Let it deliver; of two that send at once, the order is left to chance."""
    group.send("b", [b"after"])
    group.run(3.0)
    check(logs(group))
    check_quiet(group)


def drawn(kind: type, group: Simulator) -> bytes:
    """A datagram of that kind, as a member would send it to b."""
    lots = Random(kind.__name__)
    lives = [group[name].address for name in "abd"]
    drawer = Drawer(PLAIN, lives, ("10.0.0.1",))
    content = drawer.value(kind, lots)
    if kind in BODIES:
        lane = LANES[0] if kind is ForwardBody else LANES[1]
        content = UnicastHeader(group["a"].address, group["b"].address, lane, 1 << 40, 1, content)
    payloads = None
    if issubclass(kind, Sized):
        sized = content.body if isinstance(content, UnicastHeader) else content
        payloads = Payloads.pack([b"evil"] * max(1, min(sized.size, 50)))
    return PLAIN.encode(content, payloads)


@pytest.mark.parametrize("source", ["a stranger", "a member"])
@pytest.mark.parametrize("sealed", [False, True])
def test_no_kind_of_datagram_is_taken_from_one_who_has_not_the_key(
    sealed: bool, source: str
) -> None:
    undisturbed, group = changed(), changed()
    place = group["a"].endpoint if source == "a member" else EVIL
    forger = Sealing((NEW,), "group raincheck", place, bytes(SEED))
    reason = "wrong_key" if sealed else "without_key"
    before = group["b"].stack.counters[reason]

    for kind in (*HEADERS, *BODIES):
        datagram = drawn(kind, group)
        group.inject("b", forger.seal(datagram) if sealed else datagram, place)

    assert group["b"].stack.counters[reason] == before + len(HEADERS) + len(BODIES)
    for each in (undisturbed, group):
        goes_on(each)
    assert state(group) == state(undisturbed)


@pytest.mark.parametrize("place", ["a stranger", "its sender"])
def test_no_kind_of_datagram_is_taken_that_a_life_has_sealed_which_is_over(place: str) -> None:
    undisturbed, group = changed(), changed()
    source = group["a"].endpoint if place == "its sender" else EVIL
    over = Sealing((OLD,), "group raincheck", group["a"].endpoint, bytes(SEED))
    counters = group["b"].stack.counters
    before = counters["unproved"] + counters["replayed"]

    for kind in (*HEADERS, *BODIES):
        group.inject("b", over.seal(drawn(kind, group)), source)

    dropped = counters["unproved"] + counters["replayed"] - before
    assert dropped == len(HEADERS) + len(BODIES)
    for each in (undisturbed, group):
        goes_on(each)
    assert state(group) == state(undisturbed)


@pytest.mark.parametrize(
    ("place", "protocols", "unsent"),
    [
        ("a stranger", {}, OF_SAFE | OF_TOTAL | OF_GOSSIP),
        ("its sender", {}, OF_SAFE | OF_TOTAL | OF_GOSSIP),
        ("a stranger", {"delivery": "safe"}, OF_TOTAL | OF_GOSSIP),
        ("its sender", {"stability": "gossip"}, OF_SAFE | OF_TOTAL | OF_VOTES),
    ],
)
def test_no_kind_of_datagram_of_this_life_is_taken_again(
    place: str, protocols: dict[str, Any], unsent: set[str]
) -> None:
    undisturbed, group = changed(**protocols), changed(**protocols)
    recorded = {kind: list(flights) for kind, flights in group.recorded.items()}
    dropped, sent = drops(group), 0

    for flights in recorded.values():
        for source, to, data in flights:
            if group[to].up and to != "c":
                group.inject(to, data, EVIL if place == "a stranger" else group[source].endpoint)
                sent += 1
    assert drops(group) - dropped == sent
    for each in (undisturbed, group):
        goes_on(each)

    assert state(group) == state(undisturbed)
    unseen = {kind.__name__ for kind in (*HEADERS, *BODIES) if kind not in recorded}
    assert unseen == RARE | unsent
