"""The values of the rigid functions of GMS's proof, as a run of its model determines them.

Views and changes are numbered in the order in which they occur. A process of the proof is one
admission: an address, and the view that admits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from raincheck.model.gms.events import Prepared, ReceivePrepare, SendNewView, View
from raincheck.model.gms.state import State
from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.proof.logic import Function


@dataclass(slots=True)
class Change:
    """A PREPARE to all participants, and its consequences."""

    index: int
    requester: Address
    of: View
    part: frozenset[Address]
    answers: dict[Address, tuple[View, tuple[View, ...]]] = field(default_factory=dict)
    proposal: View | None = None
    survivors: frozenset[Address] = frozenset()
    proposed_at: int = -1
    sent_at: int = -1


class Foretold:
    """The views, changes and admissions of a run."""

    def __init__(self, states: Sequence[State], moves: Sequence[Move[State]]) -> None:
        [(_, first)] = states[0].steps
        self.first = first
        self.base: dict[View, View] = {first: first}
        self.made: dict[View, int] = {first: -1}
        self.group: dict[View, int] = {first: 1}
        self.changes: list[Change] = []
        self.asked: dict[int, Change] = {}
        """The change that begins with a step, or is requested again."""
        self.prepared: dict[int, Change] = {}
        """The change whose PREPARE is handled in a step."""
        self.entered = dict.fromkeys(first.members, first)
        """The view by which a process that was a member became one."""
        current: dict[Address, Change] = {}
        for number, (before, move) in enumerate(zip(states, moves, strict=False)):
            self._follow(number, before, move, current)
        self._number()

    def _follow(
        self, number: int, before: State, move: Move[State], current: dict[Address, Change]
    ) -> None:
        after = move.target
        for i, (me, then) in enumerate(zip(before.locals, after.locals, strict=True)):
            a = Address(me.node, me.incarnation)
            begins = move.action == "BeginChange" and move.node == me.node
            again = move.action == "FlushAgain" and before.asked[i] != after.asked[i]
            if (begins or again) and me.view is not None:
                change = Change(len(self.changes) + 1, a, me.view, after.asked[i])
                self.changes.append(change)
                current[a] = self.asked[number] = change
            if move.node != me.node:
                continue
            if move.action == "Suspended" and then.phase == "installing":
                assert me.view is not None
                assert then.proposal is not None
                change = current[a]
                sent = [each.to for each in move.outputs if isinstance(each, SendNewView)]
                change.proposal, change.survivors = then.proposal, frozenset(sent)
                change.proposed_at = number
                if then.proposal not in self.group:
                    self.group[then.proposal] = len(self.group) + 1
                    self.base[then.proposal], self.made[then.proposal] = me.view, number
            elif move.action == "InstallView":
                current[a].sent_at = number
            elif move.action == "ReceiveJoinRsp" and me.status != then.status:
                self.entered[a] = move.event.view
            elif move.action == "ReceivePrepare" and any(
                isinstance(each, Prepared) for each in move.outputs
            ):
                assert me.view is not None
                change = self._next(a, move.event)
                change.answers[a] = (me.view, me.held)
                self.prepared[number] = change

    def _next(self, a: Address, event: ReceivePrepare) -> Change:
        """Return the first change whose PREPARE this can be."""
        return next(
            each
            for each in self.changes
            if each.requester == event.sender
            and each.of.id.counter == event.counter
            and each.part == frozenset(event.participants)
            and a not in each.answers
        )

    # ------------------------------------------------------------------ admissions

    def _number(self) -> None:
        found = [
            (view.id, view.members.index(a), a)
            for view in self.group
            for a in (view.joiners if view != self.first else view.members)
        ]
        self.admission = {
            (a, at): place for place, (at, _, a) in zip(count(), sorted(found), strict=False)
        }
        self.entry = {place: key for key, place in self.admission.items()}

    def named(self, view: View, a: Address) -> int:
        """Return the admission by which a is in that view."""
        while view != self.first and a not in view.joiners:
            view = self.base[view]
        return self.admission[a, view.id]

    def process(self, a: Address) -> int:
        """Return the admission by which a is a member, or has been."""
        return self.admission[a, self.entered[a].id]

    def admissions(self, a: Address, up_to: int | None = None) -> list[int]:
        """Return all admissions of a, or those by a view up to that number."""
        return [
            place
            for (who, at), place in self.admission.items()
            if who == a and (up_to is None or at.counter <= up_to)
        ]

    # ------------------------------------------------------------------ messages

    def proposal_of(self, number: int, sender: Address, view: View) -> Change:
        """Return the change whose NEW_VIEW this is."""
        return next(
            each
            for each in reversed(self.changes)
            if each.requester == sender and each.proposal == view and each.proposed_at < number
        )

    def install_of(self, number: int, sender: Address, counter: int) -> Change:
        """Return the change whose INSTALL this is."""
        return next(
            each
            for each in reversed(self.changes)
            if each.requester == sender
            and each.proposal is not None
            and each.proposal.id.counter == counter
            and -1 < each.sent_at < number
        )

    # ------------------------------------------------------------------ the frame

    def domain(self) -> Mapping[str, Sequence[int]]:
        """Return the values of each kind."""
        last = max(view.id.counter for view in self.group)
        return {
            "process": sorted(self.entry),
            "group": sorted(self.group.values()),
            "change": [each.index for each in self.changes],
            "number": list(range(last + 2)),
        }

    def rigid(self) -> Mapping[str, Function]:
        """Return the functions that never change.

        For nobody, no view and no change (0) their values do not matter.
        """
        group, of = self.group, {each.index: each for each in self.changes}
        views = {index: view for view, index in group.items()}
        members = {(g, self.named(view, a)) for view, g in group.items() for a in view.members}
        part = {(c, self.named(each.of, a)) for c, each in of.items() for a in each.part}
        survivors = {(c, self.named(each.of, a)) for c, each in of.items() for a in each.survivors}
        said = {
            (c, self.process(a)): (group[view], group[held[0]] if held else 0)
            for c, each in of.items()
            for a, (view, held) in each.answers.items()
        }
        proposals = {c: group[each.proposal] for c, each in of.items() if each.proposal}
        makers = {g: self.process(view.id.coordinator) for g, view in views.items()}
        return {
            "admitted": lambda p: self.entry[p][1].counter if p in self.entry else 0,
            "admitter": lambda p: (
                self.process(self.entry[p][1].coordinator) if p in self.entry else None
            ),
            "rank": lambda p: -1 if p is None else p,
            "first": lambda: 1,
            "number": lambda g: views[g].id.counter if g else 0,
            "maker": lambda g: makers.get(g),
            "base": lambda g: group[self.base[views[g]]] if g else 0,
            "member": lambda g, p: (g, p) in members,
            "requester": lambda c: self.process(of[c].requester) if c else None,
            "attempt": lambda c: c,
            "of": lambda c: group[of[c].of] if c else 0,
            "part": lambda c, p: (c, p) in part,
            "said_view": lambda c, p: said.get((c, p), (0, 0))[0],
            "said_holds": lambda c, p: said.get((c, p), (0, 0))[1] != 0,
            "said_held": lambda c, p: said.get((c, p), (0, 0))[1],
            "proposal": lambda c: proposals.get(c, 0),
            "survivor": lambda c, p: (c, p) in survivors,
        }
