"""A stranger sends one socket's worth of well-formed datagrams; nothing of it enters the group."""

from random import Random

import pytest

from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Digest, Payloads
from raincheck.impl.simulation.group import Node, Simulator
from raincheck.impl.stack.config import Admit, StackConfig
from raincheck.impl.stack.reports import Outgoing
from raincheck.impl.stack.sequencer_layer import SequencerLayer
from raincheck.impl.wire.datagrams import Codec, sealed
from raincheck.impl.wire.headers import (
    CONTROL,
    FORWARDS,
    Alive,
    Body,
    DataHeader,
    Fid,
    ForwardBody,
    Leaving,
    StopFlush,
    UnicastHeader,
)

CODEC = Codec("raincheck", 60_000)
STRANGER = ("6.6.6.6", 666)
A, B, Z = (Address(name, 0) for name in "abz")


def group_of(*names: str) -> Simulator:
    """A group that has delivered something."""
    group = Simulator(1)
    group.start(*names, founders=True)
    group.send("b", [b"x"] * 3)
    group.run(0.2)
    return group


def forward(to: Address, view: int, first: int = 1, seqno: int = 1) -> bytes:
    """A FORWARD of z."""
    body = ForwardBody(first, 1, view, 1, 1)
    header = UnicastHeader(Z, to, FORWARDS, 1 << 40, seqno, body)
    return CODEC.encode(header, Payloads.pack([b"evil"]))


def goes_on(group: Simulator, *names: str) -> None:
    """The group delivers what its members send, and nothing else."""
    group.send("c", [b"after"])
    group.run(2.0)
    assert group.in_one_view(*names)
    assert [group[name].messages for name in names] == [4] * len(names)
    check(logs(group))
    check_quiet(group)


def test_a_forward_of_a_stranger_is_sequenced_by_nobody() -> None:
    for first in (1, 2):
        group = group_of("a", "b", "c")

        group.inject("a", forward(A, 1, first), STRANGER)

        goes_on(group, "a", "b", "c")
        assert group["a"].stack.counters["not_a_member"] == 1


def test_a_datagram_does_not_make_its_sender_known() -> None:
    group = group_of("a", "b", "c")
    body: Body = StopFlush(Fid(1, Z, 1))
    group.inject("b", CODEC.encode(UnicastHeader(Z, B, CONTROL, 1 << 40, 1, body)), STRANGER)

    data = DataHeader(A, 2, Address("c", 0), 1, 1, 1, 4, 9)
    group.inject("b", CODEC.encode(data, Payloads.pack([b"evil"])), STRANGER)

    assert group["b"].stack.counters["forged"] == 1
    assert Z not in group["b"].stack._outbox.endpoints
    goes_on(group, "a", "b", "c")


def test_a_sign_of_life_of_a_stranger_is_not_answered() -> None:
    group = group_of("a", "b", "c")
    stack = group["b"].stack

    for header in (
        Alive(Z, 1, 1, False, Digest(())),
        Leaving(Z),
        Alive(B, 1, 1, False, Digest(())),
    ):
        stack.receive([(CODEC.encode(header), STRANGER)], group.now)
        assert [out for out in stack.poll_datagrams() if STRANGER in out.to] == []


def test_a_former_member_is_answered_at_its_own_place_only() -> None:
    group = group_of("a", "b", "c")
    group.crash("c")
    group.run_until(lambda: group.in_one_view("a", "b"))
    stack, sign = group["b"].stack, CODEC.encode(Alive(Address("c", 0), 1, 0, False, Digest(())))

    for place, answers in ((STRANGER, 0), (group["c"].endpoint, 1)):
        stack.receive([(sign, place)], group.now)
        assert len([out for out in stack.poll_datagrams() if place in out.to]) == answers


def test_places_are_kept_for_members_and_joiners_only() -> None:
    group = group_of("a", "b", "c")
    for name in "de":
        group.start(name)
        group.run_until(lambda: group.in_one_view(*(n.name for n in group.up)))
    group.leave("c")
    group.run_until(lambda: group.in_one_view("a", "b", "d", "e"))

    for node in (group[name] for name in "abde"):
        places = node.stack._outbox.endpoints
        assert set(places) <= {group[name].address for name in "abde"}
        assert all(places[who] == group[who.node].endpoint for who in places)


def test_a_joiner_has_its_members_places_from_the_view_that_admits_it() -> None:
    group = group_of("a", "b", "c")
    group.start("z")
    for who in (A, B):
        body = UnicastHeader(who, Z, CONTROL, 1, 9, StopFlush(Fid(1, A, 1)))
        group.inject("z", CODEC.encode(body), STRANGER)
    group.run_until(lambda: group.in_one_view("a", "b", "c", "z"))
    group.run(1.0)

    places = group["z"].stack._outbox.endpoints
    assert all(places[who] == group[who.node].endpoint for who in places)
    assert not group["z"].stack.counters["forged"]


