"""Steps of a schedule: a move in JSON that people can read, and found again in the model.

A step names the spec's action and its arguments and, where the spec leaves a choice to the
environment, the choice made; so an implementation in any language can read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.tlavalue import format as render


def step_of(
    system: Composed[Any, Any],
    state: Any,
    move: Move[Any],
    moves: Iterable[Move[Any]] | None = None,
) -> dict[str, Any]:
    """Return the move from that state as one step of a schedule, without default values.

    `count` is the size of a batch; `which` distinguishes moves with equal names in the model.
    Callers that know all moves from that state may pass them, to save finding them again.
    """
    step = _called(system, state, move)
    size = system.size(move)
    if size > 1:
        return {**step, "count": size}
    same = [
        each
        for each in (system.moves(state) if moves is None else moves)
        if each[:2] == move[:2] and _called(system, state, each) == step
    ]
    which = same.index(move) if len(same) > 1 else 0
    return {**step, "which": which + 1} if which else step


def check_step(step: Any) -> None:
    """Raise ValueError if that is no step of a schedule."""
    if not isinstance(step, dict) or not isinstance(step.get("action"), str):
        raise ValueError(f"{step!r} is no step of a schedule: it has no action")
    if not isinstance(step.get("args", []), list):
        raise ValueError(f"{step!r} is no step of a schedule: its args are no list")


def find_move(system: Composed[Any, Any], state: Any, step: Mapping[str, Any]) -> Move[Any] | None:
    """Return the move that the step describes, or None if the model does not have it now."""
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
        "args": list(map(written, move.args)),
        **system.choice(state, move),
    }


def written(argument: Any) -> str:
    """Return an argument as a step has it: a set as TLA+ writes it, in the order of its members."""
    return render(argument) if isinstance(argument, frozenset) else str(argument)
