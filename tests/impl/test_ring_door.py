"""Datagrams of a stranger that forges no address have no effect on a ring of three."""

from collections.abc import Iterator

import pytest

from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import (
    LIMIT,
    NO_TOKEN,
    ZERO,
    Call911,
    Epoch,
    Message,
    Settled,
    Token,
)
from raincheck.impl.ring.bounds import EPOCH_JUMP, FIRST_INDEX, INDEX_JUMP, beyond
from raincheck.impl.ring.frames import GONE, HERE, MESSAGE, Frames
from raincheck.impl.ring.wire import RaincoreCodec
from raincheck.impl.simulation.ring import RingSimulator

EVIL: Endpoint = ("6.6.6.6", 666)
Z, A, B, C = (Address(name, 0) for name in "zabc")


def formed() -> RingSimulator:
    """A ring of a, b and c that agrees on its first view."""
    ring = RingSimulator(1, contents=True)
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    return ring


def frame(
    ring: RingSimulator, source: Address, to: Address, message: Message, number: int = 1
) -> bytes:
    """The datagram with which `source` would send a message."""
    codec = RaincoreCodec(lambda _who: EVIL, lambda: 0)
    frames = Frames(ring.config.ring, ring.config.max_datagram)
    return frames.make(MESSAGE, source, to, number, 0, codec.encode(message))


def is_well(ring: RingSimulator) -> bool:
    """Whether the ring still does all that it promises: views, lock and multicasts of members."""
    before = len(ring.locked)
    for name in "abc":
        ring.lock(name, 0.01)
        ring.multicast(name, [name.encode()])
    ring.run(3.0)
    said = {name: ring[name].life.contents for name in "abc"}
    places = {
        (name, other): ring[name].node.manager.peers.endpoint_of(Address(other, 0))
        for name in "abc"
        for other in "abc"
        if name != other
    }
    return (
        ring.in_one_view("a", "b", "c")
        and [member.left for member in ring.up] == [None] * 3
        and len(ring.locked) == before + 3
        and said["a"] == said["b"] == said["c"]
        and sorted(said["a"][-3:]) == [b"a", b"b", b"c"]
        and all(place == ring[other].endpoint for (_, other), place in places.items())
        and all(len(ring[name].life.views) == 1 for name in "abc")
        and all(len(ring[name].node.manager.peers) == 2 for name in "abc")
    )


def token_of(ring: RingSimulator) -> Token:
    """The newest copy of the token."""
    return max((ring[name].core.last_token for name in "abc"), key=lambda token: token.number)


def attacks(ring: RingSimulator, to: Address) -> Iterator[tuple[str, bytes]]:
    """Each attack by its name."""
    frames = Frames(ring.config.ring, ring.config.max_datagram)
    other = B if to != B else A
    for source in (Z, other):
        yield "it says that a later life has the name", frames.make(GONE, source, to, 99)
        copy = token_of(ring)
        forged = copy._replace(to=to, current=source, seq=copy.seq + 1000)
        yield "a token that was never passed", frame(ring, source, to, forged)
        yield (
            "a token of a later epoch",
            frame(ring, source, to, forged._replace(epoch=Epoch(7, source)), 2),
        )
        alone = (source, to)
        yield (
            "a token of its own list",
            frame(ring, source, to, forged._replace(nodelist=alone, pending=(alone,)), 3),
        )
        far = forged._replace(
            epoch=Epoch(9, source), nodelist=alone, global_view_number=1 << 20,
            settled=Settled(1 << 20, alone), pending=(),
        )  # fmt: skip
        yield "an index far away", frame(ring, source, to, far, 4)
        call = Call911(to, source, source, alone, Epoch(LIMIT - 1, source), 0, attempt=1)
        yield "a 911 of the last epoch", frame(ring, source, to, call, 5)
        claim = call._replace(phase="claim", claim=Epoch(LIMIT, source))
        yield "a claim of the last epoch", frame(ring, source, to, claim, 6)
        no = call._replace(orig=to, status="no", promised=Epoch(LIMIT, source))
        yield "a veto of the last epoch", frame(ring, source, to, no, 7)
        asks = Call911(to, source, source, (), ZERO, 0, attempt=1)
        yield "a request to join without a cookie", frame(ring, source, to, asks, 8)
        later = Address(other.node, 99)
        yield (
            "the next life of a member",
            frame(ring, later, to, asks._replace(orig=later, current=later)),
        )
        try:
            yield "it answers a question that nobody asked", frames.here(source, 1 << 50, 1, 1)
        except AttributeError:
            yield (
                "it answers a question that nobody asked",
                frames.make(HERE, source, None, 1 << 50),
            )


def test_nothing_that_a_stranger_says_has_an_effect() -> None:
    names = [name for name, _ in attacks(formed(), A)]
    for number, name in enumerate(names):
        ring = formed()
        for victim in "abc":
            to = Address(victim, 0)
            what, data = list(attacks(ring, to))[number]
            assert what == name
            if ring[victim].left is None:
                ring.inject(victim, data, EVIL)
        assert is_well(ring), name


