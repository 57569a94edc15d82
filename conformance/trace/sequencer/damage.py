"""Damage a good trace by one known fault, so that a checker can be shown to see it."""

import random
from collections.abc import Callable
from typing import Any

from raincheck.conformance.trace.events import Changed, Event, Footer, Record, decode, encode

from .rescheduling import in_order, rescheduled
from .tracegen import Trace


def copy(trace: Trace) -> Trace:
    """A trace whose records can be changed without changing the original's."""
    return {who: [decode(encode(record)) for record in records] for who, records in trace.items()}


def damage(trace: Trace, seed: int) -> tuple[str, Trace]:
    """One random fault: its name, and the damaged copy."""
    rng = random.Random(seed)
    hurt = copy(trace)
    name = rng.choice(sorted(FAULTS))
    FAULTS[name](rng, hurt)
    return name, hurt


def _pick(rng: random.Random, trace: Trace, *actions: str) -> tuple[list[Record], Event] | None:
    found = [
        (records, record)
        for records in trace.values()
        for record in records
        if isinstance(record, Event) and (not actions or record.action in actions)
    ]
    return rng.choice(found) if found else None


def _on_event(*actions: str) -> Callable[[Callable[[random.Random, Any, Event], None]], Any]:
    """Make a fault of what is done to one event of the given kinds."""

    def decorate(change: Callable[[random.Random, Any, Event], None]) -> Any:
        def fault(rng: random.Random, trace: Trace) -> None:
            found = _pick(rng, trace, *actions)
            if found:
                change(rng, found[0], found[1])

        return fault

    return decorate


@_on_event()
def _lose(_: random.Random, records: list[Record], event: Event) -> None:
    records.remove(event)


@_on_event()
def _cut(_: random.Random, records: list[Record], event: Event) -> None:
    del records[records.index(event) :]


@_on_event()
def _cut_and_close(_: random.Random, records: list[Record], event: Event) -> None:
    place = records.index(event)
    footer = Footer(
        run=event.run, node=event.node, incarnation=event.incarnation, index=event.index - 1
    )
    records[place:] = [footer]


@_on_event("ReceiveData", "ReceiveForward")
def _other_contents(_: random.Random, __: list[Record], event: Event) -> None:
    event.args.crc = (event.args.crc or 0) ^ 1


@_on_event("ReceiveData")
def _other_position(_: random.Random, __: list[Record], event: Event) -> None:
    assert event.received is not None
    event.received = (*event.received[:-1], int(event.received[-1]) + 1)
    event.args.position = (event.args.position or 0) + 1


@_on_event("ReceiveData", "ReceiveForward")
def _other_tag(_: random.Random, __: list[Record], event: Event) -> None:
    event.args.view = max(0, (event.args.view or 0) - 1)


@_on_event("ReceiveData")
def _other_sender(rng: random.Random, _: list[Record], event: Event) -> None:
    assert event.args.messages is not None
    node, life, first, count = event.args.messages
    event.args.messages = (node, life, first + rng.choice((1, 2)), count)


@_on_event("Send", "Resend", "ReceiveForward", "InstallView")
def _unsent(_: random.Random, __: list[Record], event: Event) -> None:
    event.sent = event.sent[1:]


@_on_event("Send", "Resend", "ReceiveForward")
def _other_sent(rng: random.Random, _: list[Record], event: Event) -> None:
    if event.sent:
        event.sent[0].crc = rng.randrange(1 << 32)


@_on_event()
def _unchanged(_: random.Random, __: list[Record], event: Event) -> None:
    event.changed = Changed()


@_on_event("ReceiveData")
def _other_delivery(_: random.Random, __: list[Record], event: Event) -> None:
    delivered = event.changed.delivered
    if hasattr(delivered, "view"):
        delivered.view += 1


@_on_event()
def _early_clock(rng: random.Random, _: list[Record], event: Event) -> None:
    event.clock = max(1, event.clock - rng.randint(1, 6))


@_on_event()
def _late_clock(rng: random.Random, _: list[Record], event: Event) -> None:
    event.clock += rng.randint(1, 6)


