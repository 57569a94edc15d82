"""The steps of a trace in another order, taken and recorded anew by the whole group's machine.

What comes out is a good trace but for virtual synchrony, which the machine does not ask for.
"""

from typing import Any

from raincheck.conformance.bindings.sequencer.records import rules_of
from raincheck.conformance.trace.events import Event, Footer, Header
from raincheck.model.machine.runs import Address

from .direct_world import NotEnabled, World
from .tracegen import Trace


def in_order(trace: Trace) -> list[Event]:
    """Every event, in an order that the clocks allow."""
    events = [each for records in trace.values() for each in records if isinstance(each, Event)]
    return sorted(events, key=lambda e: (e.clock, e.node, e.incarnation, e.index))


def rescheduled(trace: Trace, order: list[Event]) -> Trace:
    """Take those steps in that order; what can no longer be taken is left out."""
    world = _world(trace)
    taken: dict[Address, list[Event]] = {who: [] for who in trace}
    for event in order:
        who = Address(event.node, event.incarnation)
        choice = _choice(event)
        crc = event.sent[0].crc if event.sent else 0
        if _waits(world, who, event, choice):
            continue
        try:
            taken[who].append(world.perform(who, event.action, choice, crc))
        except NotEnabled:
            continue
    anew: Trace = {}
    for who, records in trace.items():
        anew[who] = [records[0], *taken[who]]
        if isinstance(records[-1], Footer):
            count = len(taken[who])
            anew[who].append(
                Footer(run=world.run, node=who.node, incarnation=who.incarnation, index=count)
            )
    return anew


def _world(trace: Trace) -> World:
    """The group as the headers say that it began."""
    headers = {who: records[0] for who, records in trace.items()}
    first = next(header for header in headers.values() if isinstance(header, Header))
    world = World(first.run, rules_of(first.constants))
    for who, header in headers.items():
        assert isinstance(header, Header)
        if header.initial is None:
            world.arrive(who, header.said)
        else:
            members = tuple(Address(*member) for member in header.initial.members)
            world.found(members, header.initial.id)
    return world


def _choice(event: Event) -> Any:
    """What the environment chose for this event."""
    args, received = event.args, event.received
    if event.action in ("Send", "Resend"):
        return (args.messages or ("", 0, 0, 1))[3]
    if event.action == "InstallView":
        return args.view, tuple(Address(*member) for member in args.members or ())
    if event.action in ("ReceiveAck", "ReceiveSafe"):
        assert received is not None
        return Address(str(received[1]), int(received[2])), int(received[-1])
    if event.action in ("ReceiveData", "ReceiveForward"):
        assert received is not None
        return Address(str(received[1]), int(received[2]))
    return None


def _waits(world: World, who: Address, event: Event, choice: Any) -> bool:
    """Whether the network does not offer that very message, or the group lets nobody stop yet."""
    if event.action == "Stop":
        return world.rules.drain_on_leave and not world.drained(who)
    offered: Any = None
    if event.action == "ReceiveData":
        offered = world.next_data(who, choice)
    elif event.action == "ReceiveForward":
        offered = next(iter(world.forwards.get((choice, who), [])), None)
    elif event.action == "Join":
        offered = world.answers.get(who)
    else:
        return False
    return offered is None or offered.id != event.received
