"""Whole groups under a key, in virtual time: replays, strangers, damage, and the key changed."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.impl.messages import Address, Digest, Endpoint, Payloads, View, ViewId
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.sealing.sealing import SEED, Sealing
from raincheck.impl.simulation.group import Flight, Link, Simulator
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    CONTROL,
    FORWARDS,
    Alive,
    DataHeader,
    Excluded,
    Fid,
    ForwardBody,
    Header,
    JoinHint,
    JoinReq,
    Leaving,
    StopFlush,
    UnicastHeader,
)

OLD, NEW = read_keys([b"o" * 32, b"n" * 32], {})


class Tapped(Simulator):
    """A simulated group whose datagrams somebody records, and may damage."""

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        self.recorded: list[Flight] = []
        self.damage: Callable[[bytes], bytes] = lambda data: data
        super().__init__(seed, **{"keys": (OLD,), **settings})

    def _fly(self, flight: Flight) -> None:
        self.recorded.append(flight)
        super()._fly(flight._replace(data=self.damage(flight.data)))

    def replay(self, recorded: list[Flight], places: dict[str, Endpoint]) -> None:
        """Every recorded datagram arrives at its receiver's place, as if from its sender's."""
        for flight in recorded:
            if flight.to in self.nodes and self[flight.to].up:
                self.inject(flight.to, flight.data, places[flight.source])


def started(*names: str, seed: int = 1, **settings: Any) -> Tapped:
    """A group of processes that have found each other and delivered something."""
    group = Tapped(seed, **settings)
    group.start(*names)
    group.run_until(lambda: group.in_one_view(*names), 20.0)
    for name in names:
        group.send(name, [b"%d" % i for i in range(20)])
    group.run(1.0)
    return group


def state(group: Simulator) -> list[object]:
    """What the applications have seen."""
    return [(n.name, n.delivered, n.views, n.suspected, n.left) for n in group.nodes.values()]


def test_a_group_under_a_key_forms_delivers_and_changes() -> None:
    group = started("a", "b", "c")

    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c"), 20.0)
    group.restart("a")
    group.run_until(lambda: group.in_one_view("a", "b", "c"), 20.0)
    group.send("a", [b"x"] * 5)
    group.run(1.0)

    assert group["b"].messages == group["c"].messages >= 45
    assert all(flight.data[:2] == b"KS" for flight in group.recorded)
    check(logs(group))
    check_quiet(group)


@pytest.mark.parametrize("seed", range(4))
def test_a_lossy_network_costs_a_group_under_a_key_nothing(seed: int) -> None:
    link = Link(loss=0.1, duplicate=0.1, delay=(0.001, 0.03))

    group = started("a", "b", "c", seed=seed, link=link)
    group.run(3.0)

    assert [group[name].messages for name in "abc"] == [60] * 3
    check(logs(group))


def test_the_whole_earlier_life_of_a_group_changes_nothing_in_a_restarted_one() -> None:
    before = started("a", "b", "c")
    before.leave("a")
    before.run(2.0)
    places = {node.name: node.endpoint for node in before.nodes.values()}
    undisturbed, disturbed = started("a", "b", "c", seed=2), started("a", "b", "c", seed=2)

    disturbed.replay(before.recorded, places)
    for group in (undisturbed, disturbed):
        group.run(1.0)
        group.send("b", [b"after"])
        group.run(3.0)

    assert len(before.recorded) > 150
    assert state(disturbed) == state(undisturbed)
    check(logs(disturbed))
    check_quiet(disturbed)


def test_the_earlier_life_of_a_group_is_no_group_to_a_joiner() -> None:
    before = started("a", "b", "c")
    places = {node.name: node.endpoint for node in before.nodes.values()}
    group = Tapped(2)
    group.start("a")
    group["a"].stack._group.joining.start(0.0)

    for _ in range(20):
        group.replay(before.recorded[:300], places)
        group.run(0.1)
    group.run(5.0)

    ((view,),) = (group["a"].views,)
    assert [str(member) for member in view.members] == ["a.0"]
    assert not group["a"].sealing.proved  # type: ignore[union-attr]


def test_what_a_running_group_has_sent_changes_nothing_when_it_is_heard_again() -> None:
    undisturbed, disturbed = started("a", "b", "c"), started("a", "b", "c")
    places = {node.name: node.endpoint for node in disturbed.nodes.values()}

    disturbed.replay(list(disturbed.recorded), places)
    for group in (undisturbed, disturbed):
        group.send("b", [b"after"])
        group.run(3.0)

    assert state(disturbed) == state(undisturbed)
    check_quiet(disturbed)


def test_a_member_that_restarts_takes_nothing_of_what_was_sent_to_its_earlier_life() -> None:
    group = started("a", "b", "c")
    places = {node.name: node.endpoint for node in group.nodes.values()}
    recorded = list(group.recorded)
    group.crash("c")
    group.run_until(lambda: group.in_one_view("a", "b"), 20.0)

    group.restart("c")
    for _ in range(10):
        group.replay(recorded, places)
        group.run(0.05)
    group.run_until(lambda: group.in_one_view("a", "b", "c"), 20.0)
    group.send("c", [b"after"])
    group.run(2.0)

    assert group["c"].messages == 1
    assert group["a"].messages == group["b"].messages == 61
    check(logs(group))
    check_quiet(group)


def test_a_stranger_without_the_key_gets_nothing_accepted() -> None:
    group = started("a", "b", "c")
    seen, lives = state(group), len(group["a"].sealing._lives)  # type: ignore[union-attr]
    group.sealings.of = {"d": (NEW,), "e": ()}

    group.start("d", "e")
    group.run(8.0)

    for name in "abc":
        assert len(group[name].sealing._lives) == lives  # type: ignore[union-attr]
        assert group[name].stack.counters["wrong_key"] > 0
        assert group[name].stack.counters["without_key"] > 0
        assert {"wrong_key", "without_key"} <= {each.reason for each in group[name].dropped}
    assert state(group)[:3] == seen
    assert group["d"].views == group["e"].views == []
    assert "refuses this key; give all members of a group the same key=" in str(group["d"].left)
    assert "has a key, this process has none; give it the group's key" in str(group["e"].left)


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_that_a_member_could_send_is_taken_from_one_who_has_not_the_key(
    sealed: bool,
) -> None:
    group = started("a", "b", "c")
    seen, place = state(group), group["a"].endpoint
    a, b, codec = group["a"].address, group["b"].address, Codec("raincheck", 60_000)
    forger = Sealing((NEW,), "group raincheck", place, bytes(SEED))
    view, payloads = ViewId(9, a), Payloads.pack([b"evil"])
    headers: list[tuple[Header, Payloads | None]] = [
        (DataHeader(a, 99, b, 21, 1, view, 61, 99), payloads),
        (UnicastHeader(a, b, FORWARDS, 1 << 40, 1, ForwardBody(21, 1, view, 1, 1)), payloads),
        (UnicastHeader(a, b, CONTROL, 1 << 40, 1, StopFlush(Fid(3, a, 1))), None),
        (Excluded(a, b, View(view, (a,))), None),
        (Leaving(a), None),
        (Alive(a, view, 99, True, Digest(())), None),
        (JoinReq(Address("a", 7), group["b"].stack.config.fingerprint, False, 0, 0), None),
        (JoinHint(a, "here", 0, 0, 7), None),
    ]

    for header, payload in headers:
        datagram = codec.encode(header, payload)
        group.inject("b", forger.seal(datagram) if sealed else datagram, place)
    group.run(3.0)

    assert state(group) == seen
    reason = "wrong_key" if sealed else "without_key"
    assert group["b"].stack.counters[reason] == len(headers)
    check_quiet(group)


def test_a_process_with_a_key_is_not_let_into_a_group_without_one() -> None:
    group = started("a", "b", keys=())
    group.sealings.of = {"c": (NEW,)}

    group.start("c")
    group.run(8.0)

    assert group["c"].views == []
    assert "has no key, this process has one" in str(group["c"].left)
    assert group["a"].stack.counters["sealed"] > 0
    assert any("its sender has a key" in each.detail for each in group["a"].dropped)
    assert group.in_one_view("a", "b")
    group.recorded.clear()
    group.run(8.0)
    assert not any("c" in (flight.source, flight.to) for flight in group.recorded)


def test_two_that_start_together_with_unlike_keys_both_say_so() -> None:
    group = Tapped()
    group.start("z")
    group.crash("z")  # so that the next one asks somebody before it founds a group
    group.sealings.of = {"b": (NEW,)}

    group.start("a", "b")
    group["a"].stack._group.joining._learn(group["b"].endpoint, trusted=True)
    group.run(8.0)

    assert all("give all members of a group the same key=" in str(group[n].left) for n in "ab")


def test_one_wrong_key_does_not_keep_the_others_from_founding_their_group() -> None:
    group = Tapped()
    group.start("z")
    group.crash("z")
    group.sealings.of = {"b": (NEW,)}

    group.start("b", "a", "c")
    group["b"].stack._group.joining._learn(group["a"].endpoint, trusted=True)

    group.run_until(lambda: group.in_one_view("a", "c"), 20.0)
    group.run(8.0)
    assert group["b"].left
    assert group["b"].views == []


def test_flipped_bits_cost_a_retransmission_and_nothing_else() -> None:
    group = started("a", "b", "c")
    random = Random(7)

    def flip(data: bytes) -> bytes:
        if random.random() < 0.9:
            return data
        damaged = bytearray(data)
        damaged[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return bytes(damaged)

    group.damage = flip
    for name in "abc":
        group.send(name, [b"%d" % i for i in range(200)])
    group.run(5.0)
    group.damage = lambda data: data
    group.run(3.0)

    assert [group[name].messages for name in "abc"] == [660] * 3
    reasons = {"unauthentic", "wrong_key", "other_group", "without_key", "wrong_version"}
    assert sum(group[n].stack.counters[reason] for n in "abc" for reason in reasons) > 20
    assert all(group[name].stack.counters["unauthentic"] for name in "abc")
    check(logs(group))
    check_quiet(group)


def test_hostile_datagrams_from_any_address_change_nothing() -> None:
    before = started("a", "b", "c", seed=2)
    undisturbed, disturbed = started("a", "b", "c"), started("a", "b", "c")
    random = Random(3)
    captured = [flight.data for flight in before.recorded + disturbed.recorded]
    places = [("6.6.6.6", 666), *(node.endpoint for node in disturbed.nodes.values())]

    def hostile() -> bytes:
        data = bytearray(random.choice(captured))
        kind = random.randrange(5)
        if kind == 1:
            data = bytearray(random.randbytes(random.randrange(300)))
        elif kind == 2:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        elif kind == 3:
            head = random.choice(captured)[: random.randrange(40)]
            data[: len(head)] = head
        elif kind == 4:
            del data[random.randrange(len(data)) :]
        return bytes(data)

    for _ in range(100):
        for _ in range(500):
            disturbed.inject(random.choice("abc"), hostile(), random.choice(places))
        disturbed.run(0.02)
        undisturbed.run(0.02)
    for group in (undisturbed, disturbed):
        group.send("b", [b"after"])
        group.run(2.0)

    assert state(disturbed) == state(undisturbed)
    assert disturbed["a"].stack.counters["unauthentic"] > 500
    assert disturbed["a"].stack.counters["replayed"] > 200
    for node in disturbed.nodes.values():
        assert node.sealing is not None
        assert len(node.sealing._lives) == 2
    check(logs(disturbed))
    check_quiet(disturbed)


def test_the_key_is_changed_while_the_group_runs_and_no_message_is_lost() -> None:
    group = started("a", "b", "c", link=Link(delay=(0.001, 0.01)))
    at, views = group.now, [node.views.copy() for node in group.nodes.values()]
    for step, keys in enumerate([(OLD, NEW), (NEW, OLD), (NEW,)]):
        for place, name in enumerate("abc"):
            sealing = group[name].sealing
            assert sealing is not None
            group.at(at + 0.3 * step + 0.1 * place, lambda s=sealing, k=keys: s.change(k))
    for _ in range(20):
        for name in "abc":
            group.send(name, [b"x"] * 10)
        group.run(0.05)
    group.run(3.0)

    assert [group[name].messages for name in "abc"] == [660] * 3
    assert not any(group[name].stack.counters["wrong_key"] for name in "abc")
    assert [node.views for node in group.nodes.values()] == views
    group.sealings.of = {"d": (NEW,)}
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"), 20.0)
    group.run(2.0)
    check(logs(group))
    check_quiet(group)
