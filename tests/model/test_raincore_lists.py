"""Raincore's operations on lists of members and on quorums, as properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.model.machine.runs import Address
from raincheck.model.raincore.events import NO_TOKEN, Mail, Nodelist, Settled
from raincheck.model.raincore.lists import (
    acknowledged,
    has_quorum,
    inserted,
    is_quorum,
    last_view,
    next_after,
    placed,
    posted,
    restricted,
    view_at,
)
from raincheck.model.raincore.local import Rules, electorate, relisted

A, B, C, D, E, F = (Address(name, 0) for name in "abcdef")
ALL = (A, B, C, D, E, F)

members = st.sampled_from(ALL)
rings = st.permutations(ALL).flatmap(
    lambda order: st.integers(1, len(order)).map(lambda size: tuple(order[:size]))
)
crowds = st.frozensets(members)


@given(rings)
def test_next_goes_once_round_the_ring(ring: Nodelist) -> None:
    seen, at = [], ring[0]
    for _ in ring:
        seen.append(at)
        following = next_after(ring, at)
        assert following is not None
        at = following
    assert (tuple(seen), at) == (ring, ring[0])


@given(rings, members)
def test_who_is_not_on_the_ring_has_nobody_next(ring: Nodelist, member: Address) -> None:
    assert (next_after(ring, member) is None) == (member not in ring)


@given(rings, st.data(), st.lists(members, max_size=4))
def test_newcomers_stand_behind_their_host_in_their_order(
    ring: Nodelist, data: st.DataObject, new: list[Address]
) -> None:
    host = data.draw(st.sampled_from(ring))
    made = inserted(ring, host, new)
    fresh = tuple(dict.fromkeys(n for n in new if n not in ring))

    place = made.index(host) + 1
    assert made[place : place + len(fresh)] == fresh
    assert restricted(made, set(ring)) == ring, "nobody else has moved"
    assert len(set(made)) == len(made) == len(ring) + len(fresh)


def test_figure_14_lets_b_in_behind_c() -> None:
    assert inserted((A, C, D), C, (B, B, A)) == (A, C, B, D)
    assert inserted((A, C), D, (B,)) == (B, A, C), "behind nobody: in front"


@given(rings, crowds)
def test_a_list_restricted_keeps_its_order(ring: Nodelist, crowd: frozenset[Address]) -> None:
    left = restricted(ring, crowd)
    assert set(left) == crowd & set(ring)
    assert [ring.index(n) for n in left] == sorted(ring.index(n) for n in left)


@given(rings, crowds, crowds)
def test_two_quorums_of_a_list_have_a_member_in_common(
    ring: Nodelist, one: frozenset[Address], other: frozenset[Address]
) -> None:
    if is_quorum(one, ring) and is_quorum(other, ring):
        assert one & other & set(ring)


@given(rings, crowds)
def test_of_two_halves_exactly_one_is_a_quorum(ring: Nodelist, crowd: frozenset[Address]) -> None:
    assert is_quorum(crowd, ring) != is_quorum(frozenset(ring) - crowd, ring)


def test_half_with_the_head_is_a_quorum_and_nobody_is_none_of_nobody() -> None:
    assert is_quorum({A, D}, (D, C, B, A))
    assert not is_quorum({A, C}, (D, C, B, A))
    assert not is_quorum(set(), ())


@given(st.lists(rings, max_size=3), rings, crowds)
def test_a_quorum_is_one_of_every_list_that_may_be_settled(
    pending: list[Nodelist], base: Nodelist, crowd: frozenset[Address]
) -> None:
    token = NO_TOKEN._replace(settled=Settled(1, base), pending=tuple(pending))
    assert has_quorum(token, crowd) == all(is_quorum(crowd, each) for each in (*pending, base))


@given(st.lists(st.one_of(st.just(()), rings), max_size=4), st.integers(1, 6), rings)
def test_a_view_is_placed_at_its_index_and_nowhere_else(
    views: list[Nodelist], at: int, view: Nodelist
) -> None:
    history = tuple(views)
    after = placed(history, at, view)
    assert view_at(after, at) == view
    assert len(after) == max(len(history), at)
    assert all(view_at(after, i) == view_at(history, i) for i in range(1, 9) if i != at)


def test_the_last_view_is_the_last_that_is_not_null() -> None:
    assert last_view(((A, B), (), (A,), ())) == (A,)
    assert last_view(((), ())) == ()


@given(rings, rings, rings, st.booleans(), st.booleans())
def test_another_list_takes_the_next_index_if_indices_are_bound(
    ring: Nodelist, other: Nodelist, base: Nodelist, bound: bool, asks_all: bool
) -> None:
    rules = Rules(bound_index=bound, asks_all=asks_all)
    token = NO_TOKEN._replace(
        nodelist=ring,
        settled=Settled(4, base),
        acks=tuple((n, 3) for n in sorted(ALL)),
        global_view_number=5,
        seq=7,
    )
    made = relisted(rules, token, other, frozenset({other[0]}))
    assert (made.nodelist, made.seen, made.seq) == (other, frozenset({other[0]}), 7)
    assert {n for n, _ in made.acks} == set(electorate(rules, made))
    assert made.global_view_number == (6 if bound else 5)
    assert made.pending == ((other,) if bound else ())


@given(st.lists(rings, max_size=3), rings, rings, st.booleans())
def test_all_on_the_lists_that_may_be_settled_are_asked_behind_the_list_itself(
    pending: list[Nodelist], base: Nodelist, ring: Nodelist, asks_all: bool
) -> None:
    token = NO_TOKEN._replace(nodelist=ring, settled=Settled(4, base), pending=tuple(pending))
    asked = electorate(Rules(asks_all=asks_all), token)
    assert asked[: len(ring)] == ring
    assert len(set(asked)) == len(asked)
    assert set(asked) == (set(ring).union(base, *pending) if asks_all else set(ring))
    if asks_all:
        assert has_quorum(token, frozenset(asked))


def test_mail_leaves_the_token_when_all_have_delivered_it() -> None:
    token = NO_TOKEN._replace(nodelist=(A, B), acks=((A, 0), (B, 0)), top=4)
    token = posted(token, A, 1, 2)
    assert token.mail == (Mail(5, A, 1), Mail(6, A, 2))
    assert token.top == 6
    token = acknowledged(token, A, 6)
    assert len(token.mail) == 2
    token = acknowledged(token, B, 5)
    assert token.mail == (Mail(6, A, 2),)
    assert acknowledged(token, B, 6).mail == ()


@pytest.mark.parametrize("newcomer", [C, D])
def test_a_newcomer_holds_no_mail_back(newcomer: Address) -> None:
    token = NO_TOKEN._replace(
        nodelist=(A, newcomer, B), acks=((A, 5), (B, 4)), mail=(Mail(5, A, 1),)
    )
    assert acknowledged(token, B, 5).mail == ()
