"""Bodies of tokens and 911s: what is made can be read, and nothing else can do harm."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Payloads
from raincheck.impl.raincore.events import (
    LIMIT,
    NO_TOKEN,
    NOBODY,
    ZERO,
    Call911,
    Epoch,
    Mail,
    Settled,
    Token,
)
from raincheck.impl.ring.bodies import LETTER_OVERHEAD, MAX_NAMED, Letter, Named, Reserve
from raincheck.impl.ring.wire import RaincoreCodec

A, B, C, GONE = Address("a", 0), Address("b", 3), Address("c", 0), Address("b", 2)
PLACES = {A: ("10.0.0.1", 1), B: ("10.0.0.2", 2)}
VERSION = [0]
CODEC = RaincoreCodec(PLACES.get, lambda: VERSION[0])

TOKEN = Token(
    to=B,
    current=A,
    epoch=Epoch(3, C),
    seq=17,
    nodelist=(C, B, A),
    global_view_number=5,
    settled=Settled(4, (C, GONE, A)),
    before=Settled(2, (GONE, A)),
    pending=((C, A), (C, B, A)),
    seen=frozenset({A, C}),
    mail=(Mail(8, GONE, 2), Mail(9, A, 4)),
    acks=((A, 9), (C, 7)),
    top=9,
)
LETTERS = {
    (GONE, 2): Letter(11, Payloads.pack([b"one", b"", b"three"])),
    (A, 4): Letter(5, Payloads.pack([b"x" * 300])),
}
CALL = Call911(
    to=B,
    orig=C,
    current=A,
    nodelist=(C, B, A),
    epoch=Epoch(3, GONE),
    seq=16,
    status="no",
    attempt=4,
    phase="claim",
    claim=Epoch(4, C),
    granted=frozenset({C, A}),
    promised=Epoch(5, A),
)
QUIET = TOKEN._replace(mail=())
JOINER = Call911(to=B, orig=C, current=A, nodelist=(), epoch=ZERO, seq=0, attempt=1)
START = Settled(0, (A,))
FIRST = Token(B, A, ZERO, 0, (A,), 0, START, START, ((A,),), frozenset(), acks=((A, 0),))
LARGEST = QUIET._replace(seq=LIMIT, epoch=Epoch(LIMIT, A), global_view_number=LIMIT, top=LIMIT)
BODIES = [CODEC.encode(TOKEN, LETTERS, Reserve(C, 99)), CODEC.encode(QUIET), CODEC.encode(CALL)]


def decode(body, start=0):
    return CODEC.decode(A, B, body, start)


def outcome(body):
    try:
        decode(body)
    except WireError as problem:
        return problem.reason
    return "read"


def refused(body):
    with pytest.raises(WireError) as caught:
        decode(body)
    assert caught.value.reason == "malformed"
    return caught.value.detail


@pytest.mark.parametrize("message", [QUIET, CALL, JOINER, FIRST, LARGEST])
def test_a_message_comes_out_as_it_went_in(message):
    body = decode(CODEC.encode(message))

    assert body.message == message
    assert type(body.message) is type(message)
    assert body.reserve.member == NOBODY


def test_a_token_comes_out_with_its_mail_the_room_reserved_and_where_members_are():
    body = decode(b"frame" + CODEC.encode(TOKEN, LETTERS, Reserve(C, 99)), 5)

    assert body.message == TOKEN
    assert body.reserve == Reserve(C, 99)
    assert {key: letter.first for key, letter in body.letters.items()} == {(GONE, 2): 11, (A, 4): 5}
    assert body.letters[GONE, 2].payloads.unpack() == [b"one", b"", b"three"]
    assert Named("b", 3, "10.0.0.2", 2) in body.roster
    assert Named("c", 0, "", 0) in body.roster


def test_a_batch_is_handed_on_as_it_came():
    once = decode(CODEC.encode(TOKEN, LETTERS))

    assert CODEC.encode(TOKEN, once.letters) == CODEC.encode(TOKEN, LETTERS)


def test_a_roster_that_is_known_is_read_once():
    codec = RaincoreCodec(PLACES.get, lambda: 0)
    once = codec.decode(A, B, BODIES[1], 0)
    again = codec.decode(A, B, BODIES[1], 0)

    assert once.roster is again.roster
    assert once.message.nodelist[0] is again.message.nodelist[0]


def test_a_new_place_of_a_member_is_reported():
    places = dict(PLACES)
    codec = RaincoreCodec(places.get, lambda: len(places))
    before = codec.encode(QUIET)
    assert codec.encode(QUIET) == before
    places[C] = ("10.0.0.3", 3)

    assert Named("c", 0, "10.0.0.3", 3) in decode(codec.encode(QUIET)).roster


def test_others_on_a_token_with_the_same_list_are_named_too():
    codec = RaincoreCodec(PLACES.get, lambda: 0)
    codec.encode(QUIET)
    stranger = Address("z", 1)

    body = decode(codec.encode(QUIET._replace(epoch=Epoch(9, stranger))))

    assert body.message.epoch == Epoch(9, stranger)


@pytest.mark.parametrize(
    "message",
    [
        QUIET._replace(seq=-1),
        QUIET._replace(seq=LIMIT + 1),
        QUIET._replace(epoch=Epoch(LIMIT + 1, A)),
        QUIET._replace(epoch=Epoch(0, A)),
        QUIET._replace(epoch=Epoch(1, NOBODY)),
        QUIET._replace(nodelist=()),
        QUIET._replace(nodelist=(A, B, A)),
        QUIET._replace(settled=Settled(6, (A,))),
        QUIET._replace(before=Settled(5, (A,))),
        QUIET._replace(before=Settled(1, (A, A))),
        QUIET._replace(pending=((A, A),)),
        QUIET._replace(acks=((C, 1), (A, 1))),
        QUIET._replace(acks=((A, 1), (A, 1))),
        QUIET._replace(acks=((A, 10),)),
        QUIET._replace(top=-1),
        TOKEN._replace(top=8),
        TOKEN._replace(mail=TOKEN.mail[::-1]),
        TOKEN._replace(mail=(TOKEN.mail[0], TOKEN.mail[0])),
        TOKEN._replace(mail=(Mail(0, A, 4),)),
        TOKEN._replace(mail=(Mail(9, GONE, 2), Mail(10, GONE, 2))),
        QUIET._replace(nodelist=(Address("", 0), B)),
        QUIET._replace(nodelist=(Address("x" * 65, 0), B)),
        QUIET._replace(nodelist=(Address("a", -1), B)),
        CALL._replace(status="perhaps"),
        CALL._replace(phase="none"),
        CALL._replace(seq=-1),
        CALL._replace(attempt=LIMIT + 1),
        CALL._replace(nodelist=(A, A)),
        CALL._replace(nodelist=(A, B)),
        CALL._replace(claim=Epoch(0, A)),
        NO_TOKEN,
    ],
)
def test_what_no_member_sends_is_refused(message):
    try:
        body = CODEC.encode(message, LETTERS)
    except (KeyError, ValueError):
        return  # refused even before
    refused(body)


@pytest.mark.parametrize(
    ("place", "read"),
    [
        (("h" * 64, 65_535), True),
        (("h" * 65, 1), False),
        (("h", 65_536), False),
        (("h", -1), False),
    ],
)
def test_a_place_that_cannot_be_is_refused(place, read):
    body = RaincoreCodec(lambda _: place, lambda: 0).encode(QUIET)
    if read:
        assert {each[2:] for each in decode(body).roster} == {place}
    else:
        refused(body)


def test_no_more_are_named_than_the_wire_format_allows():
    many = [Address("m", number) for number in range(MAX_NAMED + 1)]

    def named(count):
        return CODEC.encode(QUIET._replace(nodelist=tuple(many[:count]), pending=(), seen=()))

    assert MAX_NAMED == 1024  # any other would be another wire format
    held = len({*QUIET.settled.nodelist, *QUIET.before.nodelist, C, A})
    assert len(decode(named(MAX_NAMED - held)).roster) == MAX_NAMED
    refused(named(MAX_NAMED - held + 1))


def test_a_batch_takes_no_more_of_a_token_than_is_counted_for_it():
    """However large its numbers are, and however many members there are; beside its origin."""
    nodelist = tuple(Address("m", number) for number in range(256))
    empty = FIRST._replace(nodelist=nodelist, top=LIMIT, acks=())
    for size in (1, 300, 13_000):
        payloads = Payloads.pack([b"x"] * size)
        letters = {(nodelist[-1], LIMIT - k): Letter(LIMIT, payloads) for k in range(20)}
        mail = tuple(Mail(LIMIT - 20 + n, *key) for n, key in enumerate(letters))
        body = CODEC.encode(empty._replace(mail=mail), letters)

        assert decode(body).message.mail == mail
        needed = len(body) - len(CODEC.encode(empty))
        counted = sum(letter.size for letter in letters.values())
        assert needed <= counted <= needed + 20 * LETTER_OVERHEAD


@pytest.mark.parametrize("body", BODIES)
def test_a_body_cut_off_anywhere_is_refused(body):
    for length in range(len(body)):
        refused(body[:length])
    refused(body + b"x")


@given(st.binary(max_size=120))
def test_random_bytes_are_refused(junk):
    refused(junk)


@settings(max_examples=30)
@given(
    st.recursive(
        st.none() | st.integers(-2, LIMIT) | st.sampled_from(["T", "9", "yes", "a"]),
        lambda inner: st.lists(inner, max_size=13),
    )
)
def test_any_msgpack_is_read_or_refused(value):
    fields = msgspec.msgpack.encode(value)
    assert outcome(len(fields).to_bytes(4, "big") + fields) in ("read", "malformed")


def test_a_flipped_bit_is_read_or_refused_but_never_raises_anything_else():
    flip = random.Random(1)
    outcomes = set()
    for body in BODIES:
        for _ in range(300):
            damaged = bytearray(body)
            damaged[flip.randrange(len(damaged))] ^= 1 << flip.randrange(8)
            outcomes.add(outcome(bytes(damaged)))
    assert outcomes == {"read", "malformed"}
