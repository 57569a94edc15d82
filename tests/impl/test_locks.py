"""LOCKS' core over a ring that loses its token: any order of crashes, cuts, joins and requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import NotEnabled
from raincheck.impl.locks.core import Locks, Repairs
from raincheck.impl.locks.events import (
    Arrive,
    Depart,
    Drop,
    Fence,
    Held,
    Lost,
    Mode,
    Post,
    Want,
)
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Epoch

FIRST = Epoch(0, Address("a", 0))
MODES: tuple[Mode, ...] = ("read", "write", "write")


@dataclass
class Token:
    """A token at a member; `places`: who reads on where it was."""

    epoch: Epoch
    at: Address
    members: frozenset[Address]
    places: set[Address]
    arrived: bool = False
    sender: Address | None = None


@dataclass
class Member:
    core: Locks
    up: bool = True
    copy: tuple[Epoch, int] | None = None
    last: int = 0
    promised: int = 0


@dataclass
class Ring:
    """What docs/ring.md promises of a ring, and no more."""

    names: str
    random: Random
    repairs: Repairs = field(default_factory=Repairs)

    def __post_init__(self) -> None:
        everybody = [Address(name, 0) for name in self.names]
        self.members = {
            me: Member(
                Locks(me, 1, epoch=FIRST, founds=True, repairs=self.repairs), copy=(FIRST, 0)
            )
            for me in everybody
        }
        self.posts: dict[Epoch, list[Post]] = {FIRST: []}
        self.token: Token | None = Token(FIRST, everybody[0], frozenset(everybody), set(everybody))
        self.list, self.newest = frozenset(everybody), FIRST
        self.late: list[Token] = []
        self.told: list[Fence] = []
        self.greatest: dict[tuple[str, Mode], Fence] = {}

    @property
    def up(self) -> list[Address]:
        return [me for me, member in self.members.items() if member.up]

    # ------------------------------------------------------------------ the token

    def pass_on(self, token: Token) -> None:
        """Let the token come to a member, or go on from there."""
        me = self.members[token.at]
        posts = self.posts[token.epoch]
        if not me.up or token.epoch.n < me.promised:
            return
        if not token.arrived:
            start = me.last if token.at in token.places else len(posts)
            token.places.add(token.at)
            token.arrived = True
            me.last, me.promised = max(start, len(posts)), token.epoch.n
            me.copy = (token.epoch, len(posts))
            self._hear(token, me.core.handle(Arrive(token.epoch, tuple(posts[start:]))))
            return
        effects = me.core.handle(Depart(len(posts) + 1, token.members, me.last))
        posts += [each for each in effects if isinstance(each, Post)]
        me.last, me.copy = max(me.last, len(posts)), (token.epoch, len(posts))
        self._hear(token, effects)
        later = [each for each in sorted(token.members) if each > token.at]
        token.at, token.arrived = (later or sorted(token.members))[0], False
        token.sender = me.core.me

    def _hear(self, token: Token, effects: list[Post | Held | Lost]) -> None:
        late = token is not self.token
        for held in (each for each in effects if isinstance(each, Held)):
            conflicting: tuple[Mode, ...] = ("write",) if held.mode == "read" else ("read", "write")
            for mode in conflicting:
                greatest = self.greatest.get((held.name, mode))
                assert late or greatest is None or held.fence > greatest
            self.told.append(held.fence)
            before = self.greatest.get((held.name, held.mode), held.fence)
            self.greatest[held.name, held.mode] = max(before, held.fence)
        assert len(set(self.told)) == len(self.told)
        self.check()

    def check(self) -> None:
        """Among members that know the newest epoch one writes, or all read."""
        known = [m.core for m in self.members.values() if m.up and m.core.base == self.newest]
        held = [each for core in known for each in core.held]
        for name in {each.name for each in held}:
            modes = [each.mode for each in held if each.name == name]
            assert len(modes) == 1 or set(modes) == {"read"}, held
        for core in known:
            for i, line in enumerate(core.table):
                earlier = [each.mode for each in core.table[:i] if each.name == line.name]
                assert not line.fence or set(earlier) | {line.mode} == {"read"} or not earlier, (
                    "it has passed another"
                )

    # ------------------------------------------------------------------ what happens to it

    def lose(self, *, crash: bool) -> None:
        """Whoever has the token, or a minority with it, is gone: the others make it anew.

        So is one on its way with whoever has sent it, though it goes to one of the others.
        """
        token = self.token
        assert token is not None
        there = [me for me in sorted(token.members) if self.members[me].up]
        sent = not token.arrived and token.sender in there and self.random.random() < 0.5
        gone = {token.sender if sent and token.sender is not None else token.at}
        most = (len(token.members) - 1) // 2 - (len(token.members) - len(there))
        others = [me for me in there if me not in gone]
        gone.update(self.random.sample(others, self.random.randint(0, max(0, most - 1))))
        agree = [me for me in there if me not in gone]
        if not self.most(agree):
            return
        if crash:
            for me in gone:
                self.members[me].up = False
        else:
            self.late.append(token)
        newest = max(self.members[me].copy or (FIRST, -1) for me in agree)
        maker = self.random.choice([me for me in agree if self.members[me].copy == newest])
        kept = {me for me in token.places - set(agree) if self.random.random() < 0.5}
        self.make(maker, agree, kept)

    def crash(self) -> None:
        """Let one crash that has no token: it may be back before the others miss it."""
        assert self.token is not None
        there = [me for me in self.up if me != self.token.at]
        if there and self.most([me for me in self.token.members if me in there]):
            self.members[self.random.choice(there)].up = False

    def most(self, agree: list[Address]) -> bool:
        """Return whether they are a majority: more than half, or half with the first."""
        assert self.token is not None
        members = sorted(self.token.members)
        more = 2 * len(agree) - len(members)
        return more > 0 or (more == 0 and members[0] in agree)

    def make(self, maker: Address, agree: list[Address], kept: set[Address]) -> None:
        """Make the token anew from the maker's copy, the newest of those who agree."""
        copy = self.members[maker].copy
        assert copy is not None
        self.newest = Epoch(self.newest.n + 1, maker)
        self.posts[self.newest] = self.posts[copy[0]][: copy[1]]
        self.token = Token(self.newest, maker, frozenset(agree), {*agree, *kept})
        for me in agree:
            self.members[me].promised = self.newest.n

    def come_back(self) -> None:
        """Let one that is down start again, or one that is off the list come onto it."""
        token = self.token
        assert token is not None
        if down := [me for me, member in self.members.items() if not member.up]:
            me = self.random.choice(down)
            member = self.members[me]
            epoch = member.copy[0] if member.copy else None
            session = member.core.session + 1
            member.core = Locks(me, session, epoch=epoch, repairs=self.repairs)
            member.up = True
        off = [me for me in self.up if me not in token.members]
        if off and token.arrived:
            token.members |= {self.random.choice(off)}

    def ask(self) -> None:
        """Let an application want something, or give it back."""
        core = self.members[self.random.choice(self.up)].core
        if core.wishes and self.random.random() < 0.6:
            core.handle(Drop(self.random.choice(core.wishes).request))
        elif len(core.wishes) < 3:
            core.handle(Want(self.random.choice("xy"), self.random.choice(MODES)))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            assert self.token is not None
            chance = self.random.random()
            if chance < 0.03:
                self.lose(crash=self.random.random() < 0.5)
            elif chance < 0.04:
                self.crash()
            elif chance < 0.06:
                self.come_back()
            elif chance < 0.2 and self.up:
                self.ask()
            elif chance < 0.3 and self.late:
                self.pass_on(self.random.choice(self.late))
            else:
                self.pass_on(self.token)

    def settle(self) -> None:
        """All come back, and whatever is held is given back until nobody waits."""
        self.late.clear()
        for _ in range(60 * len(self.members)):
            assert self.token is not None
            self.come_back()
            self.pass_on(self.token)
            for member in self.members.values():
                for held in member.core.held:
                    member.core.handle(Drop(held.request))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(["abc", "abcd", "abcde"]))
