"""The Transport Manager: a message is taken once at most, and its sender is told what became."""

import random
from collections import Counter
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.errors import ConfigError, WireError
from raincheck.impl.messages import Address
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.door import Door, admission
from raincheck.impl.ring.frames import (
    ACK,
    CLOSED,
    GONE,
    HELLO,
    HERE,
    MESSAGE,
    WINDOW,
    Frames,
    cookie_of,
)
from raincheck.impl.ring.guests import GUEST_IDLE, MAX_GUESTS, MAX_REQUEST
from raincheck.impl.ring.transport_manager import MAX_UNDER_WAY, TransportManager
from raincheck.impl.ring.transport_peers import (
    MAX_PEERS,
    Acknowledged,
    Arrived,
    Found,
    Refused,
    Replaced,
    Undelivered,
)
from raincheck.impl.stack.timers import NEVER

A, B = Address("a", 0), Address("b", 0)
AT_A, AT_B = ("10.0.0.1", 1), ("10.0.0.2", 2)
PLACES = {A: AT_A, B: AT_B}
CONFIG = RingConfig(ring="r", retransmit_after=0.05, retransmit_max=0.2, give_up=0.8)


def read(source, _to, datagram, start):
    body = datagram[start:]
    if not body.startswith(b"="):
        raise WireError("malformed", f"from {source}")
    return body[1:].decode("latin-1")


def manager(me, kept=None):
    made = TransportManager(me, CONFIG, read, kept)
    for address, place in PLACES.items():
        if address.node != me.node:
            made.peers.learn(address, place)
    return made


def send(sender, to, text, now=0.0):
    sender.send(to, text, b"=" + text.encode(), now)


def carry(sender, receiver, now=0.0, place=None):
    """All datagrams of one reach the other."""
    data = sender.poll_datagrams()
    for datagram, _ in data:
        receiver.receive(datagram, place or PLACES.get(sender.me, AT_A), now)
    return len(data)


def notices(manager):
    return manager.poll_notices()


def test_a_message_arrives_and_its_sender_is_notified():
    a, b = manager(A), manager(B)

    send(a, B, "one")
    carry(a, b)
    carry(b, a)

    assert notices(b) == [Arrived(A, "one")]
    assert notices(a) == [Acknowledged(B, "one")]
    assert a.deadline() == float("inf")
    assert a.under_way() == []


def test_what_is_not_acknowledged_is_sent_again_with_growing_pauses_and_then_given_up():
    a, times, now = manager(A), [], 0.0
    send(a, B, "one")

    while a.deadline() < float("inf"):
        if a.poll_datagrams():
            times.append(round(now, 3))
        assert notices(a) == []
        now = a.deadline()
        a.tick(now)

    assert times == [0.0, 0.05, 0.15, 0.35, 0.55, 0.75]
    assert now == pytest.approx(0.8)
    assert notices(a) == [Undelivered(B, "one")]
    assert a.poll_datagrams() == []
    assert a.peers.has_failed(B)


def test_what_is_sent_to_a_peer_that_has_closed_is_given_up_as_soon_as_it_would_be_repeated():
    a, b = manager(A), manager(B)
    send(a, B, "on its way")
    b.close()
    b.say_closed()
    assert carry(b, a, 0.02) == 1
    assert notices(a) == []  # b may be back already, and take it

    a.tick(0.07)
    assert notices(a) == [Undelivered(B, "on its way")]
    send(a, B, "later", 0.1)
    assert len(a.poll_datagrams()) == 2
    assert a.deadline() == pytest.approx(0.15)
    a.tick(a.deadline())
    assert notices(a) == [Undelivered(B, "later")]
    assert a.deadline() == NEVER
    assert a.peers.has_failed(B)


def test_a_peer_that_is_back_is_waited_for_as_before():
    a, b = manager(A), manager(B)
    b.close()
    b.say_closed()
    carry(b, a)
    assert a.peers.has_failed(B)

    back = manager(B, b.kept())
    send(back, A, "back")
    carry(back, a)
    send(a, B, "one")
    assert not a.peers.has_failed(B)
    notices(a)
    a.tick(0.1)
    assert notices(a) == []


