"""A stack at its edges: wrong use, bad datagrams, limits, slow consumers."""

import random

import pytest

from raincheck.impl.errors import ConfigError, MessageTooLarge, NotMember, WouldBlock
from raincheck.impl.messages import Address, Batch, Digest, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import Dropped, Left, Report, ViewInstalled
from raincheck.impl.stack.stack import Stack
from raincheck.impl.wire.datagrams import Codec, sealed
from raincheck.impl.wire.headers import Alive, Excluded, JoinReq, Leaving, Nak

STRANGER = ("6.6.6.6", 666)


def alone(**settings):
    stack = Stack(Address("a", 0), StackConfig(**settings))
    stack.start(0.0)
    return stack


def group_of(*names, **how):
    group = Simulator(1, **how)
    group.start(*names, founders=True)
    return group


# ------------------------------------------------------------------ the user


def test_who_knows_nobody_founds_a_group_at_once():
    stack = alone()

    [report] = stack.poll_reports()

    assert report == ViewInstalled(View(ViewId(1, stack.address), (stack.address,)))
    assert stack.status == "member"


def test_what_is_sent_before_the_group_exists_is_delivered_in_it():
    stack = Stack(Address("a", 0), StackConfig(initial_hosts=(("10.9.9.9", 1),), join_timeout=0.5))
    stack.start(0.0)
    stack.send(b"early")
    stack.flush(0.0)
    assert stack.poll_reports() == []

    stack.handle_timer(0.5)

    view, batch = stack.poll_reports()
    assert isinstance(view, ViewInstalled)
    assert [message.payload for message in batch] == [b"early"]


def test_what_is_sent_in_one_go_leaves_as_one_bundle():
    group = group_of("a", "b")
    stack = group["b"].stack
    for i in range(100):
        stack.send(b"%d" % i)
    assert stack.poll_datagrams() == []

    stack.flush(0.0)

    [forward] = stack.poll_datagrams()
    assert len(forward.data) < 1000


def test_what_is_sequenced_leaves_before_it_is_delivered_here_and_first_to_whose_it_is():
    names = [Address(name, 0) for name in "abc"]
    places = [("10.0.0.1", 7000 + number) for number in range(3)]
    a, b, c = (Stack(name, StackConfig()) for name in names)
    for stack in (a, b, c):
        stack.found(View(ViewId(1, names[0]), tuple(names)), places, 0.0)
    left = []
    a.tells_ready(lambda: left.append((a.poll_datagrams(), a.poll_reports())))
    c.send(b"x")
    c.flush(0.0)
    a.poll_reports()

    a.receive([(out.data, places[2]) for out in c.poll_datagrams()], 0.0)

    ((sent, reports),) = left
    assert [out.to for out in sent if out.multicast] == [(places[2], places[1])]
    assert not any(isinstance(report, Batch) for report in reports)
    assert any(isinstance(report, Batch) for report in a.poll_reports())


def test_a_message_that_fits_no_bundle_is_refused_in_a_sentence():
    stack = alone(max_bundle=4096, max_message=5000)

    stack.send(bytes(stack.max_whole))
    for attempt in (stack.send, lambda payload: stack.send_many([b"", payload])):
        with pytest.raises(MessageTooLarge, match=r"too large: at most 3580 bytes"):
            attempt(bytes(stack.max_whole + 1))
    with pytest.raises(MessageTooLarge, match=r"at most 5000 bytes; raise max_message"):
        stack.send_large(bytes(5001))
    stack.flush(0.0)

    assert [len(r) for r in stack.poll_reports() if isinstance(r, Batch)] == [1]


def test_a_full_send_buffer_says_so_and_becomes_writable_again():
    group = group_of("a", "b", config=StackConfig(send_buffer=60_000, credit=60_000))
    stack = group["b"].stack
    group.partition({"a"}, {"b"})

    while stack.writable:
        stack.send(bytes(1000))
        stack.flush(group.now)
    with pytest.raises(WouldBlock):
        stack.send(b"x")
    assert stack.send_many([b"x"]) == 0
    assert list(stack.missing(group.now)) == [Address("a", 0)]
    group.heal()
    group.run_until(lambda: stack.pending == 0)

    assert stack.writable
    assert group["a"].messages == group["b"].messages


