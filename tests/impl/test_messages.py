"""Runs, payload areas, batches and the send buffer."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.messages import Address, Batch, Digest, Frame, Payloads, Run
from raincheck.impl.stack.bundling import SendBuffer

CONTENTS = st.lists(st.binary(max_size=40), max_size=30)


@given(CONTENTS, st.binary(max_size=9), st.binary(max_size=9))
def test_payloads_come_out_of_a_datagram_as_they_were_packed(contents, before, after):
    area = bytes(Payloads.pack(contents).area())

    read = Payloads(before + area + after, len(before), len(before) + len(area), len(contents))

    assert contents == read.unpack()
    assert zlib.crc32(b"".join(contents)) == read.crc()
    assert Payloads.pack(contents) == read


@given(CONTENTS, st.data())
def test_a_part_of_a_run_holds_just_those_payloads(contents, data):
    skip = data.draw(st.integers(0, len(contents)))
    size = data.draw(st.integers(0, len(contents) - skip))

    part = Payloads.pack(contents).part(skip, size)

    assert contents[skip : skip + size] == part.unpack()


@pytest.mark.parametrize(
    ("area", "count"),
    [
        (b"\x05\0\0\0abcd", 1),
        (b"\x03\0\0\0abcd", 1),
        (b"\x01\0\0", 1),
        (b"\xff\xff\xff\xffabcd", 1),
        (b"x", 0),
        (b"\x01\0\0\0a", 1 << 40),
    ],
)
def test_an_area_whose_lengths_do_not_add_up_is_refused(area, count):
    with pytest.raises(ValueError, match="lengths"):
        Payloads(area, 0, len(area), count)


def test_a_batch_iterates_over_its_messages_in_order():
    sender = Address("b", 2)
    batch = Batch(Run(sender, 7, 2), 3, Payloads.pack([b"x", b"yz"]))

    assert [(sender, 7, 3, b"x"), (sender, 8, 3, b"yz")] == [
        (m.sender, m.seqno, m.view, m.payload) for m in batch
    ]
    assert len(batch) == 2


def test_a_digest_is_zero_for_whom_it_does_not_know():
    digest = Digest(((Address("a", 0), 5),))

    assert (digest.highest(Address("a", 0)), digest.highest(Address("a", 1))) == (5, 0)


@given(CONTENTS.filter(bool), st.integers(1, 90), st.integers(1, 5))
def test_bundles_hold_what_was_sent_in_order_and_within_their_limits(contents, size, count):
    buffer = SendBuffer(1 << 20)
    for payload in contents[: len(contents) // 2]:
        buffer.append(payload)
    rest = contents[len(contents) // 2 :]
    assert len(rest) == buffer.extend(rest, list(map(len, rest)))

    bundles = []
    while buffer:
        bundles.append(buffer.take(size, count))

    assert contents == [payload for bundle in bundles for payload in bundle.unpack()]
    assert all(1 <= bundle.count <= count for bundle in bundles)
    assert all(bundle.size <= size or bundle.count == 1 for bundle in bundles)
    assert buffer.size == 0


def test_the_send_buffer_takes_messages_until_its_limit_is_passed():
    buffer = SendBuffer(30)

    taken = buffer.extend([b"0123456789"] * 5, [10] * 5)

    assert taken == 3
    assert not buffer.writable
    buffer.take(14, 9)
    assert buffer.writable


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 500])
@pytest.mark.parametrize("length", [0, 1, 100])
@pytest.mark.parametrize("odd", [-1, 0, 8])
def test_payloads_of_one_length_are_cut_as_those_of_many_are(count, length, odd):
    payloads = [bytes([number % 256]) * length for number in range(count)]
    if 0 <= odd < count:
        payloads[odd] += b"more"
    datagram = b"header" + bytes(Payloads.pack(payloads).area())

    read = Payloads(datagram, 6, len(datagram), count)

    assert read.unpack() == payloads
    assert read.part(1, max(0, count - 2)).unpack() == payloads[1:][: max(0, count - 2)]
    with pytest.raises(ValueError, match="add up"):
        Payloads(datagram + b"x", 6, len(datagram) + 1, count)


@pytest.mark.parametrize("framed", [False, True])
def test_a_payload_that_is_joined_is_what_it_would_be_if_it_were_packed(framed):
    parts = [b"one", b"", b"two"]
    whole = b"".join(parts)
    joined = Payloads.joined(parts, framed=framed)
    packed = Payloads.pack([Frame(whole) if framed else whole], framed=framed)

    assert joined == packed
    assert bytes(joined.area()) == bytes(packed.area())
    assert (joined.size, joined.count, joined.framed) == (packed.size, 1, framed)
    assert joined.crc() == packed.crc()
    assert joined.unpack() == [whole]
    assert [type(each) is Frame for each in joined.unpack()] == [framed]
    assert joined.part(0, 1) is joined
    if not framed:
        assert joined.unpack()[0] is joined.unpack()[0], "it is not copied again"
