"""Runs of LOCKS' model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, Final

from raincheck.model.locks.events import Arrive, Epoch, Post, Request, Table
from raincheck.model.locks.handlers import Local, Rules, changed, passed, read, ticket
from raincheck.model.locks.promises import key
from raincheck.model.locks.state import Given, State
from raincheck.model.locks.system import LocksSystem
from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.logic import Function

from .theory import theory

TABLES: Final = 8
"""Of how many tables of a run the axioms are asked."""


def number(epoch: Epoch | None) -> int:
    """Return the number of an epoch, or 0."""
    return 0 if epoch is None else epoch.n


def rigid(system: LocksSystem) -> Mapping[str, Function]:
    """Return what posts say and do; where there is none, the tables have 0."""
    rules: Rules = system.rules

    @cache
    def made(table: Table | int, post: Post | int) -> Table:
        there = table if isinstance(table, tuple) else ()
        return changed(rules, there, post) if isinstance(post, Post) else ()

    return {
        "changed": made,
        "written": lambda x: number(x.epoch) if x else 0,
        "parent": lambda x: number(x.parent) if x else 0,
        "lays": lambda x: bool(x and x.lays),
        "laid": lambda x: x.table if x else (),
        "empty": lambda: (),
        "in_order": in_order,
        "holds": holds,
        "stands": lambda x: x.place if x else 0,
        "of_epoch": lambda table, r: fence_of(table, r)[0],
        "of_place": lambda table, r: fence_of(table, r)[1],
        "turn": lambda table, r: fence_of(table, r)[2],
        "ends": lambda x, r: bool(x) and ticket(r) in x.ended,
        "asks": lambda x: bool(x and x.asks),
        "by": lambda x: x.by if x else None,
        "owner": lambda r: r.member,
        "name": lambda r: r.name,
        "reads": lambda r: r.mode == "read",
        "founder": lambda n: n in system.constants.founders,
        "first": lambda: system.nodes[0],
    }


def in_order(table: Table | int) -> bool:
    """Tell whether nobody in the table holds a name before another that is in its way."""
    lines = table if isinstance(table, tuple) else ()
    return not any(each.fence is not None and passed(lines, i) for i, each in enumerate(lines))


def holds(table: Table | int, request: Request) -> bool:
    """Tell whether the request holds its name by the table."""
    lines = table if isinstance(table, tuple) else ()
    return any(each.fence is not None and line_of(each) == request for each in lines)


def fence_of(table: Table | int, request: Request) -> tuple[int, int, int]:
    """Return the fence by which the request holds its name; 0 where it does not."""
    lines = table if isinstance(table, tuple) else ()
    fences = (each.fence for each in lines if each.fence and line_of(each) == request)
    return next(map(key, fences), (0, 0, 0))


def tellings(state: State) -> dict[str, dict[tuple[Any, ...], Any]]:
    """Return what was told, with its fence and in its order, and what of it late."""
    told = {_request(each): each for those in state.given for each in sorted(those, key=_request)}
    fences = {r: key(each.fence) for r, each in told.items()}
    return {
        "told": {(r,): True for r in told},
        "told_in": {(r,): epoch for r, (epoch, _, _) in fences.items()},
        "told_place": {(r,): place for r, (_, place, _) in fences.items()},
        "told_turn": {(r,): turn for r, (_, _, turn) in fences.items()},
        "late": {(r,): True for r, each in told.items() if each.late},
        "earlier": dict.fromkeys(combinations(told, 2), True),
    }


def _request(each: Given) -> Request:
    return Request(each.member, each.session, each.request, each.name, each.mode)


def line_of(line: Request) -> Request:
    """Return the request of a line, which has no fence."""
    return line._replace(fence=None)


def held_by(me: Local) -> set[Request]:
    """Return the requests that hold their names at a member."""
    return {Request(me.me, me.session, each.request, each.name, each.mode) for each in me.held}


def frame_of(system: LocksSystem, states: Iterable[State], subject: Theory) -> Frame:
    """Return the frame for these states of an instance."""
    found = list(states)
    posts = {post for state in found for posts in state.posts for post in posts}
    lines = {line for post in posts for line in (*post.wanted, *post.table)}
    lines |= {line for state in found for me in state.locals for line in me.table}
    requests = {line_of(each) for each in lines}
    requests |= {each for state in found for me in state.locals for each in held_by(me)}
    given = {each for state in found for told in state.given for each in told}
    requests |= set(map(_request, given))
    widest = max((max(each.fence[1:]) for each in given), default=0)
    longest = max(max(map(len, state.posts)) for state in found)
    last = max(max(state.last) for state in found)
    domain: dict[str, Sequence[Any]] = {
        "process": system.nodes,
        "bool": (False, True),
        "epoch": range(max(state.newest for state in found) + 2),
        "place": range(max(longest, last, widest) + 2),
        "post": sorted(posts, key=repr),
        "request": sorted(requests, key=repr),
        "table": sorted({me.table for state in found for me in state.locals}, key=repr)[:TABLES],
    }
    return Frame(subject, domain, rigid(system), lambda *_: True)


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: LocksSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        self.frame = frame_of(system, self.states, self.theory)

    def differs(self, tables: Tables, state: State) -> str | None:
        """Return the first symbol that differs, or None."""
        world = self.frame.world(tables)
        held = {(me.me, each) for me in state.locals for each in held_by(me)}
        if {at for at, holds_it in tables["held"].items() if holds_it} != held:
            return "held"
        for name, true in tellings(state).items():
            if {at: value for at, value in tables[name].items() if value} != true:
                return name
        for (name, values), wanted in shown(self.system, state).items():
            if getattr(world, name)(*values) != wanted:
                return name
        return None

    def steps(self, number_: int) -> Iterator[Step]:
        """Yield the step as transitions of the theory; nothing if it does not matter there."""
        move, before = self.moves[number_], self.states[number_]
        n = str(move.args[0])
        i = self.system.index[n]
        match move.action:
            case "Drop":
                yield from self.told(n, before.locals[i], move.target.locals[i])
            case "Join":
                yield "Join", (n, before.newest)
            case "Arrive":
                assert isinstance(move.event, Arrive)
                e = move.event.epoch.n
                (token,) = (each for each in before.tokens if each.epoch.n == e)
                if n not in token.places:
                    yield "Arrive: without a place", (n, e)
                else:
                    yield "Arrive: with a place", (n, e)
                    for _ in move.event.news:
                        yield "Arrive: one post", (n,)
                    yield "Arrive: all is read", (n,)
                yield from self.told(n, before.locals[i], move.target.locals[i], here=True)
            case "Depart":
                e = number(before.copies[i].epoch)
                (token,) = (each for each in move.target.tokens if each.epoch.n == e)
                posts = move.target.posts[e - 1]
                posts_it = len(posts) > len(before.posts[e - 1])
                if posts_it:
                    yield "Depart: with a post", (n, token.at, posts[-1])
                else:
                    yield "Depart: silent", (n, token.at)
                yield from self.told(n, before.locals[i], move.target.locals[i], here=posts_it)
            case "Make":
                (token,) = (
                    each for each in move.target.tokens if each.epoch.n == move.target.newest
                )
                yield "Make", (n, token.places.__contains__, token.members.__contains__)
            case "Crash":
                yield "Crash", (n,)

    def told(self, n: str, before: Local, after: Local, *, here: bool = False) -> Iterator[Step]:
        """Yield what n got and gave back; what it lost by its table, if `here`, is no step."""
        for each in sorted(held_by(before) - held_by(after)):
            if not here or (after.base is not None and holds(after.table, each)):
                yield "Drop", (n, each)
        for each in sorted(held_by(after) - held_by(before)):
            yield "Told", (n, each)


def shown(system: LocksSystem, state: State) -> dict[tuple[str, tuple[Any, ...]], Any]:
    """Return the values of the theory's symbols that the state shows."""
    found: dict[tuple[str, tuple[Any, ...]], Any] = {("newest", ()): state.newest}
    found |= {(name, at): value for name, of in tellings(state).items() for at, value in of.items()}
    for e, posts in enumerate(state.posts, 1):
        found["length", (e,)] = len(posts)
        for i, post in enumerate(posts, 1):
            found["log", (e, i)] = post
        for i, (base, table) in enumerate(truths(system, posts)):
            found["chain", (e, i)] = base
            if base:
                found["truth", (e, i)] = table
    for token in state.tokens:
        e = token.epoch.n
        found["arrived", (e,)] = token.arrived
        found["lost", (e,)] = not token.at
        if token.at:
            found["at", (e,)] = token.at
        for n in system.nodes:
            found["placed", (e, n)] = n in token.places
            found["member", (e, n)] = n in token.members
    for n, me, copy, last in zip(system.nodes, state.locals, state.copies, state.last, strict=True):
        found["epoch", (n,)] = number(copy.epoch)
        found["size", (n,)] = copy.size
        found["last", (n,)] = last
        found["begun", (n,)] = number(me.begun)
        found["base", (n,)] = number(me.base)
        for p in system.nodes:
            found["askers", (n, p)] = p in me.askers
        for each in held_by(me):
            found["held", (n, each)] = True
        if me.base is not None:
            found["table", (n,)] = me.table
    return found


def truths(system: LocksSystem, posts: Sequence[Post]) -> Iterator[tuple[int, Table]]:
    """Yield for which epoch whoever has read that many posts has a good table, and the table."""
    first = system.nodes[0]
    true = Local(first, 0, None, None, Epoch(1, first))
    yield number(true.base), true.table
    for post in posts:
        true = read(system.rules, true, post)
        yield number(true.base), true.table


def shows(system: LocksSystem, state: State, subject: Theory) -> tuple[Frame, Tables]:
    """Return the state by itself: what its members know, and the truth of its posts."""
    tables: Tables = {name: {} for name in subject.symbols}
    for (name, values), value in shown(system, state).items():
        tables[name][values] = value
    for n, me in zip(system.nodes, state.locals, strict=True):
        tables["table"][n,] = me.table
    return frame_of(system, [state], subject), tables
