"""Runs of PRIMARY's model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.primary.events import Info, Session, ViewId
from raincheck.model.primary.handlers import Asked, has_majority, latest
from raincheck.model.primary.state import State
from raincheck.model.primary.system import PrimarySystem
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.logic import Function

from .theory import theory
from .words import STAGES

NOBODY = Address("", 0)

Shown: TypeAlias = dict[tuple[str, tuple[Any, ...]], Any]
"""The values of the theory's symbols that a state of the model shows."""


@dataclass(eq=False)
class View:
    """A view of a run, what was told in it, and the primary view that it can become."""

    born: int
    members: frozenset[Address] = frozenset()
    infos: Mapping[Address, Info] = field(default_factory=dict)
    session: Session | None = None
    heir: Session | None = None
    decided: bool = False
    """Whether a member has decided what it is; if not, nothing is foretold of it."""
    live: bool = False
    keeper: Address = NOBODY

    def __repr__(self) -> str:
        return f"view {self.born}"


NOWHERE = View(1_000)
"""The view of a process that is in none."""


def views_of(system: PrimarySystem, states: Sequence[State]) -> dict[ViewId, View]:
    """Return the views of a run, with what is foretold of them."""
    found: dict[ViewId, View] = {}
    left: dict[ViewId, set[Address]] = {}
    for before, state in pairwise(states):
        if not before.due.left or state.due.left:
            continue
        id_, members = before.due.view, before.due.members
        infos = sorted(m for m in state.net if isinstance(m, Info) and m.view == id_)
        asked = Asked(system.rules, tuple(infos))
        for address in members:
            for other in found:
                if address in found[other].members:
                    left[other].add(address)
        found[id_] = View(
            len(found) + 1,
            members,
            {each.sender: each for each in infos},
            asked.session(id_),
            latest(asked.base) if asked.continues else None,
        )
        left[id_] = set()
    for me in (me for state in states for me in state.locals):
        if me.stage not in ("none", "asking"):
            found[me.view].decided = True
    last = states[-1]
    tried = {(done.session.view, done.by) for done in last.tried}
    formed = {(done.session.view, done.by) for done in last.formed}
    for id_, view in found.items():
        stays = [a for a in sorted(view.members) if a not in left[id_] or (id_, a) in formed]
        view.live = (
            any((id_, a) in tried for a in view.members)
            and all((id_, a) in tried for a in left[id_])
            and bool(stays)
        )
        view.keeper = stays[0] if stays else min(view.members)
    return found