def test_the_credit_bounds_what_is_under_way():
    config = StackConfig(max_bundle=2048, credit=4096, credit_messages=1000)
    group = group_of("a", "b", config=config)
    group.partition({"a"}, {"b"})

    group.send("b", [bytes(100)] * 500)

    assert group["b"].stack.sequencer.pending_bytes <= 4096 + 2048


def test_nothing_can_be_sent_once_the_member_leaves():
    stack = alone()
    stack.send(b"last")
    stack.leave(1.0)

    for attempt in (lambda: stack.send(b"x"), lambda: stack.send_many([b"x"])):
        with pytest.raises(NotMember):
            attempt()
    kinds = [type(report) for report in stack.poll_reports()]
    assert kinds == [ViewInstalled, Batch, Left]
    assert (stack.status, stack.deadline()) == ("left", None)


def test_leaving_before_having_joined_is_done_at_once():
    stack = Stack(Address("a", 0), StackConfig(initial_hosts=(("10.9.9.9", 1),)))
    stack.start(0.0)

    stack.leave(0.1)

    assert stack.poll_reports() == [Left("")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_bundle": 100},
        {"max_bundle": 1 << 21},
        {"credit": 100},
        {"unicast_window": 0},
        {"suspect_after": 0.1},
        {"join_interval": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        StackConfig(**wrong)


# ------------------------------------------------------------------ a slow application


def test_a_member_that_holds_delivers_nothing_and_nobody_suspects_it():
    group = group_of("a", "b", "c")
    group["c"].stack.hold(group.now)

    group.send("b", [b"x"] * 10)
    group.run(5.0)
    assert (group["a"].messages, group["c"].messages) == (10, 0)
    assert group["a"].suspected == []
    group["c"].stack.release(group.now)
    group.run(0.5)

    assert group["c"].delivered == group["a"].delivered


def test_a_member_that_holds_makes_the_senders_wait_and_no_buffer_grows():
    config = StackConfig(
        max_bundle=2048, multicast_window=8, unicast_window=8, credit=4096, send_buffer=4096
    )
    group = group_of("a", "b", "c", config=config)
    group["c"].stack.hold(group.now)

    for name in "abc":
        group.send(name, [bytes(100)] * 2000)
    group.run(5.0)
    assert max(node.stack.buffered() for node in group.up) <= 3 * 8 + 6 * 8
    assert not any(node.stack.writable for node in group.up)
    group["c"].stack.release(group.now)
    group.run_until(lambda: all(node.messages == 6000 for node in group.up))

    assert group["a"].delivered == group["b"].delivered == group["c"].delivered


# ------------------------------------------------------------------ bad datagrams


def good_datagrams():
    """Some of everything that a lively group sends."""
    group = Simulator(3, manual=True)
    group.start("a", "b", "c", founders=True)
    found = {}
    for step in range(200):
        if step % 20 == 0:
            group.send("c", [b"hello"] * 3)
        if step == 30:
            group.start("d")
        for flight in list(group.in_flight):
            header = Codec("raincheck", 60_000).decode(flight.data).header
            found.setdefault((type(header), type(getattr(header, "body", None))), flight.data)
            group.deliver(flight)
        group.advance(0.01)
    return list(found.values())


def test_datagrams_cut_off_anywhere_are_counted_and_harm_nobody():
    group = group_of("a", "b", "c")
    datagrams = good_datagrams()
    assert len(datagrams) >= 8

    for datagram in datagrams:
        for length in range(len(datagram)):
            group.inject("b", datagram[:length])

    counted = group["b"].stack.counters
    assert counted["truncated"] == sum(map(len, datagrams))


def test_bad_datagrams_are_counted_by_reason_and_reported_with_their_sender_once_a_second():
    group = group_of("a", "b")
    good = Codec("raincheck", 60_000).encode(JoinReq(Address("z", 0), "", False, 0, 0))
    bad = {
        "not_ours": b"GET / HTTP/1.1\r\n\r\n" + bytes(20),
        "wrong_version": sealed(good[:2] + b"\x63" + good[3:]),
        "other_group": Codec("another", 60_000).encode(
            JoinReq(Address("z", 0), "stack", False, 0, 0)
        ),
        "oversized": bytes(60_001),
        "corrupted": good[:-1] + b"\xc1",
        "malformed": sealed(good[:-1] + b"\xc1"),
    }
    for _ in range(5):
        for datagram in bad.values():
            group.inject("b", datagram, STRANGER)
    group.run(1.5)
    group.inject("b", bad["not_ours"], STRANGER)

    counted = group["b"].stack.counters
    assert {reason: counted[reason] for reason in bad} == dict.fromkeys(bad, 5) | {"not_ours": 6}
    dropped = [(d.reason, d.sender, d.times) for d in group["b"].dropped]
    assert sorted(dropped) == sorted(
        [(reason, STRANGER, 1) for reason in bad] + [("not_ours", STRANGER, 5)]
    )
    assert all(isinstance(d, Dropped) and d.detail for d in group["b"].dropped)


def test_noise_never_raises_and_the_group_works_on():
    group = group_of("a", "b", "c")
    lots, datagrams = random.Random(7), good_datagrams()

    for step in range(3000):
        damaged = bytearray(lots.choice(datagrams))
        for _ in range(lots.randrange(1, 4)):
            damaged[lots.randrange(len(damaged))] = lots.randrange(256)
        group.inject(lots.choice("abc"), bytes(damaged), STRANGER)
        group.inject(lots.choice("abc"), lots.randbytes(lots.randrange(60)), STRANGER)
        if step % 300 == 0:
            group.send("b", [b"x"])
            group.run(0.05)

    refused = ("corrupted", "malformed", "not_ours", "truncated")
    assert sum(group["b"].stack.counters[reason] for reason in refused) > 500


def test_well_formed_nonsense_of_strangers_changes_nothing():
    group = group_of("a", "b")
    codec, z, b = Codec("raincheck", 60_000), Address("z", 0), Address("b", 0)
    everybody = View(ViewId(9, z), (z,))
    nonsense = [
        Alive(z, ViewId(99, z), 1 << 50, False, Digest(((b, 1 << 50),))),
        Nak(z, b, ((1, 1 << 50),)),
        Nak(z, z, ((1, 2),)),
        Excluded(z, b, everybody),
        Leaving(z),
        Leaving(b),
    ]

    for header in nonsense:
        group.inject("b", codec.encode(header), STRANGER)
    group.send("b", [b"x"])
    group.run(3.0)

    assert group.in_one_view("a", "b")
    assert group["a"].messages == group["b"].messages == 1


def test_an_impossible_position_of_a_member_does_not_stop_it():
    group = group_of("a", "b")
    far = Alive(
        Address("a", 0),
        ViewId(1, Address("a", 0)),
        1 << 50,
        False,
        Digest(((Address("b", 0), 1 << 50),)),
    )

    group.inject("b", Codec("raincheck", 60_000).encode(far), group["a"].endpoint)
    group.run(0.2)

    assert group["b"].stack.status == "member"


def test_what_arrives_at_once_fills_an_inbox_by_one_bundle_too_much_at_most() -> None:
    group = Simulator(1)
    group.start("a", "b", founders=True)
    limit, waiting, most = 60_000, 0, 0
    stack = group["a"].stack
    stack.tells_room(lambda: limit - waiting)
    polled = stack.poll_reports

    def take() -> None:
        nonlocal waiting
        waiting = 0
        group.release("a")

    def poll() -> list[Report]:
        nonlocal waiting, most
        reports = polled()
        before = waiting
        waiting += sum(each.size for each in reports if isinstance(each, Batch))
        most = max(most, waiting)
        if before < limit <= waiting:
            stack.hold(group.now)
            group.after(0.01, take)
        return reports

    stack.poll_reports = poll  # type: ignore[method-assign]
    group.send("b", [bytes(1000)] * 2000)
    for step in range(20):
        group.at(0.1 + step, lambda: group.stall("a", 0.5))
    group.run_until(lambda: group["a"].messages == 2000, timeout=60.0)

    assert limit <= most < limit + StackConfig().max_bundle


def test_deliveries_that_fill_the_room_go_on_once_the_reports_are_taken() -> None:
    """A shell that finds more room than the stack was told does not stand still."""
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group["a"].stack.tells_room(lambda: 0)

    group.send("b", [bytes(1000)] * 200)

    group.run_until(lambda: group["a"].messages == 200, timeout=5.0)