def test_a_911_that_goes_round_its_receiver_only_is_refused() -> None:
    """With it the receiver asked itself for ever."""
    ring = formed()
    call = Call911(B, Z, Z, (B,), Epoch(3, Z), 0, attempt=1)
    ring.inject("b", frame(ring, Z, B, call), EVIL)
    assert is_well(ring)
    call = call._replace(current=A)
    ring.inject("b", frame(ring, A, B, call, 1 << 40), ring["a"].endpoint)  # of a member
    assert ring["b"].node.counters["malformed"] == 1
    assert is_well(ring)


def says(ring: RingSimulator, message: Message) -> None:
    """A member sends this, though its core has not made it."""
    node = ring[message.current.node].node
    node.manager.send(message.to, message, node._codec.encode(message), ring.now)
    ring._settle(ring[message.current.node])


def numbers(ring: RingSimulator) -> Iterator[tuple[str, Message]]:
    """What a member can say with one number too large, and which it is."""
    token = token_of(ring)._replace(to=B, current=A, mail=())
    call = Call911(B, A, A, (A, B, C), ZERO, token.seq, attempt=1)
    yield "index 65538 after 1", token._replace(global_view_number=1 + INDEX_JUMP + 1)
    yield "epoch 1048577 after 0", token._replace(epoch=Epoch(EPOCH_JUMP + 1, A))
    yield f"number {LIMIT} after", token._replace(seq=LIMIT)
    yield f"multicast {LIMIT} after", token._replace(top=LIMIT)
    yield f"number {LIMIT} after", call._replace(seq=LIMIT)
    far = Epoch(EPOCH_JUMP + 1, A)
    yield "epoch 1048577 after 0", call._replace(epoch=far)
    yield "epoch 1048577 after 0", call._replace(phase="claim", claim=far)
    yield "epoch 1048577 after 0", call._replace(orig=B, status="no", promised=far)


@pytest.mark.parametrize("case", range(8))
def test_a_number_that_no_member_can_have_reached_is_not_taken(case: int) -> None:
    """Of the others, who are not asked to keep two to the power of forty views either."""
    ring = formed()
    ring.run_until(lambda: ring["b"].core.token_state == "hungry")
    what, message = list(numbers(ring))[case]
    says(ring, message)
    ring.run(0.01)

    assert ring["b"].node.counters["out_of_bounds"] == 1
    [dropped] = ring["b"].dropped
    assert dropped.detail.startswith(what)
    assert dropped.detail.endswith("of a.0")
    assert dropped.sender == ring["a"].endpoint
    assert is_well(ring)


def test_the_first_view_of_a_joiner_has_a_bound_too() -> None:
    ring = formed()
    token = token_of(ring)._replace(to=Z, current=A)
    assert beyond(token._replace(global_view_number=FIRST_INDEX), Raincore(Z)) == ""
    far = token._replace(global_view_number=FIRST_INDEX + 1)
    assert beyond(far, Raincore(Z)) == "index 1048577 of a first view"
    assert beyond(Call911(A, Z, Z, (), Epoch(LIMIT, A), LIMIT), Raincore(Z)) == ""


def test_a_guard_that_a_message_makes_false_is_counted_with_its_sender() -> None:
    """The core takes nothing before it is up, which is no defect of this member."""
    ring = formed()
    ring["b"].core.up = "down"
    says(ring, Call911(B, A, A, (A, B, C), ZERO, 0, attempt=1))
    ring.run(0.01)
    ring["b"].core.up = "up"

    assert {(d.reason, d.sender) for d in ring["b"].dropped} == {("refused", ring["a"].endpoint)}
    assert ring["b"].left is None
    ring.run(5.0)
    assert ring.in_one_view("a", "b", "c")


def test_each_stranger_is_counted_and_named() -> None:
    ring = formed()
    for _, data in attacks(ring, A):
        ring.inject("a", data, EVIL)
    counters = ring["a"].node.counters

    assert counters["stranger"] + counters["unasked"] == sum(1 for _ in attacks(ring, A))
    assert {(each.reason, each.sender) for each in ring["a"].dropped} == {
        ("stranger", EVIL),
        ("unasked", EVIL),
    }


@pytest.mark.parametrize("moved", ["b", "c"])
def test_a_member_that_comes_back_elsewhere_is_a_member(moved: str) -> None:
    """It has the ring's secret."""
    ring = formed()
    ring.run(1.0)
    ring.crash(moved)
    place = ("10.0.9.9", 7000)
    ring._by_endpoint = {e: n for e, n in ring._by_endpoint.items() if n != moved}
    ring._by_endpoint[place] = moved
    ring[moved].endpoint = place
    ring.recover(moved)
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"), 30.0)

    assert ring["a"].node.manager.peers.endpoint_of(Address(moved, 0)) == place
    assert NO_TOKEN not in [ring[name].core.last_token for name in "abc"]
