"""Moves: the steps of a schedule, as a person reads them, as JSON, and as a step of the model.

A schedule names the spec's actions and, where the spec leaves a choice to the environment, what
was chosen; so it can be replayed, and an implementation in any language can read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from raincheck.model.machine.machine import Step
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.state import State, View
from raincheck.model.sequencer.system import SequencerSystem


@dataclass(frozen=True, slots=True)
class Move:
    """One step of the group: the spec's action with its arguments, and what the network chose.

    `count` is the size of a run that is sent or resent, `place` where in an unordered channel the
    FORWARD stands that arrives, `view` and `cut` are the view decided and how much of the old
    coordinator's stream stays.
    """

    action: str
    args: tuple[str, ...] = ()
    count: int = 1
    place: int = 1
    view: View | None = None
    cut: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the move as one step of a schedule; what is usual is left out."""
        step: dict[str, Any] = {"action": self.action, "args": list(self.args)}
        if self.count != 1:
            step["count"] = self.count
        if self.place != 1:
            step["place"] = self.place
        if self.view is not None:
            step["members"] = [list(who) for who in self.view.members]
            step["joiners"] = sorted(list(who) for who in self.view.joiners)
        if self.cut is not None:
            step["cut"] = self.cut
        return step

    @classmethod
    def from_json(cls, step: dict[str, Any]) -> Move:
        """Return the move that a schedule's step describes; raise ValueError if it is none."""
        try:
            view = None
            if "members" in step:
                members = tuple(Address(str(n), int(i)) for n, i in step["members"])
                joiners = frozenset(Address(str(n), int(i)) for n, i in step.get("joiners", ()))
                view = View(members, joiners)
            cut = step.get("cut")
            return cls(
                str(step["action"]),
                tuple(map(str, step.get("args", ()))),
                int(step.get("count", 1)),
                int(step.get("place", 1)),
                view,
                None if cut is None else int(cut),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{step!r} is no step of a schedule: {error!r}") from error

    def __str__(self) -> str:
        text = f"{self.action}({', '.join(self.args)})" if self.args else self.action
        if self.count != 1:
            text += f" x{self.count}"
        if self.place != 1:
            text += f" at place {self.place}"
        if self.view is not None:
            text += f" [{' '.join(f'{node}.{life}' for node, life in self.view.members)}]"
        if self.cut is not None:
            text += f" keeping {self.cut}"
        return text


def move_of(system: SequencerSystem, source: State, step: Step[State]) -> Move:
    """Return the move that takes the model from the source along the step."""
    action, args, target = step
    names = tuple(map(str, args))
    if action in ("ViewChange", "Demote"):
        c = system.index[source.views[-1].members[0].node]
        length = len(target.stream[c])
        cut = None if length == len(source.stream[c]) else length
        return Move(action, view=target.views[-1], cut=cut)
    if action == "ReceiveForward":
        i, j = (system.index[name] for name in names)
        before, after = source.forwards[j][i], target.forwards[j][i]
        places = range(1, len(before) + 1)
        same = (p for p in places if before[: p - 1] + before[p:] == after)
        return Move(action, names, place=next(same))
    return Move(action, names)


def printed(moves: Iterable[Move]) -> str:
    """Return the moves as numbered lines."""
    return "\n".join(f"{number:4}  {move}" for number, move in enumerate(moves, 1))
