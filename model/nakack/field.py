"""NAKACK as real processes run it: the parts that `spec/Nakack.tla` omits and traces show.

Signs of life also leave as heartbeats of the failure detection, which announce nothing and ask for
nothing, and a NAK names a bounded number of gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.model.machine.machine import Accepted
from raincheck.model.machine.runs import Address
from raincheck.model.unicast.field import first_gaps

from . import events as on
from . import handlers as model
from .handlers import Answer, Local, Stream, stream_of
from .handlers import Rules as SpecRules


@dataclass(frozen=True, slots=True)
class Rules(SpecRules):
    """The rules of the spec, and the bounds of the class."""

    gaps: int = 32


class Beat(NamedTuple):
    """The failure detection gives a sign of life."""

    to: tuple[Address, ...]


def beat(_rules: Rules, me: Local, event: Beat) -> Answer:
    """Send what `Acknowledge` sends to all in `to`; the acknowledgement remains owed."""
    signs = tuple(
        on.Alive(to, me.sent, False, (stream_of(me.stream, to) or Stream()).delivered)
        for to in event.to
    )
    return Accepted(me, signs)


def ask(rules: Rules, me: Local, event: on.Ask) -> Answer:
    """Ask as in the spec, with a bounded number of gaps (N2)."""
    answer = model.ask(rules, me, event)
    if not isinstance(answer, Accepted):
        return answer
    (nak,) = answer.outputs
    assert isinstance(nak, on.Nak)
    missing = tuple(first_gaps(nak.missing, rules.gaps))
    return Accepted(answer.local, (nak._replace(missing=missing),))


def numbers(stream: Stream, owed: bool) -> list[Any]:
    """Return a stream as a trace has it; of the kept multicasts, only their number."""
    holder = list(stream.holder) if stream.holder is not None else None
    kept = len(stream.held)
    return [stream.delivered, stream.arrived(), kept, stream.heard, holder, stream.frozen, owed]


def parts(before: Local, after: Local) -> dict[str, Any]:
    """Return the changes as a trace has them: the numbers of each stream that changed."""
    found: dict[str, Any] = {
        name: getattr(after, name)
        for name in ("status", "view", "members", "sent")
        if getattr(before, name) != getattr(after, name)
    }
    tables: dict[str, Callable[[Local], dict[Address, Any]]] = {
        "acked": lambda me: dict(me.acked),
        "stream": lambda me: {who: (each, who in me.owed) for who, each in me.stream},
        "departed": lambda me: {who: (each, False) for who, each in me.departed},
    }
    for name, table in tables.items():
        old, new = table(before), table(after)
        changed = []
        for who in sorted(old.keys() | new.keys()):
            was, now = old.get(who), new.get(who)
            if was is not now and was != now:
                changed.append([list(who), numbers(*now) if type(now) is tuple else now])
        if changed:
            found[name] = changed
    return found


INPUTS: Mapping[str, type[Any]] = {**model.INPUTS, "Beat": Beat}
HANDLERS: Mapping[str, Callable[[Any, Local, Any], Answer]] = {
    **model.HANDLERS,
    "Beat": beat,
    "Ask": ask,
}