@pytest.mark.parametrize("has_sent", [True, False])
def test_an_old_word_of_a_close_is_known_by_what_the_peer_has_sent_since(has_sent):
    a, b = manager(A), manager(B)
    b.close()
    b.say_closed()
    word = b.poll_datagrams()[0][0]
    back = manager(B, b.kept())
    send(back, A, "back")
    if has_sent:
        carry(back, a)

    a.receive(word, AT_B, 0.0)

    assert a.peers.has_failed(B) is not has_sent
    assert a.counters["stale"] == has_sent


def test_a_peer_without_which_the_others_cannot_go_on_is_waited_for_though_it_has_closed():
    a, b = manager(A), manager(B)
    a.can_spare = lambda _member: False
    send(a, B, "one")
    b.close()
    b.say_closed()
    carry(b, a)

    a.tick(0.1)
    assert notices(a) == []
    assert not a.peers.has_failed(B)


def test_neither_a_stranger_nor_a_guest_closes_a_peer():
    a = manager(A)
    frames = Frames(CONFIG.ring, CONFIG.max_datagram)
    a.receive(frames.make(CLOSED, B, A, 9), AT_A, 0.0)
    assert a.counters["stranger"] == 1
    a.peers.only([])
    a.receive(frames.make(CLOSED, B, A, 9), AT_B, 0.0)

    assert not a.peers.has_failed(B)
    assert a.counters["heard_closed"] == 0


def test_who_slept_tries_again_before_it_gives_up():
    a = manager(A)
    send(a, B, "one")

    a.tick(100.0)
    assert notices(a) == []
    a.tick(100.2)

    assert notices(a) == []
    a.tick(101.0)
    assert notices(a) == [Undelivered(B, "one")]


def test_a_duplicate_is_not_taken_again_and_acknowledged_again():
    a, b = manager(A), manager(B)
    send(a, B, "one")
    [(datagram, _)] = a.poll_datagrams()
    for _ in range(3):
        b.receive(datagram, AT_A, 0.0)

    assert notices(b) == [Arrived(A, "one")]
    assert b.counters["duplicate"] == 2
    assert len(b.poll_datagrams()) == 3


def test_the_next_acknowledgement_repairs_the_loss_of_one():
    a, b = manager(A), manager(B)
    send(a, B, "one")
    carry(a, b)
    b.poll_datagrams()  # lost
    send(a, B, "two", 0.01)
    carry(a, b)
    carry(b, a)

    assert notices(a) == [Acknowledged(B, "one"), Acknowledged(B, "two")]


def test_a_failure_may_be_false():
    a, b, now = manager(A), manager(B), 0.0
    send(a, B, "one")
    while a.deadline() < float("inf"):
        carry(a, b)
        b.poll_datagrams()  # no acknowledgement ever arrives
        now = a.deadline()
        a.tick(now)

    assert notices(b) == [Arrived(A, "one")]
    assert notices(a) == [Undelivered(B, "one")]


def test_who_has_failed_fails_sooner_until_it_is_heard_of():
    a, b = manager(A), manager(B)

    def time_to_fail(start):
        send(a, B, "x", start)
        while a.under_way():
            now = a.deadline()
            a.tick(now)
        return now - start

    assert time_to_fail(0.0) == pytest.approx(CONFIG.give_up)
    assert time_to_fail(10.0) == pytest.approx(CONFIG.give_up_again)
    a.poll_datagrams()
    send(b, A, "here I am")
    carry(b, a)
    assert not a.peers.has_failed(B)
    assert time_to_fail(20.0) == pytest.approx(CONFIG.give_up)


def test_what_is_too_old_to_be_remembered_is_neither_taken_nor_acknowledged():
    a, b = manager(A), manager(B)
    send(a, B, "old")
    [(old, _)] = a.poll_datagrams()
    for number in range(WINDOW):
        send(a, B, str(number), 1.0 + number)
        carry(a, b)
        carry(b, a)
    notices(b)

    b.receive(old, AT_A, 99.0)

    assert notices(b) == []
    assert b.poll_datagrams() == []
    assert b.counters["beyond_window"] == 1


def test_messages_out_of_order_are_all_taken():
    a, b = manager(A), manager(B)
    for number in range(WINDOW):
        send(a, B, str(number)) if number < MAX_UNDER_WAY else None
    datagrams = a.poll_datagrams()
    random.Random(3).shuffle(datagrams)
    for datagram, _ in datagrams:
        b.receive(datagram, AT_A, 0.0)

    assert sorted(int(n.body) for n in notices(b)) == list(range(MAX_UNDER_WAY))


