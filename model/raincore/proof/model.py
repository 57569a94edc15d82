"""Runs of Raincore's model, translated into the vocabulary of its proof.

The theory remembers every message, every list of every token and its holders, which no state of the
model does. So the theory is compared with whole runs: each step is translated into transitions of
the theory, whose guards must be true and whose updates must agree with the model's next state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Step
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.logic import World
from raincheck.model.proof.ties import Edge, Taken
from raincheck.model.raincore.events import ZERO, Epoch, Nodelist, Settled
from raincheck.model.raincore.lists import is_quorum, view_at
from raincheck.model.raincore.local import Local
from raincheck.model.raincore.state import State
from raincheck.model.raincore.system import RaincoreSystem

from .theory import theory
from .tree import NONE, Proposal, meet

REGENERATES: Final = "Receive911: regenerates"
CHANGES: Final = "EatingTimeout: changes the list"


class Shown(NamedTuple):
    """The part of the model's state that shows of a member."""

    eating: bool
    sure: bool
    claiming: bool
    wanted: int
    promised: int
    number: tuple[int, int]
    list: tuple[int, frozenset[int]]
    settled: tuple[int, frozenset[int]]
    views: frozenset[tuple[int, frozenset[int]]]


class Run:
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: RaincoreSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        self.system = system
        self.states = [first, *(move.target for move in moves)]
        self.moves = moves
        self.theory = subject or theory()
        self.members = {me.me: i for i, me in enumerate(first.locals)}
        self.taken: list[str] = []
        self.reached: list[Tables] = []
        c = system.constants
        everyone = tuple(self.members[n] for n in system.founders)
        self.root = Proposal(None, int(c.formed), everyone)
        self.start = self.root if c.formed else Proposal(self.root, 1, everyone)
        self.proposals = list(dict.fromkeys((self.root, self.start)))
        last = self.states[-1].locals
        epochs = sorted({self.epoch(me.promised) for s in self.states for me in s.locals} | {0})
        seqs = max(me.last_token.seq for s in self.states for me in s.locals)
        deepest = max(me.last_token.global_view_number for s in self.states for me in s.locals)
        self.frame = Frame(
            self.theory,
            {
                "process": range(len(last)),
                "epoch": epochs,
                "seqno": range(seqs + 2),
                "index": range(deepest + 2),
                "proposal": self.proposals,
            },
            {
                "owner": self._owner,
                "anc": lambda p, q: p in (q or NONE).line,
                "parent": lambda p: (p or NONE).parent or p,
                "depth": lambda p: (p or NONE).depth,
                "member": lambda p, n: n in (p or NONE).ring,
                "quorum": self._quorum,
                "meet": meet,
                "root": lambda: self.root,
                "start": lambda: self.start,
                "founder": lambda: self.members[system.founders[0]],
                "first_seq": lambda n: int(c.formed or n == self.members[system.founders[0]]),
                "calm": lambda: self._is_calm(),
            },
            lambda *_: True,
            nobody=0,
        )

    # ------------------------------------------------------------------ words

    def _set(self, nodelist: Nodelist) -> frozenset[int]:
        return frozenset(self.members[n] for n in nodelist)

    def epoch(self, epoch: Epoch) -> int:
        """Return the number of the epoch; epochs are numbered in their order."""
        ranks = sorted(self.members)
        return epoch.n * len(ranks) + ranks.index(epoch.by) if epoch != ZERO else 0

    def _owner(self, epoch: int) -> int:
        ranks = sorted(self.members)
        return self.members[ranks[epoch % len(ranks)]]

    def _quorum(self, voters: Proposal, of: Proposal) -> bool:
        names = {i: n for n, i in self.members.items()}
        if not (voters and of):
            return False
        given = {names[i] for i in voters.members}
        return is_quorum(given, tuple(names[i] for i in of.ring))

    def _is_calm(self) -> bool:
        c = self.system.constants
        most = c.most
        disturbed = most.recoveries or most.splits or most.false or most.forgets or most.pauses
        return c.formed and c.truthful and not disturbed and not c.leavers

    def _settled(self, settled: Settled) -> tuple[int, frozenset[int]]:
        return settled.at, self._set(settled.nodelist)

    # ------------------------------------------------------------------ a state

    def shown(self, me: Local) -> Shown:
        """Return the part of the model's state that shows of a member."""
        t = me.last_token
        return Shown(
            me.token_state == "eating",
            me.view_state != "chaos",
            me.phase == "claim",
            self.epoch(me.wanted),
            self.epoch(me.promised),
            (self.epoch(t.epoch), t.seq),
            (t.global_view_number, self._set(t.nodelist)),
            self._settled(t.settled),
            frozenset((at, self._set(v)) for at, v in enumerate(me.global_view, 1) if v),
        )

    def meant(self, tables: Tables, n: int) -> Shown:
        """Return the theory's values for the member in the same form."""
        s = self.frame.world(tables)
        copy, base = s.copy(n), s.base(n)
        nothing = (0, frozenset[int]())
        return Shown(
            s.eating(n),
            s.sure(n),
            s.claiming(n),
            s.wanted(n) if s.claiming(n) else 0,
            s.promised(n),
            (s.epoch(n), s.seq(n)),
            (copy.depth, copy.members) if s.has(n) else nothing,
            (base.depth, base.members) if s.has(n) else nothing,
            frozenset((i, p.members) for m, i, p, _ in tables["entry"] if m == n),
        )

    def differs(self, tables: Tables, state: State) -> str:
        """Say where a member of the state differs from the theory; "" if none does."""
        for n, me in enumerate(state.locals):
            if me.up not in ("up", "down"):
                continue
            theirs, mine = self.shown(me), self.meant(tables, n)
            if me.up == "down":  # does not matter until it comes back
                theirs = theirs._replace(eating=False, sure=False, claiming=False, wanted=0)
            elif mine.sure:  # the theory may be sure before the spec is
                theirs = theirs._replace(sure=True)
            for name, one, other in zip(Shown._fields, theirs, mine, strict=True):
                if one != other:
                    return f"{name} of {me.me.node} differs: {one}, {other}"
        return ""

    def initial(self) -> Tables:
        """Return the theory's initial state."""
        _, values = self.theory.initial(self.frame.world({}))
        return self.frame.applied({}, values)

    # ------------------------------------------------------------------ its steps

    def steps(self, tables: Tables, before: State, move: Move[State]) -> Iterator[Step]:
        """Yield the step as transitions of the theory; nothing if it does not matter there."""
        if move.node is None:
            return
        n = self.system.index[move.node]
        me, then = before.locals[n], move.target.locals[n]
        if then.up == "left" != me.up and me.up == "up":
            yield "Crash", (n,)
            return
        match move.action:
            case "Crash" | "Recover":
                yield move.action, (n,)
            case "HungryTimeout" | "StarvingTimeout":
                yield "HungryTimeout", (n,)
            case "Gap" if then.attempt != me.attempt:
                yield "HungryTimeout", (n,)
            case "Gap" if me.token_state == "eating":
                yield "Gap", (n,)
            case "TokenUndelivered" if then.phase == "claim" != me.phase:
                yield "HungryTimeout", (n,)
                yield "Receive911: asks to claim", (n, self.epoch(then.wanted))
            case "Receive911":
                yield from self._call(tables, n, me, then)
            case "ReceiveToken" if then.token_state == "eating" and then != me:
                yield from self._token(n, me, then)
            case "EatingTimeout":
                yield from self._eating(tables, n, me, then)

    def _call(self, tables: Tables, n: int, me: Local, then: Local) -> Iterator[Step]:
        if then.token_state == "eating" != me.token_state:
            yield self._list(REGENERATES, tables, n, then, self.epoch(me.wanted))
            yield from self._fills(n, me, then)
        elif me.phase == "claim" and then.phase == "none":
            yield "HungryTimeout", (n,)
        elif then.wanted != me.wanted:
            yield "Receive911: asks to claim", (n, self.epoch(then.wanted))
        elif then.promised != me.promised:
            yield "Receive911: grants", (n, self.epoch(then.promised))

    def _token(self, n: int, me: Local, then: Local) -> Iterator[Step]:
        t = then.last_token
        name = "ReceiveToken"
        if t.seen.issuperset(t.nodelist):
            name += ": the last one to hold it"
        yield name, (n, self.epoch(t.epoch), t.seq)
        yield from self._fills(n, me, then)

    def _eating(self, tables: Tables, n: int, me: Local, then: Local) -> Iterator[Step]:
        t = then.last_token
        if t.global_view_number != me.last_token.global_view_number:
            yield self._list(CHANGES, tables, n, then, self.epoch(t.epoch))
        if then.token_state == "hungry":
            yield "EatingTimeout: passes", (n, self.members[t.to])
        elif t.seen.issuperset(t.nodelist):
            yield "EatingTimeout: alone", (n,)
        yield from self._fills(n, me, then)

    def _list(self, name: str, tables: Tables, n: int, then: Local, epoch: int) -> Step:
        """Yield a new list on the token, and the members that have voted for it."""
        copy = self.frame.world(tables).copy(n)
        ring = tuple(self.members[m] for m in then.last_token.nodelist)
        p = self._proposal(copy, ring) if ring != copy.ring or name == CHANGES else copy
        v = p if n in ring else self._proposal(self.root, (n, *ring))
        later = [e for (e,) in tables["begun"] if e > epoch]
        return name, (n, p, v, min(later, default=epoch))

    def _proposal(self, parent: Proposal, ring: Iterable[int]) -> Proposal:
        found = Proposal(parent, parent.depth + 1, tuple(ring))
        self.proposals.append(found)
        return found

    def proposal_of(self, depth: int, ring: tuple[int, ...]) -> Proposal:
        """Return a proposal with that list at that depth, made anew if there is none."""
        for each in self.proposals:
            if (each.depth, each.ring) == (depth, ring):
                return each
        self.proposals.append(Proposal(None, depth, ring))
        return self.proposals[-1]

    def _fills(self, n: int, me: Local, then: Local) -> Iterator[Step]:
        """Yield the additions to the member's history: the present list, or one settled before."""
        t = then.last_token
        for at, view in enumerate(then.global_view, 1):
            if not view or view_at(me.global_view, at):
                continue
            if (at, view) == (t.global_view_number, t.nodelist):
                yield "ReceiveToken: commits", (n, at)
            else:
                yield "ReceiveToken: fills a hole", (n, (at, self._set(view)), None)

    def _known(self, s: World, step: Step) -> Step:
        """Return the step that fills a hole with what was settled with that index and list."""
        name, (n, *rest) = step
        if name != "ReceiveToken: fills a hole":
            return step
        at, members = rest[0]
        for p in self.proposals:
            for e in self.frame.domain["epoch"]:
                if (p.depth, p.members) == (at, members) and s.settled(p, e):
                    return name, (n, p, e)
        return name, (n, self.root, -1)

    def difference(self, every: int = 1) -> str:
        """Say where the theory does not follow the run; "" if it does.

        The invariant is evaluated after every so many steps, and at the end.
        """
        for edge in self.edges(every):
            self.taken += [each.transition for each in edge.taken]
            if edge.refused:
                return f"{edge.says}: {edge.refused}"
        world = self.frame.world(self.reached[-1])
        for axiom in self.theory.axioms:
            if not axiom.formula(world):
                return f"{axiom.name} is not true of these lists"
        return ""

    def edges(self, every: int = 0) -> Iterator[Edge]:
        """Yield each step as the theory takes it; the first that it refuses is the last.

        The invariant is evaluated after every so many steps, and at the end; never if that is 0.
        """
        transitions = {each.name: each for each in self.theory.transitions}
        tables = self.initial()
        self.reached = [tables]
        for number, (before, move) in enumerate(zip(self.states, self.moves, strict=False)):
            taken: list[Taken] = []
            refused = ""
            for step in list(self.steps(tables, before, move)):
                world = self.frame.world(tables)
                name, parameters = self._known(world, step)
                taken.append(Taken(name, parameters, world))
                if not self.frame.allows(transitions[name], world, parameters):
                    refused = f"the guard of {name}{parameters} is false"
                    taken.pop()
                    break
                tables = self.frame.after(transitions[name], world, parameters)
            due = every and (not (number + 1) % every or number + 1 == len(self.moves))
            refused = refused or self.differs(tables, move.target)
            if due and not refused:
                refused = self._false(tables)
            yield Edge(f"step {number + 1}, {move.action}{move.args}", taken, refused)
            if refused:
                return
            self.reached.append(tables)

    def _false(self, tables: Tables) -> str:
        world = self.frame.world(tables)
        for conjunct in self.theory.invariant:
            if not conjunct.formula(world):
                return f"{conjunct.name} is false"
        return ""
