"""Steps of a schedule: a move as a person reads it and as JSON, and found again in the model.

A step names the spec's action and its arguments and, where the spec leaves a choice to the
environment, what was chosen; so an implementation in any language can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raincheck.model.machine.composed import Composed, Move


def step_of(system: Composed[Any, Any], state: Any, move: Move[Any]) -> dict[str, Any]:
    """Return the move from that state as one step of a schedule; what is usual is left out.

    `count` is the size of a batch; `which` tells apart moves that the model calls the same.
    """
    step = _called(system, state, move)
    size = system.size(move)
    if size > 1:
        return {**step, "count": size}
    same = [each for each in system.moves(state) if _called(system, state, each) == step]
    which = same.index(move)
    return {**step, "which": which + 1} if which else step


def check_step(step: Any) -> None:
    """Raise ValueError if that is no step of a schedule."""
    if not isinstance(step, dict) or not isinstance(step.get("action"), str):
        raise ValueError(f"{step!r} is no step of a schedule: it has no action")
    if not isinstance(step.get("args", []), list):
        raise ValueError(f"{step!r} is no step of a schedule: its args are no list")


def find_move(system: Composed[Any, Any], state: Any, step: Mapping[str, Any]) -> Move[Any] | None:
    """Return the move that the step describes, None if the model does not have it now."""
    size, which = int(step.get("count", 1)), int(step.get("which", 1))
    called = {key: value for key, value in step.items() if key not in ("count", "which")}
    called["args"] = list(map(str, step.get("args", ())))
    same = [
        each
        for each in system.moves(state)
        if each.action == step["action"] and _called(system, state, each) == called
    ]
    if not 1 <= which <= len(same):
        return None
    found = system.together(same[which - 1], size)
    return found if system.size(found) == size else None


def _called(system: Composed[Any, Any], state: Any, move: Move[Any]) -> dict[str, Any]:
    return {
        "action": move.action,
        "args": list(map(str, move.args)),
        **system.choice(state, move),
    }