def test_the_oldest_fails_when_too_many_are_under_way():
    a = manager(A)
    for number in range(MAX_UNDER_WAY + 2):
        send(a, B, str(number))

    assert notices(a) == [Undelivered(B, "0"), Undelivered(B, "1")]
    assert len(a.under_way()) == MAX_UNDER_WAY


# ------------------------------------------------------------------ lives


def test_a_message_for_an_earlier_life_fails_soon():
    a, later = manager(A), manager(Address("b", 5))
    send(a, B, "one")
    carry(a, later)
    carry(later, a, place=AT_B)

    assert notices(later) == []
    assert notices(a) == [Undelivered(B, "one")]
    assert a.deadline() == NEVER
    assert a.under_way() == []


def test_what_is_for_another_node_is_not_answered_for_it():
    later = manager(Address("b", 5))
    later.receive(FRAMES.make(MESSAGE, A, Address("c", 0), 1, 0, b"=x"), AT_A, 0.0)
    later.receive(FRAMES.make(MESSAGE, B, B, 1, 0, b"=x"), AT_A, 0.0)

    assert later.counters == Counter({"not_for_me": 2})
    assert later.poll_datagrams() == []


def test_an_answer_to_an_earlier_life_is_counted_and_not_answered():
    later = manager(Address("b", 5))
    for kind in (ACK, GONE):
        later.receive(FRAMES.make(kind, A, B, 0), AT_A, 0.0)

    assert later.counters == Counter({"for_old_life": 2})
    assert later.poll_datagrams() == []
    assert notices(later) == []


def test_who_sends_to_an_earlier_life_again_and_again_does_so_in_time():
    """A joiner whose only contact was gone asked it for ever in one instant."""
    a, later = manager(A), manager(Address("b", 5))
    send(a, B, "one")
    carry(a, later)
    carry(later, a, place=AT_B)
    notices(a)

    send(a, B, "two")
    assert notices(a) == []
    assert [message for _, message in a.under_way()] == ["two"]
    due = a.deadline()
    assert due == a.config.retransmit_after
    a.tick(due / 2)
    assert notices(a) == []
    a.tick(due)
    assert notices(a) == [Undelivered(B, "two")]
    assert a.deadline() == NEVER
    assert a.peers.has_failed(B)
    assert not a.peers.has_failed(Address("b", 5))
    assert not a.peers.has_failed(Address("b", 6))


def test_an_earlier_life_is_not_heard_any_more_and_learns_it():
    a, b, later = manager(A), manager(B), Address("b", 5)
    a.peers.learn(later, AT_B)

    send(b, A, "old")
    carry(b, a)
    carry(a, b)

    assert notices(a) == []
    assert notices(b) == [Replaced(Address("b", 5))]


@pytest.mark.parametrize(
    "frame",
    [(ACK, A, 1, 1), (GONE, A, 0, 0), (HERE, None, 7, 0)],
    ids=["an acknowledgement", "it is gone", "an answer to a greeting"],
)
def test_what_an_earlier_life_has_sent_says_nothing_of_the_latest_one(frame):
    kind, to, number, mask = frame
    a, later = manager(A), Address("b", 5)
    a.peers.place(a.peers.latest(later), AT_B)
    send(a, later, "one")
    while a.under_way():
        a.tick(a.deadline())
    send(a, later, "two", 10.0)
    notices(a)

    if kind == HERE:
        frame = FRAMES.here(B, number, a.door.question(AT_B), 1)
    else:
        frame = FRAMES.make(kind, B, to, number, mask)
    a.receive(frame, AT_B, 10.0)
    a.receive(frame, ("10.0.0.9", 9), 10.0)

    assert [to for to, _ in a.under_way()] == [later]
    assert a.peers.endpoint_of(later) == AT_B
    assert a.peers.has_failed(later)
    assert not any(isinstance(n, Acknowledged) for n in notices(a))
    assert a.counters["stale"] == (to is not None)
    assert a.counters["stranger"] + a.counters["unasked"] == 1


