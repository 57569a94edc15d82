"""Channels and streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.model.machine.network import (
    after_arrival,
    arriving,
    dropped,
    empty_link,
    put,
    receivable,
    send,
    take,
    unread,
    without,
)

CHANNELS = st.lists(st.integers(), max_size=5).map(tuple)


@given(CHANNELS, st.integers())
def test_a_fifo_channel_hands_over_in_the_order_of_sending(channel, message):
    left = send(channel, message)
    received = []
    while receivable(left, fifo=True):
        assert list(receivable(left, fifo=True)) == [1]
        first, left = take(left)
        received.append(first)

    assert tuple(received) == (*channel, message)


@given(CHANNELS)
def test_an_unordered_channel_hands_over_any(channel):
    assert [take(channel, place)[0] for place in receivable(channel, fifo=False)] == list(channel)
    for place in receivable(channel, fifo=False):
        message, rest = take(channel, place)
        assert sorted([message, *rest]) == sorted(channel)
        assert rest == without(channel, place)


def test_there_is_no_place_zero():
    for place in (0, 3, -1):
        with pytest.raises(IndexError, match="no place"):
            take((7, 8), place)


@given(CHANNELS)
def test_a_stream_is_read_in_order_and_stays(stream):
    assert tuple(unread(stream, position) for position in range(len(stream))) == stream
    assert unread(stream, len(stream)) is None
    with pytest.raises(IndexError, match="before the start"):
        unread(stream, -1)


@given(st.lists(st.integers(0, 3), unique=True), st.booleans())
def test_a_datagram_is_under_way_once_until_it_arrives_or_is_lost(sent, reorder):
    link = put(empty_link(reorder), sent)
    for datagram in sent:
        link = put(link, [datagram])

    assert sorted(link) == sorted(set(sent))
    for datagram in arriving(link):
        assert after_arrival(link, datagram, duplicate=True) == (dropped(link, datagram), link)
        assert after_arrival(link, datagram, duplicate=False) == (dropped(link, datagram),)
        assert sorted((*dropped(link, datagram), datagram)) == sorted(link)


def test_only_a_network_that_reorders_lets_a_datagram_overtake():
    assert set(arriving(put(empty_link(True), [2, 1]))) == {1, 2}
    assert tuple(arriving(put(empty_link(False), [2, 1]))) == (2,)
    assert put((2, 1), [1, 3]) == (2, 1, 3)