def test_one_writes_and_fences_grow_and_all_are_served(seed: int, names: str) -> None:
    ring = Ring(names, Random(seed))
    ring.run(400)
    ring.settle()
    for member in ring.members.values():
        assert member.core.good
        assert not member.core.wishes
        assert not member.core.table


SHOWN_ALONE = {"ends_gone", "loses_off_chain", "epoch_when_told", "reads_on"}
"""In a random ring all come back in the end, who is off the chain is asked nothing, a grant is
seldom lost between a cut and the next telling, and nobody gets ahead of the posts for long."""


@pytest.mark.parametrize("rule", sorted(Repairs.__dataclass_fields__.keys() - SHOWN_ALONE))
def test_without_a_rule_something_breaks(rule: str) -> None:
    repairs = Repairs(**{rule: False})
    for seed in range(1000):
        ring = Ring("abcd", Random(seed), repairs)
        try:
            ring.run(400)
            ring.settle()
            for member in ring.members.values():
                assert member.core.good
                assert not member.core.wishes
                assert not member.core.table
        except AssertionError:
            return
    pytest.fail(f"nothing breaks without {rule}")


def test_a_request_is_granted_when_the_token_is_here() -> None:
    core = Locks(FIRST.by, 1, epoch=FIRST, founds=True)
    assert core.handle(Arrive(FIRST, ())) == []
    core.handle(Want("x", "write"))
    post, held = core.handle(Depart(7, frozenset({FIRST.by}), 6))
    assert isinstance(post, Post)
    assert held == Held(1, "x", "write", Fence(FIRST, 7, 1))


def test_what_nobody_wants_cannot_be_given_back() -> None:
    core = Locks(FIRST.by, 1, epoch=FIRST, founds=True)
    with pytest.raises(NotEnabled):
        core.handle(Drop(1))