def test_who_acknowledges_is_heard_of_again_if_it_does_so_from_where_it_is():
    a, b = manager(A), manager(B)
    send(a, B, "one")
    while a.under_way():
        a.tick(a.deadline())
    assert a.peers.has_failed(B)

    for place in (("10.0.0.9", 9), AT_B):
        carry(a, b, 5.0)
        carry(b, a, 5.0, place=place)
        send(a, B, "two")

        assert a.peers.has_failed(B) == (place != AT_B)
        assert a.peers.endpoint_of(B) == AT_B
    assert a.counters["stranger"] == 6  # once for each transmission


def test_an_acknowledgement_of_what_was_never_sent_is_not_taken():
    a = manager(A)
    send(a, B, "one")
    a.receive(FRAMES.make(ACK, B, A, 2, 3), AT_B, 0.0)
    assert a.counters["stale"] == 1
    assert [message for _, message in a.under_way()] == ["one"]


def test_a_life_that_comes_back_with_its_state_takes_nothing_twice_and_is_heard():
    a, b = manager(A), manager(B)
    send(a, B, "one")
    [(datagram, _)] = a.poll_datagrams()
    b.receive(datagram, AT_A, 0.0)
    send(b, A, "mine")
    carry(b, a)

    again = manager(B, b.kept())
    again.receive(datagram, AT_A, 1.0)
    send(again, A, "mine, later", 1.0)
    carry(again, a)

    assert notices(again) == []
    assert [n.body for n in notices(a) if isinstance(n, Arrived)] == ["mine", "mine, later"]


def test_who_is_closed_takes_nothing_new_and_acknowledges_what_it_had():
    a, b = manager(A), manager(B)
    send(a, B, "one")
    [(one, _)] = a.poll_datagrams()
    b.receive(one, AT_A, 0.0)
    b.poll_datagrams()
    b.closed = True
    send(a, B, "two")
    carry(a, b)
    assert b.poll_datagrams() == []
    b.receive(one, AT_A, 0.0)

    assert len(b.poll_datagrams()) == 1
    assert notices(b) == [Arrived(A, "one")]


# ------------------------------------------------------------------ strangers


def test_members_answer_hello_and_others_do_not():
    a, b = manager(A), manager(B)
    b.epoch = 7
    a.hello(AT_B)
    carry(a, b)
    assert b.poll_datagrams() == []
    b.answers_hello = True
    a.hello(AT_B)
    carry(a, b)
    carry(b, a)

    assert notices(a) == [Found(B, AT_B, 7)]


def test_who_answers_a_greeting_is_found_where_it_was_asked():
    a, b = TransportManager(A, CONFIG, read), manager(B)
    b.answers_hello = True
    for place, found in ((("10.0.0.9", 9), None), (AT_B, AT_B), (("10.0.0.9", 9), AT_B)):
        a.hello(AT_B)
        carry(a, b)
        carry(b, a, place=place)
        assert a.peers.endpoint_of(B) == found
    assert a.counters["unasked"] == 2


def test_the_first_pause_follows_the_round_trips_of_what_was_sent_once():
    def pause(answered, tries):
        """How long it waits for the second message, the first being answered then."""
        a, b = manager(A), manager(B)
        send(a, B, "one")
        for _ in range(tries - 1):
            a.tick(a.deadline())
        carry(a, b)
        carry(b, a, answered)
        assert notices(a) == [Acknowledged(B, "one")]
        send(a, B, "two", 1.0)
        return a.deadline() - 1.0

    assert pause(0.04, 1) == pytest.approx(3 * 0.04)  # the trip, and four times half of it
    assert pause(0.001, 1) == pytest.approx(0.05)
    assert pause(0.1, 2) == pytest.approx(0.05), "nobody knows which of the two was answered"