class Told:
    """The theory's rigid functions in a run."""

    def __init__(self, views: Mapping[ViewId, View]) -> None:
        self.views = views
        self.all = sorted(views.values(), key=lambda view: view.born)

    def view(self, session: Session | None) -> View:
        """Return the view that a primary view was."""
        return self.views.get(session.view, NOWHERE) if session else NOWHERE

    def number(self, w: View) -> int:
        """Return the number that it has or would have as a primary view."""
        return w.session.number if w.session and w.decided else 0

    def history(self, w: View) -> View:
        """Return the founder of its history."""
        return self.views.get(w.session.history, w) if w.session else w

    def tells(self, w: View, p: Address, x: View) -> bool:
        """Tell whether p has told in w that it has attempted x."""
        return p in w.infos and any(self.view(each) is x for each in w.infos[p].attempts)

    def told(self, w: View, p: Address) -> View:
        """Return the last primary view of which p has told in w."""
        return self.view(w.infos[p].last) if p in w.infos else NOWHERE

    def learned(self, w: View) -> View:
        """Return the last primary view of which a member has told."""
        if not w.decided:
            return NOWHERE
        return self.view(latest(each.last for each in w.infos.values() if each.last))

    def teller(self, w: View) -> Address:
        """Return who has told that."""
        known = self.learned(w)
        tells = (p for p, info in w.infos.items() if info.last)
        return next((p for p in tells if not w.decided or self.told(w, p) is known), NOBODY)

    def heir(self, w: View) -> View:
        """Return the last of those of which it has a majority."""
        if not w.decided:
            return w
        return self.view(w.heir) if w.heir else self.learned(w)

    def giver(self, w: View) -> Address:
        """Return who has told that it has attempted that."""
        heir = self.heir(w)
        return next((p for p in w.infos if self.tells(w, p, heir)), self.teller(w))

    def quorum(self, w: View, x: View) -> bool:
        """Tell whether the members of w have a majority of x."""
        return x.session is not None and has_majority(x.session.votes, w.members)

    def before(self, t: View) -> list[View]:
        """Return the live views of its history before a live one."""
        mine = self.history(t)
        return [
            x for x in self.all if x.live and t.live and x.born < t.born and self.history(x) is mine
        ]

    def cover(self, t: View, x: View) -> Address:
        """Return who has told in t of x, or of something later."""
        for p, info in t.infos.items():
            later = info.last is not None and info.last.number >= self.number(x)
            if later or self.tells(t, p, x):
                return p
        return NOBODY

    def prev(self, t: View) -> View:
        """Return the live view of its history before it."""
        return max(self.before(t), key=lambda x: x.born, default=t)

    def gap(self, t: View) -> View:
        """Return the first of them of which it is not told."""
        return next((x for x in self.before(t) if self.cover(t, x) == NOBODY), t)

    def meet(self, a: View, b: View, x: View) -> Address:
        """Return a member of all three."""
        return min(a.members & b.members & x.members, default=NOBODY)

    def functions(self) -> dict[str, Function]:
        """Return them by name; where there is no view, the tables say 0.

        What they say of a run stays, and is asked very often.
        """

        def of(function: Callable[..., Any]) -> Function:
            return cache(lambda *at: function(*(NOWHERE if each == 0 else each for each in at)))

        return {
            "member": of(lambda w, p: p in w.members),
            "knows": of(lambda w, p: p in w.infos and w.infos[p].last is not None),
            "born": of(lambda w: w.born),
            "live": of(lambda w: w.live),
            "keeper": of(lambda w: w.keeper),
            **{
                name: of(getattr(self, name))
                for name in (
                    *("told", "tells", "number", "history", "quorum", "meet", "learned"),
                    *("teller", "heir", "giver", "prev", "gap", "cover"),
                )
            },
        }


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: PrimarySystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        self.told = Told(views_of(system, self.states))
        self.processes = sorted({me.me for state in self.states for me in state.locals})
        self.frame = Frame(
            self.theory,
            {
                "process": self.processes,
                "session": self.told.all,
                "number": range(len(STAGES)),
                "bool": (False, True),
            },
            self.told.functions(),
            lambda *_: True,
            NOBODY,
        )

    def shown(self, state: State) -> Shown:
        """Return the values that matter in the state."""
        found: Shown = {("clock", ()): state.views}
        up = {me.me: me for me, up in zip(state.locals, state.up, strict=True) if up}
        lives = {me.me.node: me.me.incarnation for me in state.locals}
        for p in self.processes:
            ended = p.incarnation < lives[p.node]
            found["down", (p,)] = ended or (p.incarnation == lives[p.node] and p not in up)
        for p, me in up.items():
            found["stage", (p,)] = STAGES.index(me.stage)
            found["has", (p,)] = me.last is not None
            if me.stage != "none":
                found["view", (p,)] = self.told.views[me.view]
            if me.last:
                found["last", (p,)] = self.told.view(me.last)
            mine = {self.told.view(each) for each in me.attempts}
            for x in self.told.all:
                found["attempts", (p, x)] = x in mine
        for name, dones in (("tried", state.tried), ("formed", state.formed)):
            done = {(self.told.view(each.session), each.by) for each in dones}
            for x in self.told.all:
                for p in x.members:
                    found[name, (x, p)] = (x, p) in done
        return found

    def differs(self, tables: Tables, state: State) -> str | None:
        """Return the first symbol that differs, or None; while a view is installed, none does."""
        if state.due.left:
            return None
        world = self.frame.world(tables)
        for (name, values), wanted in self.shown(state).items():
            if getattr(world, name)(*values) != wanted:
                return name
        return None

    # ------------------------------------------------------------------ its steps

    def steps(self, number: int) -> Iterator[Step]:
        """Yield the step as a transition of the theory; nothing if it does not matter there."""
        move, before = self.moves[number], self.states[number]
        if move.action == "InstallView" and not move.target.due.left:
            w = self.told.views[before.due.view]
            yield "NewView", (w, self.told.giver(w))
        if move.action not in ("Decide", "Form", "Crash"):
            return
        i = self.system.index[str(move.args[0])]
        me, then = before.locals[i], move.target.locals[i]
        match move.action:
            case "Decide":
                view = self.told.views[me.view]
                asked = Asked(self.system.rules, tuple(sorted(view.infos.values())))
                yield f"Decide: {_branch(asked, then.stage)}", (me.me,)
            case action:
                yield action, (me.me,)


def _branch(asked: Asked, stage: str) -> str:
    if stage != "refused":
        return "goes on" if asked.continues else "founds"
    return "is refused, and knows" if asked.known else "is refused, and knows of nothing"


# ---------------------------------------------------------------------- single states


def shows(state: State, subject: Theory) -> tuple[Frame, Tables]:
    """Return the state by itself: its primary views, whatever they say, and who is in them."""
    sessions = sorted({done.session for done in state.formed | state.tried})
    held = (
        frozenset(me.me for me, up in _pairs(state) if up and me.view == each.view)
        for each in sessions
    )
    views = {
        each.view: View(i, each.members, {}, each, decided=True) for i, each in enumerate(sessions)
    }
    told = Told(views)
    sets = [View(-1 - i, members) for i, members in enumerate(sorted(set(held), key=sorted))]
    processes = sorted({me.me for me in state.locals}.union(*(v.members for v in views.values())))
    frame = Frame(
        subject,
        {"process": processes, "session": [*told.all, *sets]},
        {
            **told.functions(),
            "history": lambda x: x.session.history if x and x.session else None,
        },
        lambda *_: True,
        NOBODY,
    )
    tables: Tables = {name: {} for name in subject.symbols}
    for me, up in _pairs(state):
        tables["down"][me.me,] = not up
        tables["stage"][me.me,] = STAGES.index(me.stage)
        tables["view"][me.me,] = views.get(me.view, 0)
        tables["last"][me.me,] = View(0, session=me.last) if me.last else 0
    for done in state.tried:
        tables["tried"][views[done.session.view], done.by] = True
    for done in state.formed:
        tables["primary"][views[done.session.view],] = True
    return frame, tables


def _pairs(state: State) -> Iterable[tuple[Any, bool]]:
    return zip(state.locals, state.up, strict=True)