# ------------------------------------------------------------------ what a member cannot have sent


def forwards(group: Simulator, *bodies: ForwardBody) -> int:
    """Let b's FORWARDs come to a, past UNICAST; return how many were taken from it."""
    layer = group["a"].stack._group.find(SequencerLayer)
    payloads = Payloads.pack([b"evil" * 1000])
    waiting = [(UnicastHeader(B, A, FORWARDS, 1, 1, body), payloads) for body in bodies]
    layer._forwards = True
    pull = layer.pull
    layer.pull = lambda *_: waiting.pop(0) if waiting else None  # type: ignore[method-assign]
    while layer._forwards and layer.take_forwards(group.now):
        layer._relayed = 0
    layer.pull = pull  # type: ignore[method-assign]
    return len(bodies) - len(waiting)


def test_a_forward_that_leaves_messages_out_is_refused_and_ends_nobody() -> None:
    group = group_of("a", "b", "c")

    assert forwards(group, ForwardBody(9, 1, 1, 9, 9)) == 1

    assert group["a"].stack.counters["refused"] == 1
    goes_on(group, "a", "b", "c")


def test_a_forward_of_a_far_view_is_not_kept() -> None:
    group = group_of("a", "b", "c")

    forwards(group, *(ForwardBody(n, 1, 3 + n, n, n) for n in range(1, 100)))

    assert group["a"].stack.counters["refused"] == 99
    assert group["a"].stack.sequencer.early == []
    goes_on(group, "a", "b", "c")


def test_forwards_of_the_next_view_are_kept_up_to_a_bound_and_then_left_where_they_are() -> None:
    group = group_of("a", "b", "c")
    config = StackConfig()
    most = config.unicast_window * 3

    taken = forwards(group, *(ForwardBody(3 + n, 1, 2, n, n) for n in range(1, 2 * most)))

    assert taken == len(group["a"].stack.sequencer.early) == most


# ------------------------------------------------------------------ who may join, and how often


def refusals(admit: Admit) -> list[str]:
    """What a joiner from 10.0.0.2 is answered by a group that admits only some."""
    group = Simulator(1, config=StackConfig(admit=admit))
    group.start("a", founders=True)
    group.start("z")
    group.run(3.0)
    return [str(node.left) for node in group.nodes.values() if node.left is not None]


def test_who_may_join_is_decided_by_networks_or_a_function() -> None:
    refused = ["not admitted: 10.0.0.2 is not among those that this group admits"]

    assert refusals(["10.0.0.0/24"]) == refusals(lambda _, place: place[1] == 7000) == []
    assert refusals(["10.0.1.0/24", "127.0.0.1"]) == refused
    assert refusals(lambda who, _: who.node != "z") == refused
    assert refusals(lambda _, place: bool(1 // (place[1] - 7000))) == refused


def test_networks_that_are_none_are_refused() -> None:
    for admit in ("10.0.0.0/8", ["10.0.0.1/8"], ["example.org"]):
        with pytest.raises(ConfigError, match="admit"):
            StackConfig(admit=admit)


def test_one_endpoint_makes_only_so_many_views_a_minute() -> None:
    group = Simulator(1, config=StackConfig(joins_per_minute=5))
    group.start("a", "b", founders=True)
    group.start("z")
    for _ in range(20):
        group.run(1.0)
        group.crash("z")
        group.restart("z")
    asked = group.now

    delayed = [report for report in group["a"].dropped if report.reason == "join_delayed"]
    assert len({view.id for view in group["a"].views if view.joiners}) == 5
    assert delayed[-1].sender == group["z"].endpoint
    group.run_until(lambda: group.in_one_view("a", "b", "z"), 60)
    assert group.now > asked + 30


def test_captured_datagrams_that_a_stranger_changes_and_seals_anew_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[bytes] = []
    transmit = Simulator._transmit

    def record(group: Simulator, node: Node, out: Outgoing) -> None:
        heard.append(out.data)
        transmit(group, node, out)

    monkeypatch.setattr(Simulator, "_transmit", record)
    group = group_of("a", "b", "c")
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    captured, lots = heard.copy(), Random(5)
    before = [len(node.views) for node in group.up]

    for _ in range(2000):
        damaged = bytearray(lots.choice(captured))
        damaged[lots.randrange(20, len(damaged))] = lots.randrange(256)
        group.inject(lots.choice("abcd"), sealed(bytes(damaged)), STRANGER)
        group.inject(lots.choice("abcd"), lots.choice(captured), STRANGER)
    group.send("c", [b"after"])
    group.run(3.0)

    assert [node.left for node in group.nodes.values()] == [None] * 4
    assert [len(node.views) for node in group.up] == before
    assert [group[name].messages for name in "abcd"] == [4, 4, 4, 1]
    check(logs(group))
    check_quiet(group)