FRAMES = Frames("r", CONFIG.max_datagram)
GOOD = FRAMES.make(MESSAGE, A, B, 1, 0, b"=x")


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n" + bytes(50), "not_ours"),
        (b"RN\x07" + GOOD[3:], "wrong_version"),
        (Frames("other", 60_000).make(MESSAGE, A, B, 1, 0, b"=x"), "other_ring"),
        (GOOD[:-1], "truncated"),
        (GOOD + b"x", "truncated"),
        (GOOD + bytes(60_000), "oversized"),
        (FRAMES.make(MESSAGE, A, B, 1, 0, b"junk"), "malformed"),
        (FRAMES.make(MESSAGE, A, B, 0, 0, b"=x"), "malformed"),
        (FRAMES.make(HELLO, A, B), "malformed"),
        (FRAMES.make(MESSAGE, A, None, 1), "malformed"),
        (FRAMES.make(99, A, B, 1), "malformed"),
        (FRAMES.make(MESSAGE, Address("", 0), B, 1, 0, b"=x"), "malformed"),
        (FRAMES.make(MESSAGE, Address("a", -1), B, 1, 0, b"=x"), "malformed"),
        (FRAMES.make(MESSAGE, Address("x" * 65, 0), B, 1, 0, b"=x"), "malformed"),
        (FRAMES.make(MESSAGE, A, Address("c", 0), 1, 0, b"=x"), "not_for_me"),
        (FRAMES.make(MESSAGE, B, B, 1, 0, b"=x"), "not_for_me"),
    ],
)
def test_what_cannot_be_taken_is_counted_and_its_sender_named(datagram, reason):
    b = manager(B)
    b.receive(datagram, AT_A, 0.0)

    assert b.counters == Counter({reason: 1})
    [dropped] = b.poll_dropped()
    assert (dropped.reason, dropped.sender, dropped.times) == (reason, AT_A, 1)
    assert notices(b) == []
    assert b.poll_datagrams() == []


def test_numbers_out_of_range_are_refused_before_they_are_sent():
    for number, mask in ((-1, 0), (1 << 61, 0), (1, 1 << 63), (1, -1)):
        with pytest.raises(ValueError, match="out of range"):
            FRAMES.make(MESSAGE, A, B, number, mask)
    with pytest.raises(ValueError, match="at most 60000"):
        FRAMES.make(MESSAGE, A, B, 1, 0, bytes(60_000))


@given(st.binary(max_size=120))
def test_random_bytes_never_raise(junk):
    b = manager(B)
    b.receive(junk, AT_A, 0.0)
    b.receive(GOOD[:37] + junk, AT_A, 0.0)
    assert notices(b) == []