def holding(repairs: Repairs) -> Locks:
    """a's core, which holds x, as b holds y."""
    a, b = Address("a", 0), Address("b", 0)
    core = Locks(a, 1, epoch=FIRST, founds=True, repairs=repairs)
    core.handle(Arrive(FIRST, ()))
    core.handle(Want("x", "write"))
    core.handle(Depart(1, frozenset({a, b}), 0))
    theirs = Locks(b, 1, epoch=FIRST, founds=True)
    theirs.handle(Want("y", "write"))
    (post, _) = theirs.handle(Depart(2, frozenset({a, b}), 0))
    core.handle(Arrive(FIRST, (post,)))
    return core


@pytest.mark.parametrize("rule", [True, False])
def test_what_somebody_held_that_is_on_no_list_any_more_is_given_back(rule: bool) -> None:
    core = holding(Repairs(ends_gone=rule))

    effects = core.handle(Depart(3, frozenset({Address("a", 0)}), 2))

    ended = {ticket for each in effects if isinstance(each, Post) for ticket in each.ended}
    assert {ticket.member.node for ticket in ended} == ({"b"} if rule else set())


@pytest.mark.parametrize("rule", [True, False])
def test_who_is_off_the_chain_is_told_that_it_has_lost_what_it_held(rule: bool) -> None:
    core = holding(Repairs(loses_off_chain=rule))

    effects = core.handle(Arrive(Epoch(2, Address("c", 0)), ()))

    assert effects == ([Lost(1)] if rule else [])
    assert bool(core.held) is not rule


def told_late(repairs: Repairs) -> Ring:
    """A ring in which c is given a lock while it is cut off, and b has had it when c is told.

    That b had it is lost with b, which crashes with the token on its way to a.
    """
    ring = Ring("abc", Random(0), repairs)
    a, b, c = ring.members

    def token(*, times: int = 2) -> None:
        for _ in range(times):
            assert ring.token is not None
            ring.pass_on(ring.token)

    ring.members[a].core.handle(Want("x", "write"))
    token(times=4)
    ring.members[c].core.handle(Want("x", "write"))
    token(times=3)
    ring.members[a].core.handle(Drop(1))
    token()
    ring.members[b].core.handle(Want("x", "write"))
    ring.make(b, [a, b], {c})
    token()
    assert ring.members[b].core.held
    ring.members[b].up = False
    assert ring.most([a])
    ring.make(a, [a], {c})
    token(times=1)
    ring.token.members |= {c}
    token()
    return ring


def test_who_is_told_after_a_lost_epoch_has_the_fence_of_a_later_one() -> None:
    ring = told_late(Repairs())

    (held,) = ring.members[Address("c", 0)].core.held
    assert [(each.epoch.n, each.place) for each in ring.told] == [(0, 1), (1, 4), (2, 3)]
    assert held.fence == ring.told[-1]
    ring.settle()


def test_without_the_epoch_of_the_telling_a_fence_is_smaller_than_a_lost_one() -> None:
    with pytest.raises(AssertionError, match=r"place=3.*> Fence.*place=4"):
        told_late(Repairs(epoch_when_told=False))


def ahead(repairs: Repairs) -> Ring:
    """A ring of 13 in which a has read five posts of a lost token and is alone with a new one.

    j has posted the first of the five, keeps its place, and comes onto a's list.
    """
    ring = Ring("abcdefghijklm", Random(0), repairs)
    who = {me.node: me for me in ring.members}

    def token(*, times: int = 1) -> None:
        for _ in range(times):
            assert ring.token is not None
            ring.pass_on(ring.token)

    def made(by: str, agree: str, *, without: str = "", kept: str = "") -> None:
        for each in without:
            ring.members[who[each]].up = False
        them = [who[each] for each in agree]
        assert ring.most(them)
        ring.make(who[by], them, {who[each] for each in kept})

    token(times=18)
    for each in "jklma":
        ring.members[who[each]].core.handle(Want("x", "write"))
    token(times=10)
    made("c", "cdefghi")
    token()
    made("d", "defg", without="c")
    token()
    made("e", "efg", without="d")
    token()
    assert ring.token is not None
    ring.token.members |= {who["a"]}
    token()
    made("e", "ae", without="fg")
    token(times=3)
    ring.members[who["a"]].core.handle(Drop(1))
    ring.members[who["e"]].up = False
    token()
    made("a", "a", kept="j")
    token(times=3)
    assert ring.members[who["a"]].last == 5
    ring.token.members |= {who["j"]}
    token(times=2)
    for each in "ja":
        ring.members[who[each]].core.handle(Want("x", "write"))
    token(times=3)
    return ring


def test_who_has_read_further_than_the_posts_go_lays_no_table_down() -> None:
    ring = ahead(Repairs())

    ring.settle()
    assert all(not member.core.wishes for member in ring.members.values())


def test_a_table_that_is_laid_down_where_its_member_has_read_already_gives_a_lock_twice() -> None:
    with pytest.raises(AssertionError, match="name='x'"):
        ahead(Repairs(reads_on=False))
