"""Random moves of a model's instance, for lockstep and for walks that are recorded."""

from __future__ import annotations

from random import Random
from typing import Any

from raincheck.model.machine.composed import Composed, Move


def chosen(
    system: Composed[Any, Any], state: Any, random: Random, seldom: frozenset[str] = frozenset()
) -> Move[Any] | None:
    """Return one of the moves that the model has now, drawn by action first, or None."""
    by_action: dict[str, list[Move[Any]]] = {}
    for move in system.moves(state):
        by_action.setdefault(move.action, []).append(move)
    actions = list(by_action)
    if seldom and random.random() < 0.9:
        actions = [action for action in actions if action not in seldom] or actions
    return random.choice(by_action[random.choice(actions)]) if actions else None


def drawn(
    system: Composed[Any, Any], state: Any, random: Random, seldom: frozenset[str] = frozenset()
) -> Move[Any] | None:
    """Return such a move, with as many messages at once as is drawn too."""
    move = chosen(system, state, random, seldom)
    if move is None or system.batch == 1:
        return move
    return system.together(move, random.randint(1, system.batch))