def test_any_flipped_bit_of_any_kind_of_frame_is_refused():
    """All but those by which it is of nobody, of another version, or cut off, as corrupted."""
    frames = [
        FRAMES.make(MESSAGE, A, B, 1, 0, b"=x" * 20),
        FRAMES.make(ACK, A, B, 3, 7),
        FRAMES.make(GONE, A, B, 9),
        FRAMES.make(HELLO, A, None),
        FRAMES.here(A, 3, 7, 8),
    ]
    for frame in frames:
        for bit in range(8 * len(frame)):
            damaged = bytearray(frame)
            damaged[bit // 8] ^= 1 << bit % 8
            b = manager(B)
            b.receive(bytes(damaged), AT_A, 0.0)
            where = ("not_ours", "not_ours", "wrong_version", *["corrupted"] * 9)
            length = ("truncated",) * 4
            expected = dict(enumerate((*where, *length))).get(bit // 8, "corrupted")
            assert b.counters == Counter({expected: 1})
            assert notices(b) == b.poll_datagrams() == []


@pytest.mark.parametrize("kind", [MESSAGE, ACK, GONE, HELLO, CLOSED])
def test_a_mask_that_no_answer_could_repeat_is_refused(kind):
    to = None if kind == HELLO else B
    frame = bytearray(FRAMES.make(kind, A, to, 1, (1 << 63) - 1, b"=x" if kind == MESSAGE else b""))
    frame[24] |= 0x80  # the first byte of the mask
    whole = bytes(frame[8:])
    frame[4:8] = crc32(whole, crc32(bytes(frame[:4]))).to_bytes(4, "big")
    b = manager(B)
    b.answers_hello = True

    b.receive(bytes(frame), AT_A, 0.0)

    assert b.counters == Counter({"malformed": 1})
    assert notices(b) == b.poll_datagrams() == []


@given(st.data())
def test_no_burst_of_wrong_bits_is_taken(data):
    """A CRC-32 finds each burst of up to 32 bits."""
    frame = FRAMES.make(MESSAGE, A, B, 1, 0, b"=" + data.draw(st.binary(max_size=300)))
    wrong = data.draw(st.integers(1, (1 << 32) - 1))
    shift = data.draw(st.integers(0, 8 * len(frame) - 32))
    damaged = (int.from_bytes(frame, "big") ^ wrong << shift).to_bytes(len(frame), "big")
    b = manager(B)
    b.receive(damaged, AT_A, 0.0)

    [reason] = b.counters
    assert reason in {"corrupted", "not_ours", "wrong_version", "truncated"}
    assert notices(b) == []


def test_another_version_is_named_whatever_else_it_has():
    b = manager(B)
    b.receive(b"RN\x01" + GOOD[3:30], ("6.6.6.6", 666), 0.0)

    [dropped] = b.poll_dropped()
    assert (dropped.reason, dropped.detail) == ("wrong_version", "version 1, this is 6")


def asking(me, admit=None):
    """A manager to which each message of "join" is a request to join."""
    made = TransportManager(me, CONFIG, read, is_request="join".__eq__, admit=admit)
    made.answers_hello = True
    return made


def asks(b, who, place, now=0.0, text=b"=join", number=1):
    """A process asks to join by b, with the cookie of that place."""
    b.receive(FRAMES.make(MESSAGE, who, b.me, number, b.door.cookie(place), text), place, now)
    return [notice.source for notice in notices(b) if isinstance(notice, Arrived)]


def test_one_endpoint_has_only_so_many_guests_a_minute_and_all_have_ten_times_as_many():
    b, most = asking(B), CONFIG.joins_per_minute
    lives = [Address("z", number) for number in range(2 * most)]

    taken = [who for who in lives if asks(b, who, ("6.6.6.6", 1), 1.0)]

    assert taken == lives[:most]
    assert b.counters["join_delayed"] == most
    assert b.poll_dropped()[-1].detail == f"z.{most}: too many joins a minute"
    assert asks(b, taken[-1], ("6.6.6.6", 1), 2.0, number=2) == [taken[-1]]  # it goes on asking
    assert asks(b, lives[-1], ("6.6.6.6", 1), 61.0) == [lives[-1]]

    others = [Address(f"y{place}", life) for place in range(11) for life in range(most)]
    b = asking(B)
    assert sum(bool(asks(b, who, (who.node, 1), 1.0)) for who in others) == 10 * most


def test_memory_is_bounded_whatever_strangers_send():
    b = asking(B)
    for number in range(3 * MAX_GUESTS):
        place = ("6.6.6.6", number + 1)
        stranger = Address(f"s{number}", 0)
        b.receive(FRAMES.make(MESSAGE, stranger, B, 1, 0, b"=join"), place, 0.0)
        b.receive(FRAMES.make(HELLO, stranger, None), place, 0.0)
        b.receive(FRAMES.here(stranger, 1, number, number), place, 0.0)
        asks(b, stranger, place, text=b"=something else")
        asks(b, stranger, place, text=b"junk")
        assert len(b.peers) == min(number, MAX_GUESTS)
        assert asks(b, stranger, place) == [stranger] * (number < MAX_GUESTS)
        assert asks(b, Address(f"t{number}", 0), place) == []
        b.poll_datagrams()
    assert len(b.peers) == MAX_GUESTS
    assert asks(b, Address("late", 0), ("6.6.6.6", 9999), GUEST_IDLE + 1) == [Address("late", 0)]
    assert len(b.peers) == 1


def test_who_asks_to_join_shows_that_it_is_where_it_says():
    b, place, z = asking(B), ("6.6.6.6", 666), Address("z", 0)
    for proof in (0, 1, b.door.cookie(AT_A), asking(B).door.cookie(place)):
        b.receive(FRAMES.make(MESSAGE, z, B, 1, proof, b"=join"), place, 0.0)
    large = b"=join" + bytes(MAX_REQUEST)
    assert asks(b, z, place, text=large) == []
    assert b.counters == Counter({"stranger": 5})
    assert b.poll_datagrams() == []

    b.receive(FRAMES.make(HELLO, z, None, 0, 77), place, 0.0)
    [(here, to)] = b.poll_datagrams()
    frame = FRAMES.read(here)
    assert (to, frame.mask, cookie_of(frame)) == (place, 77, b.door.cookie(place))
    assert asks(b, z, place) == [z]


def test_a_guest_may_ask_and_nothing_else():
    b, place, z = asking(B), ("6.6.6.6", 666), Address("z", 0)
    assert asks(b, z, place) == [z]
    assert asks(b, z, place, text=b"=token", number=2) == []
    b.receive(FRAMES.make(GONE, z, B, 99), place, 0.0)
    assert notices(b) == []
    assert asks(b, z, place, number=2) == [z]
    b.peers.learn(z, place)  # a member's token names it
    assert asks(b, z, place, text=b"=token", number=3) == [z]


def test_a_guest_is_given_the_secret_of_the_ring_if_there_is_room_for_it():
    """It may be on a list, and be asked for its promise, before it has had a token."""
    z, place = Address("z", 0), ("6.6.6.6", 666)
    for room in (False, True):
        b = asking(B)
        b.door.make_secret()
        b.has_room = room
        joiner = TransportManager(z, CONFIG, read, door=Door(place))
        joiner.peers.learn(B, AT_B)
        joiner.peers.latest(B).cookie = b.door.cookie(place)
        send(joiner, B, "join")
        carry(joiner, b, place=place)
        data = b.poll_datagrams()
        for ack, _ in data:
            joiner.receive(ack, ("6.6.6.7", 667), 0.0)  # of nobody that it knows
        assert joiner.door.secret == b""
        for ack, _ in data:
            joiner.receive(ack, AT_B, 0.0)
        assert joiner.door.secret == (b.door.secret if room else b"")
        assert notices(joiner) == [Acknowledged(B, "join")]
        notices(b)
        if room:  # with it, it is one guest under any name
            for name in "xy":
                frame = FRAMES.make(MESSAGE, Address(name, 0), B, 1, joiner.door.proof, b"=join")
                b.receive(frame, place, 0.0)
            assert b.counters["too_many_guests"] == 2
            assert notices(b) == []


def test_who_knows_the_secret_of_the_ring_is_a_member_wherever_it_is():
    b, place = manager(B), ("10.0.0.9", 9)
    b.door.make_secret()
    moved = TransportManager(A, CONFIG, read, door=Door(place))
    moved.door.secret = b.door.secret
    frame = FRAMES.make(MESSAGE, A, B, 1, moved.door.proof, b"=token")

    b.receive(frame, ("6.6.6.6", 666), 0.0)  # the same, sent from elsewhere
    assert notices(b) == []
    b.receive(frame, place, 0.0)
    assert notices(b) == [Arrived(A, "token")]
    assert b.peers.endpoint_of(A) == place


def test_a_duplicate_from_elsewhere_is_not_answered_and_moves_nobody():
    b = manager(B)
    frame = FRAMES.make(MESSAGE, A, B, 1, 0, b"=token")
    b.receive(frame, AT_A, 0.0)
    b.poll_datagrams()
    place = ("6.6.6.6", 666)
    cookie = b.door.cookie(place)  # which makes it no member
    for shown in (frame, FRAMES.make(MESSAGE, A, B, 1, cookie, b"=join")):
        b.receive(shown, place, 0.0)

    assert b.poll_datagrams() == []
    assert b.peers.endpoint_of(A) == AT_A


def test_a_later_life_has_the_name_at_once_at_the_same_place_and_elsewhere_after_a_silence():
    later, place = Address("a", 7), ("10.0.0.9", 9)

    def with_member():
        made = asking(B)
        made.peers.learn(A, AT_A)
        return made

    assert asks(with_member(), later, AT_A) == [later]

    b, now = with_member(), 10.0
    while not asks(b, later, place, now):
        assert [to for _, to in b.poll_datagrams()] == [AT_A]  # it is asked whether it is there
        now += 0.1
    assert now - 10.0 == pytest.approx(CONFIG.give_up, abs=0.11)

    b = with_member()
    assert asks(b, later, place, 10.0) == []
    b.receive(FRAMES.here(A, 0, b.door.question(AT_A), 0), AT_A, 10.1)
    notices(b)
    b.poll_datagrams()
    assert asks(b, later, place, 11.5) == []
    [(refused, _)] = b.poll_datagrams()
    joiner = TransportManager(later, CONFIG, read)
    joiner.peers.learn(B, AT_B)
    joiner.receive(refused, AT_B, 0.0)
    assert notices(joiner) == [Refused(B, AT_B, A)]


def test_who_may_join_is_decided_by_a_function_or_by_networks():
    z, inside, outside = Address("z", 0), ("10.1.2.3", 4), ("10.2.2.3", 4)

    def odd(_who, endpoint):
        if endpoint == outside:
            raise RuntimeError("odd")
        return True

    for admit in (["10.1.0.0/16", "::1"], odd, lambda who, at: who == z and at == inside):
        b = asking(B, admission(admit))
        assert asks(b, z, outside) == []
        assert b.counters["not_admitted"] == 1
        answers = b.poll_datagrams()
        assert asks(b, z, inside) == [z]
        if admit is odd:
            assert b.poll_dropped()[0].detail == "z.0: admit() raised RuntimeError('odd')"
            continue
        [(refused, to)] = answers
        assert to == outside
        joiner = TransportManager(z, CONFIG, read)
        joiner.peers.learn(B, AT_B)
        joiner.receive(refused, AT_B, 0.0)
        assert notices(joiner) == [Refused(B, AT_B, None)]
    with pytest.raises(ConfigError, match=r"admit is '10\.0\.0\.0/8'; give a list of networks"):
        admission("10.0.0.0/8")
    with pytest.raises(ConfigError, match=r"admit= names what is no network: '10/33'"):
        admission(["10/33"])


def test_a_peer_that_was_forgotten_is_sent_numbers_that_it_has_not_seen():
    a, b = manager(A), manager(B)
    for text in ("one", "two"):
        send(a, B, text)
        carry(a, b)
        carry(b, a)
    for number in range(MAX_PEERS + 1):
        a.peers.learn(Address(f"s{number}", 0), AT_A)
    assert a.peers.endpoint_of(B) is None
    a.peers.learn(B, AT_B)
    send(a, B, "three")
    carry(a, b)

    assert [n.body for n in notices(b)] == ["one", "two", "three"]


# ------------------------------------------------------------------ any network


def exchange(seed, loss, receiver=manager):
    """Send 200 messages over a bad network; return what arrived and what the sender was told."""
    lot = random.Random(seed)
    a, b, now, flights, arrived, answers = manager(A), receiver(B), 0.0, [], [], []
    for number in range(200):
        send(a, B, str(number), now)
        end = now + lot.choice([0.0, 0.01, 0.3])
        while True:
            for source, data in ((A, a.poll_datagrams()), (B, b.poll_datagrams())):
                for datagram, _ in data:
                    copies = lot.choice([1, 1, 2])
                    delays = [0.2 * lot.random() for _ in range(copies) if lot.random() >= loss]
                    flights += [(now + delay, source, datagram) for delay in delays]
            arrived += [n.body for n in notices(b)]
            answers += notices(a)
            flights.sort()
            soonest = min(a.deadline(), flights[0][0] if flights else end)
            if soonest >= end and number < 199:
                now = end
                break
            if not flights and not a.under_way():
                return arrived, answers
            now = max(now, min(a.deadline(), flights[0][0] if flights else a.deadline()))
            if flights and flights[0][0] <= now:
                _, source, datagram = flights.pop(0)
                (b if source == A else a).receive(datagram, PLACES[source], now)
            a.tick(now)
    raise AssertionError


@pytest.mark.parametrize("seed", range(6))
def test_over_any_network_each_message_is_taken_once_at_most_and_answered_once(seed):
    arrived, answers = exchange(seed, loss=(0.0, 0.2, 0.6)[seed % 3])

    assert len(arrived) == len(set(arrived))
    assert sorted(int(n.message) for n in answers) == list(range(200))
    acknowledged = {n.message for n in answers if isinstance(n, Acknowledged)}
    assert acknowledged <= set(arrived)
    assert len(acknowledged) > 100


def test_a_receiver_that_forgets_what_it_took_is_noticed():
    class Forgetful(TransportManager):
        def _message(self, frame, endpoint, now):
            super()._message(frame, endpoint, now)
            for peer in self.peers.by_name.values():
                peer.mask = 0

    def forgetful(me):
        made = Forgetful(me, CONFIG, read)
        made.peers.learn(A, AT_A)
        return made

    arrived, _ = exchange(1, 0.2, forgetful)

    assert len(arrived) > len(set(arrived))
