"""NAKACK as real processes run it: the parts that `spec/Nakack.tla` omits and traces show.

Signs of life also leave as heartbeats of the failure detection, which announce nothing and ask for
nothing, and a NAK names a bounded number of gaps. Whether a multicast is one of SEQUENCER's or of
messages without order makes no difference to NAKACK; its records say it for other layers' sake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address
from raincheck.model.unicast.field import first_gaps

from . import events as on
from . import handlers as model
from .handlers import Answer, Local, Stream, Streams
from .handlers import Rules as SpecRules

_WHOLE: Final = slice(Local._fields.index("status"), Local._fields.index("sent") + 1)
"""The variables that traces have whole."""


@dataclass(frozen=True, slots=True)
class Rules(SpecRules):
    """The rules of the spec, and the bounds of the class."""

    gaps: int = 32


class Multicast(NamedTuple):
    """The application multicasts; `ordered`: it is a DATA of SEQUENCER."""

    ordered: bool


class Deliver(NamedTuple):
    """The next multicast of `source` is passed up; `ordered`: it is a DATA of SEQUENCER."""

    source: Address
    ordered: bool


class Beat(NamedTuple):
    """The failure detection gives a sign of life."""

    to: tuple[Address, ...]


class Merge(NamedTuple):
    """MERGE2 has made the view; `digest` is of the streams of the other sides at their cuts."""

    view: int
    members: tuple[Address, ...]
    digest: tuple[tuple[Address, int], ...]


def merge(rules: Rules, me: Local, event: Merge) -> Answer:
    """Install a view whose number may skip some, and read the streams of who joins from its cut."""
    number, members, digest = event
    refused = refusal((number > me.view, "v > view[n]", {"v": number, "view": me.view}))
    if refused:
        return refused
    before = me._replace(view=number - 1)
    answer = model.install_view(rules, before, on.InstallView(number, members))
    if not isinstance(answer, Accepted):
        return answer
    cuts = {who: at for who, at in digest if who not in me.members}
    streams = tuple(
        (who, Stream(cuts[who], (), cuts[who]) if who in cuts else stream)
        for who, stream in answer.local.stream
    )
    return Accepted(answer.local._replace(stream=streams))


def beat(_rules: Rules, me: Local, event: Beat) -> Answer:
    """Send what `Acknowledge` sends to all in `to`; the acknowledgement remains owed."""
    known, sent = dict(me.stream), me.sent
    signs = tuple(
        [on.Alive(to, sent, False, known[to].delivered if to in known else 0) for to in event.to]
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
    found: dict[str, Any] = {}
    if before[_WHOLE] != after[_WHOLE]:
        for name in Local._fields[_WHOLE]:
            value = getattr(after, name)
            if value != getattr(before, name):
                found[name] = value
    if after.acked is not before.acked:
        _add(found, "acked", dict(before.acked), dict(after.acked))
    owed, owes = before.owed, after.owed
    if after.stream is not before.stream or owes is not owed:
        changed = _streams(before.stream, after.stream, owed, owes)
        if changed is None:
            old = {who: (each, who in owed) for who, each in before.stream}
            new = {who: (each, who in owes) for who, each in after.stream}
            _add(found, "stream", old, new)
        elif changed:
            found["stream"] = changed
    if after.departed is not before.departed:
        old = {who: (each, False) for who, each in before.departed}
        new = {who: (each, False) for who, each in after.departed}
        _add(found, "departed", old, new)
    return found


def _streams(
    before: Streams, after: Streams, owed: tuple[Address, ...], owes: tuple[Address, ...]
) -> list[list[Any]] | None:
    """The entries that changed; None if they are not those of the same members."""
    if len(before) != len(after):
        return None
    changed = []
    for old, new in zip(before, after, strict=True):
        if old is new and owed is owes:
            continue
        (who, was), (same, now) = old, new
        if who != same:
            return None
        owing = who in owes
        if owing != (who in owed) or (was is not now and _differ(was, now)):
            changed.append([who, numbers(now, owing)])
    return changed


def _differ(was: Stream, now: Stream) -> bool:
    """Tell whether the streams differ: what is kept may be long, and is compared last."""
    return was.delivered != now.delivered or len(was.held) != len(now.held) or was != now


def _add(
    found: dict[str, Any], name: str, old: dict[Address, Any], new: dict[Address, Any]
) -> None:
    """Add the entries that changed, if there are any."""
    changed = []
    for who in new if old.keys() == new.keys() else sorted(old.keys() | new.keys()):
        was, now = old.get(who), new.get(who)
        if was is not now and was != now:
            changed.append([list(who), numbers(*now) if type(now) is tuple else now])
    if changed:
        found[name] = changed


INPUTS: Mapping[str, type[Any]] = {
    **model.INPUTS,
    "Multicast": Multicast,
    "Deliver": Deliver,
    "Beat": Beat,
}
HANDLERS: Mapping[str, Callable[[Any, Local, Any], Answer]] = {
    **model.HANDLERS,
    "Beat": beat,
    "Ask": ask,
}

OF_MERGES: Mapping[str, type[Any]] = {"Merge": Merge}
HANDLERS_OF_MERGES: Mapping[str, Callable[[Any, Local, Any], Answer]] = {"Merge": merge}
"""What only the traces of groups that merge have."""
