"""A whole system of LOCKS: the handlers of `handlers.py`, and a ring whose token is lost.

The twin of `Next` in `spec/Locks.tla` and of the bounds in `spec/MCLocks.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, combinations
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_

from .events import Arrive, Depart, Drop, Epoch, Post, Want
from .handlers import HANDLERS, Local, Rules, says
from .promises import invariants
from .state import Constants, Copy, Given, State, Token, constants_of, variables


def machine(values: Mapping[str, Value]) -> LocksSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return LocksSystem(constants_of(values))


def _subsets(nodes: Iterable[str]) -> Iterator[frozenset[str]]:
    those = sorted(nodes)
    sizes = range(len(those) + 1)
    return map(frozenset, chain.from_iterable(combinations(those, size) for size in sizes))


class LocksSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "locks"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.constants)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Locks.tla` and `MCLocks.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders have a ring, and nobody wants anything."""
        nodes, founders = self.nodes, self.constants.founders
        first = Epoch(1, nodes[0])
        epochs = tuple(first if node in founders else None for node in nodes)
        yield State(
            up=tuple(True for _ in nodes),
            promised=tuple(1 for _ in nodes),
            copies=tuple(Copy(epoch, 0) for epoch in epochs),
            last=tuple(0 for _ in nodes),
            tokens=frozenset({Token(first, nodes[0], False, founders, frozenset(), founders)}),
            posts=((),),
            locals=tuple(
                Local(node, epoch=epoch, base=epoch)
                for node, epoch in zip(nodes, epochs, strict=True)
            ),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, node in enumerate(self.nodes):
            if state.up[i]:
                for token in sorted(each for each in state.tokens if each.at == node):
                    yield from self._arrive(state, i, node, token)
                    yield from self._depart(state, i, node, token)
                    yield from self._multicast(state, i, node, token)
                yield from self._join(state, node)
                yield from self._crash(state, i, node)
                yield from self._want(state, i, node)
                yield from self._drop(state, i, node)
                yield from self._make(state, i, node)
            else:
                yield from self._recover(state, i, node)

    def _arrive(self, state: State, i: int, node: str, token: Token) -> Iterator[Move[State]]:
        if token.arrived or token.epoch.n < state.promised[i]:
            return
        posts = state.posts[token.epoch.n - 1]
        start = state.last[i] if node in token.places else len(posts)
        here = token._replace(arrived=True, seen=token.seen | {node}, places=token.places | {node})
        after = state._replace(
            tokens=state.tokens - {token} | {here},
            last=with_(state.last, i, max(start, len(posts))),
            copies=with_(state.copies, i, Copy(token.epoch, len(posts))),
            promised=with_(state.promised, i, token.epoch.n),
        )
        event = Arrive(token.epoch, tuple(filter(says, posts[start:])))
        yield from self.act(after, node, event, (node,))

    def _depart(self, state: State, i: int, node: str, token: Token) -> Iterator[Move[State]]:
        if not token.arrived or token.epoch != state.copies[i].epoch:
            return
        posts = state.posts[token.epoch.n - 1]
        if any(
            len(state.posts[each.epoch.n - 1]) >= self.constants.max_posts
            for each in state.tokens
            if each.at == node
        ):
            return
        gone = token._replace(at=self._after(node, token.members), arrived=False)
        after = state._replace(
            tokens=state.tokens - {token} | {gone},
            last=with_(state.last, i, max(state.last[i], len(posts))),
            copies=with_(state.copies, i, Copy(token.epoch, len(posts))),
        )
        event = Depart(len(posts) + 1, token.members, state.last[i])
        yield from self.act(after, node, event, (node,))

    def _after(self, node: str, members: frozenset[str]) -> str:
        i = self.index[node]
        later = [each for each in self.nodes[i + 1 :] if each in members]
        return later[0] if later else next(each for each in self.nodes if each in members)

    def _want(self, state: State, i: int, node: str) -> Iterator[Move[State]]:
        c = self.constants
        last = state.newest == c.max_epoch and c.writers <= self._token(state).members
        if state.locals[i].requests >= c.max_wants or (c.only_ahead and not last):
            return
        for name in sorted(c.names):
            for mode, those in (("read", c.readers), ("write", c.writers)):
                if node in those:
                    yield from self.act(state, node, Want(name, mode))

    def _drop(self, state: State, i: int, node: str) -> Iterator[Move[State]]:
        if state.drops < self.constants.max_drops:
            after = state._replace(drops=state.drops + 1)
            for wish in state.locals[i].wishes:
                yield from self.act(after, node, Drop(wish.request))

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the node's new local state, its post and what it was told."""
        i = self.index[node]
        new = local.held - state.locals[i].held
        if outputs and isinstance(post := outputs[0], Post):
            at, place = post.epoch.n - 1, post.place
            state = state._replace(
                posts=with_(state.posts, at, (*state.posts[at], post)),
                last=with_(state.last, i, max(state.last[i], place)),
                copies=with_(state.copies, i, Copy(post.epoch, place)),
            )
        if new:
            assert local.epoch is not None
            late = local.epoch.n != state.newest
            told = frozenset(Given(node, local.session, *each, late) for each in new)
            state = state._replace(given=(*state.given, told))
        return state._replace(locals=with_(state.locals, i, local))

    # ------------------------------------------------------------------ the ring

    def _multicast(self, state: State, i: int, node: str, token: Token) -> Iterator[Move[State]]:
        c, begins = self.constants, state.locals[i].begun is not None
        if node not in c.multicasters or state.posts != ((),) or not token.arrived or begins:
            return
        mail = tuple(
            Post(node, token.epoch, place, None, False, False, (), frozenset(), ())
            for place in range(1, c.mail + 1)
        )
        target = state._replace(
            posts=(mail,),
            last=with_(state.last, i, max(state.last[i], len(mail))),
            copies=with_(state.copies, i, Copy(token.epoch, len(mail))),
        )
        yield Move("Multicast", (node,), target)

    @staticmethod
    def _token(state: State) -> Token:
        return next(each for each in state.tokens if each.epoch.n == state.newest)

    def _majority(self, nodes: frozenset[str], members: frozenset[str]) -> bool:
        common = 2 * len(nodes & members)
        head = min(members, key=self.index.__getitem__)
        return common > len(members) or (common == len(members) and head in nodes)

    def _make(self, state: State, i: int, node: str) -> Iterator[Move[State]]:
        c, copy, token = self.constants, state.copies[i], self._token(state)
        if state.newest >= c.max_epoch or copy.epoch is None:
            return
        up = {each for each in self.nodes if state.up[self.index[each]]}
        for agree in _subsets(token.members):
            left = token.members - agree
            if (
                node not in agree
                or not agree <= up
                or not self._majority(agree, token.members)
                or any(p in up and not self._may_be_left(state, token, p, i) for p in left)
                or (c.only_ahead and (not left or (state.newest == 2 and not state.crashes)))
                or (token.at in up and token.at in agree and not self._lost_on_the_way(state))
                or (c.newest_copy and not all(self._not_newer(state, copy, p) for p in agree))
            ):
                continue
            new = Epoch(state.newest + 1, node)
            older = frozenset(t for t in state.tokens if t.at in up and t.at not in agree)
            promised = tuple(
                new.n if p in agree else before
                for p, before in zip(self.nodes, state.promised, strict=True)
            )
            for kept in _subsets(c.keepers):
                if kept & agree or (c.only_ahead and not left & up <= kept):
                    continue
                made = Token(new, node, False, agree, frozenset(), agree | kept)
                target = state._replace(
                    posts=(*state.posts, state.posts[copy.epoch.n - 1][: copy.size]),
                    tokens=older | {made},
                    promised=promised,
                )
                yield Move("Make", (node,), target)

    def _may_be_left(self, state: State, token: Token, p: str, maker: int) -> bool:
        c = self.constants
        if p not in c.left_out or (c.only_new and token.sure):
            return False
        read = state.last[self.index[p]]
        if c.only_ahead and state.newest == 1 and sum(each >= read for each in state.last) > 1:
            return False
        told = {each.request for each in self.local(state, p).held}
        return not c.only_given or any(
            each.member == p and each.fence is not None and each.request not in told
            for each in state.locals[maker].table
        )

    def _lost_on_the_way(self, state: State) -> bool:
        """Whether the newest token is on its way from one that has crashed with all posts."""
        token = self._token(state)
        newest = Copy(token.epoch, len(state.posts[-1]))
        return not token.arrived and any(
            not state.up[self.index[p]] and state.copies[self.index[p]] == newest
            for p in self.constants.lost_with
        )

    def _not_newer(self, state: State, mine: Copy, node: str) -> bool:
        its = state.copies[self.index[node]]
        if its.epoch is None or mine.epoch is None:
            return its.epoch is None
        return its.size <= mine.size if its.epoch == mine.epoch else its.epoch.n < mine.epoch.n

    def _alive(self, state: State, token: Token) -> bool:
        return bool(token.at) and state.up[self.index[token.at]]

    def _join(self, state: State, node: str) -> Iterator[Move[State]]:
        token = self._token(state)
        here = token.arrived and self._alive(state, token)
        c = self.constants
        early = c.only_ahead and (node == self.nodes[0]) != (state.newest < c.max_epoch)
        if node in c.rejoiners and here and node not in token.members and not early:
            more = token._replace(members=token.members | {node}, seen=frozenset({token.at}))
            yield Move("Join", (node,), state._replace(tokens=state.tokens - {token} | {more}))

    def _fresh(self, state: State, i: int, session: int) -> tuple[Local, ...]:
        return with_(state.locals, i, Local(self.nodes[i], session, state.copies[i].epoch))

    def _crash(self, state: State, i: int, node: str) -> Iterator[Move[State]]:
        c = self.constants
        back = state.newest > 1 and self.nodes[0] in self._token(state).members
        may = state.crashes < c.max_crashes and (back or not c.only_ahead)
        if node in c.crashers and may:
            target = state._replace(
                up=with_(state.up, i, False),
                tokens=frozenset(
                    token._replace(at="") if token.at == node and token.arrived else token
                    for token in state.tokens
                ),
                locals=self._fresh(state, i, state.locals[i].session),
                crashes=state.crashes + 1,
            )
            yield Move("Crash", (node,), target)

    def _recover(self, state: State, i: int, node: str) -> Iterator[Move[State]]:
        if node in self.constants.returners:
            locals_ = self._fresh(state, i, state.locals[i].session + 1)
            yield Move(
                "Recover", (node,), state._replace(up=with_(state.up, i, True), locals=locals_)
            )
