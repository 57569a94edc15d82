"""PBCAST as the stack runs it: which rules it has there, and what its traces show.

FLUSH prepares the views, so that numbers of former members are not needed; the application takes
messages in its own time. A trace has numbers of each stream and of each gossip that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from raincheck.model.machine.runs import Address

from .handlers import Known, Local
from .handlers import Rules as SpecRules

WHOLE: Final = ("view", "members", "sent", "number")
"""The variables that traces have whole."""


@dataclass(frozen=True, slots=True)
class Rules(SpecRules):
    """The rules of the spec, as the stack has them."""

    keep_departed: bool = False
    prompt: bool = False
    flushed: bool = True


def shown(known: Known) -> list[Any]:
    """Return a gossip as a trace has it."""
    lowest = [[list(who), at] for who, at in known.lowest]
    return [known.number, [list(who) for who in sorted(known.seen)], lowest, known.unsent]


def streams(me: Local) -> dict[Address, list[int]]:
    """Return each stream as a trace has it: delivered, how many messages are held, purged."""
    delivered, held, purged = dict(me.delivered), dict(me.held), dict(me.purged)
    return {
        who: [delivered.get(who, 0), len(held.get(who, ())), purged.get(who, 0)]
        for who in delivered.keys() | held.keys() | purged.keys()
    }


def parts(before: Local, after: Local) -> dict[str, Any]:
    """Return the changes as a trace has them: each stream and each gossip that changed."""
    found: dict[str, Any] = {}
    for name in WHOLE:
        value = getattr(after, name)
        if value != getattr(before, name):
            found[name] = sorted(map(list, value)) if name == "members" else value
    if before[_STREAMS] != after[_STREAMS]:
        _add(found, "stream", streams(before), streams(after))
    if before.cache is not after.cache:
        old, new = ({each.origin: shown(each) for each in me.cache} for me in (before, after))
        _add(found, "gossip", old, new)
    return found


_STREAMS: Final = slice(Local._fields.index("delivered"), Local._fields.index("purged") + 1)


def _add(
    found: dict[str, Any],
    name: str,
    old: Mapping[Address, list[Any]],
    new: Mapping[Address, list[Any]],
) -> None:
    changed = [
        [list(who), new.get(who)]
        for who in sorted(old.keys() | new.keys())
        if old.get(who) != new.get(who)
    ]
    if changed:
        found[name] = changed