@_on_event("InstallView", "Join")
def _other_view(rng: random.Random, _: list[Record], event: Event) -> None:
    members = list(event.args.members or ())
    rng.shuffle(members)
    event.args.members = tuple(members)


@_on_event("Join")
def _other_digest(_: random.Random, __: list[Record], event: Event) -> None:
    digest = event.args.digest or ()
    event.args.digest = tuple((n, i, at + 1) for n, i, at in digest)


def _swap(rng: random.Random, trace: Trace) -> None:
    """Two neighbours change places, their indices and clocks kept in order."""
    records = rng.choice(sorted(trace.items()))[1]
    places = [i for i, r in enumerate(records[:-1]) if isinstance(r, Event)]
    places = [i for i in places if isinstance(records[i + 1], Event)]
    if places:
        i = rng.choice(places)
        a, b = records[i], records[i + 1]
        assert isinstance(a, Event)
        assert isinstance(b, Event)
        a.index, b.index, a.clock, b.clock = b.index, a.index, b.clock, a.clock
        records[i], records[i + 1] = b, a


def _readings(trace: Trace) -> list[tuple[Event, list[Event], Event]]:
    """(the view change that follows, what was read of one stream before it, the last of these)."""
    found = []
    for records in trace.values():
        read: dict[Any, list[Event]] = {}
        for event in records:
            if isinstance(event, Event) and event.action == "ReceiveData" and event.received:
                read.setdefault(event.received[:-1], []).append(event)
            elif isinstance(event, Event) and event.action == "InstallView":
                found += [(event, events, events[-1]) for events in read.values()]
                read = {}
    return found


def _late(rng: random.Random, trace: Trace) -> None:
    """A member takes the last multicasts of a view only when it is in the next."""
    found = [
        (install, events)
        for install, events, last in _readings(trace)
        if last.received and last.received[1:3] in (install.args.members or ())
        if last.args.from_ in (install.args.members or ())
    ]
    if found:
        install, events = rng.choice(found)
        late = events[rng.randrange(len(events)) :]
        order = [event for event in in_order(trace) if not any(event is each for each in late)]
        place = order.index(install) + 1
        trace.update(rescheduled(trace, [*order[:place], *late, *order[place:]]))


def _unread(rng: random.Random, trace: Trace) -> None:
    """A member goes on to a view without a multicast that another had who went on to it, too.

    Not one of a coordinator that stopped: who stops is drained, synchronous or not.
    """
    readings = _readings(trace)
    stopped = {("DATA", e.node, e.incarnation) for e in in_order(trace) if e.action == "Stop"}
    found = [
        last
        for install, _, last in readings
        if last.received
        and last.received[:3] not in stopped
        and any(
            other.received == last.received and after.args.view == install.args.view
            for after, events, _ in readings
            for other in events
            if other is not last
        )
    ]
    if found:
        left_out = rng.choice(found)
        trace.update(rescheduled(trace, [e for e in in_order(trace) if e is not left_out]))


def _without_file(rng: random.Random, trace: Trace) -> None:
    del trace[rng.choice(sorted(trace))]


def _without_footer(rng: random.Random, trace: Trace) -> None:
    records = rng.choice(sorted(trace.items()))[1]
    if isinstance(records[-1], Footer):
        records.pop()


FAULTS: dict[str, Callable[[random.Random, Trace], None]] = {
    "lose an event": _lose,
    "cut the end off": _cut,
    "cut the end off and close the file": _cut_and_close,
    "receive other contents": _other_contents,
    "receive at another position": _other_position,
    "receive another tag": _other_tag,
    "receive other messages": _other_sender,
    "send nothing": _unsent,
    "send other contents": _other_sent,
    "change nothing": _unchanged,
    "deliver in another view": _other_delivery,
    "set the clock back": _early_clock,
    "set the clock forward": _late_clock,
    "install other members": _other_view,
    "join with another digest": _other_digest,
    "swap two neighbours": _swap,
    "deliver in the next view": _late,
    "leave a message unread": _unread,
    "lose a file": _without_file,
    "lose the footer": _without_footer,
    "leave it whole": lambda _rng, _trace: None,
}
"""Each fault by what it does."""
