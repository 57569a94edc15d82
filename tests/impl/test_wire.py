"""Datagrams: what is made can be read, and nothing else can do harm."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Digest, Payloads, View, ViewId
from raincheck.impl.wire.datagrams import REASONS, Codec, sealed
from raincheck.impl.wire.headers import (
    LANES,
    Alive,
    AreYouAlive,
    DataHeader,
    Excluded,
    Fetch,
    Fid,
    FlushCompleted,
    ForwardBody,
    InstallBody,
    JoinHint,
    JoinRefused,
    JoinReq,
    JoinRspBody,
    Leaving,
    Nak,
    NewViewBody,
    NotJoinedBody,
    PlacedView,
    ReceivedUpTo,
    Reconcile,
    ReconcileOk,
    SafeUpTo,
    Stability,
    StableDigest,
    StartFlush,
    StopFlush,
    UnicastAck,
    UnicastHeader,
    ViewAckBody,
)

A, B = Address("a", 0), Address("b", 3)
VIEW = View(ViewId(4, A), (A, B), (B,))
PLACED = PlacedView(VIEW, (("10.0.0.1", 7), ("10.0.0.2", 8)))
DIGEST = Digest(((A, 5), (B, 0)))
FID = Fid(4, A, 2)
CODEC = Codec("orders", 60_000)


def in_unicast(body):
    return UnicastHeader(A, B, 0, 1, 9, body)


HEADERS = [
    in_unicast(JoinRspBody(PLACED, ((A, 5),), DIGEST, DIGEST, 77)),
    in_unicast(StartFlush(FID, (A, B))),
    in_unicast(FlushCompleted(FID, DIGEST, (PLACED,))),
    in_unicast(Reconcile(FID, (Fetch(A, 5, B),))),
    in_unicast(ReconcileOk(FID)),
    in_unicast(StopFlush(FID)),
    in_unicast(NewViewBody(PLACED)),
    in_unicast(ViewAckBody(4)),
    in_unicast(InstallBody(4)),
    in_unicast(NotJoinedBody(4, True)),
    UnicastAck(A, B, 1, 1, 5, 4, ((6, 7),)),
    Nak(A, B, ((1, 2), (4, 4))),
    ReceivedUpTo(A, VIEW.id, 7, 55),
    SafeUpTo(A, VIEW.id, 7, 55),
    Alive(A, ViewId(4, A), 10, True, DIGEST),
    AreYouAlive(A, B),
    StableDigest(A, VIEW.id, DIGEST, DIGEST),
    Stability(A, VIEW.id, DIGEST),
    JoinReq(A, "stack", False, 0, 0),
    JoinHint(A, "10.0.0.1", 7, 0, 0),
    JoinRefused(A, B, "no", 0),
    Excluded(A, B, View(ViewId(5, A), (A,))),
    Leaving(A),
]
PAYLOADS = Payloads.pack([b"one", b"", b"three"])
WITH_PAYLOADS = [
    DataHeader(A, 3, B, 10, 3, ViewId(4, A), 100, 55),
    UnicastHeader(A, B, 1, 1, 9, ForwardBody(10, 3, ViewId(4, A), 20, 55)),
]
DATAGRAMS = [CODEC.encode(header) for header in HEADERS] + [
    CODEC.encode(header, PAYLOADS) for header in WITH_PAYLOADS
]


def outcome(datagram):
    try:
        CODEC.decode(datagram)
    except WireError as problem:
        return problem.reason
    return "read"


def reason_for(datagram, codec=CODEC):
    with pytest.raises(WireError) as caught:
        codec.decode(datagram)
    assert caught.value.reason in REASONS
    return caught.value.reason


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: type(h).__name__)
def test_a_header_comes_out_as_it_went_in(header):
    assert (header, None) == CODEC.decode(CODEC.encode(header))


@pytest.mark.parametrize("header", WITH_PAYLOADS, ids=lambda h: type(h).__name__)
def test_a_run_comes_out_with_its_payloads(header):
    decoded, payloads = CODEC.decode(CODEC.encode(header, PAYLOADS))

    assert header == decoded
    assert payloads.unpack() == [b"one", b"", b"three"]


@pytest.mark.parametrize("datagram", DATAGRAMS)
def test_a_datagram_cut_off_anywhere_is_refused(datagram):
    for length in range(len(datagram)):
        assert reason_for(datagram[:length]) == "truncated"
    assert reason_for(datagram + b"x") == "truncated"


def test_the_reason_says_what_is_wrong():
    good = DATAGRAMS[-1]

    assert reason_for(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n") == "not_ours"
    assert reason_for(sealed(good[:2] + b"\x63" + good[3:])) == "wrong_version"
    assert reason_for(good[:2] + b"\x63" + good[3:]) == "corrupted"
    assert reason_for(good[:2] + b"\x02" + good[3:]) == "corrupted"
    assert reason_for(b"RC\x02\x00" + good[4:8] + b"\x00\x00\x00\x14" + bytes(8)) == "wrong_version"
    assert reason_for(CODEC.refusal()) == "refused_version"
    assert (
        reason_for(b"RC\x02\x01" + good[4:8] + b"\x00\x00\x00\x10" + bytes(4)) == "refused_version"
    )
    assert (
        reason_for(Codec("invoices", 60_000).encode(JoinReq(A, "", False, 0, 0))) == "other_group"
    )
    assert reason_for(good + bytes(60_000)) == "oversized"
    assert reason_for(sealed(good[:12] + b"\xff\xff\xff\xff" + good[16:])) == "malformed"


@pytest.mark.parametrize(
    "header",
    [
        Leaving(Address("", 0)),
        Leaving(Address("a", -1)),
        Leaving(Address("x" * 65, 0)),
        Nak(A, B, ((0, 2),)),
        UnicastHeader(A, B, len(LANES), 1, 1, ViewAckBody(1)),
        Excluded(A, B, View(ViewId(5, A), ())),
        Excluded(A, B, View(ViewId(5, A), (A, A))),
        Excluded(A, B, View(ViewId(5, B), (A,))),
        Excluded(A, B, View(ViewId(5, A), (A,), (B,))),
        in_unicast(NewViewBody(PlacedView(VIEW, ()))),
        in_unicast(FlushCompleted(FID, DIGEST, (PlacedView(VIEW, ()),))),
        in_unicast(NewViewBody(PlacedView(VIEW, (("10.0.0.1", 7), ("example.org", 8))))),
        JoinHint(A, "\0", 7, 0, 0),
        JoinHint(A, "example.org", 7, 0, 0),
        JoinHint(A, "10.0.0.1\0", 7, 0, 0),
        DataHeader(A, 3, B, 10, 4, ViewId(4, A), 100, 55),
    ],
)
def test_values_that_no_member_sends_are_malformed(header):
    assert (
        reason_for(CODEC.encode(header, PAYLOADS if "Data" in repr(header) else None))
        == "malformed"
    )


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(junk):
    reason_for(junk)


@given(
    st.recursive(
        st.none() | st.integers(-5, 1 << 62) | st.text(max_size=3) | st.binary(max_size=9),
        lambda inner: st.lists(inner, max_size=9),
    )
)
def test_any_msgpack_in_a_good_prefix_is_read_or_refused(value):
    frame = CODEC.encode(JoinReq(A, "", False, 0, 0))
    body = msgspec.msgpack.encode(value)
    total = (20 + len(body)).to_bytes(4, "big") + len(body).to_bytes(4, "big")
    assert outcome(sealed(frame[:8] + total + bytes(4) + body)) in ("read", "malformed")


@given(st.sampled_from(DATAGRAMS), st.data())
def test_any_flipped_bit_of_any_datagram_is_refused(datagram, data):
    at = data.draw(st.integers(0, 8 * len(datagram) - 1))
    damaged = bytearray(datagram)
    damaged[at // 8] ^= 1 << at % 8

    expected = "not_ours" if at < 16 else "truncated" if 64 <= at < 96 else "corrupted"
    assert reason_for(bytes(damaged)) == expected


def test_under_a_key_datagrams_have_no_sum_and_need_none():
    codec = Codec("orders", 60_000, sums=False)
    summed = CODEC.encode(JoinReq(A, "stack", False, 0, 0))
    without = codec.encode(JoinReq(A, "stack", False, 0, 0))

    assert without[16:20] == bytes(4) != summed[16:20]
    assert without[:16] + without[20:] == summed[:16] + summed[20:]
    assert codec.decode(without) == codec.decode(summed) == CODEC.decode(summed)
    data = DataHeader(A, 3, B, 10, PAYLOADS.count, ViewId(4, A), 100, 55)
    assert codec.decode(codec.encode(data, PAYLOADS)) == CODEC.decode(CODEC.encode(data, PAYLOADS))
    assert reason_for(without) == "corrupted"
