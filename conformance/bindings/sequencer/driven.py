"""SEQUENCER's core as one that takes its model's inputs, and is read as the model's member."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.errors import UsageError
from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import events as ev
from raincheck.model.sequencer.handlers import Rules, Table
from raincheck.model.sequencer.member import Member

from . import reading


@cache
def repairs_of(rules: Rules) -> Repairs:
    """Return the implementation's test-only switches for a case's rules, by the same names."""
    return Repairs(**dataclasses.asdict(rules))


class Driven:
    """A core that takes the model's inputs and returns its own effects.

    Where an input leaves something open, the core's state decides: the contents of a message that
    is sent, and the runs of a resend, since a core resends the runs that it sent.
    """

    def __init__(self, core: Sequencer) -> None:
        self.core = core

    def handle(self, event: Any) -> list[impl.Effect]:
        """Let the core handle the input; raises NotEnabled where its guard is false."""
        if isinstance(event, ev.Resend):
            return self._resend(event.size)
        effects = self.core.handle(self.event(event))
        if isinstance(event, ev.InstallView | ev.Join):
            # A stream ends with its member; a later one must not go on with it under the same
            # address.
            self.keep(self.core.members)
        return effects

    def keep(self, streams: Collection[wire.Address]) -> None:
        """Forget the places in all other streams."""
        places = self.core.position.items()
        self.core.position = {who: at for who, at in places if who in streams}

    def places(self) -> Table:
        """Return the places in the streams of the view's members."""
        core = self.core
        return reading.table_of((w, at) for w, at in core.position.items() if w in core.members)

    def _resend(self, count: int) -> list[impl.Effect]:
        effects = more = self.core.handle(impl.Resend(count))
        while more:
            done = sum(len(reading.tagged(_message(each))) for each in effects)
            if done >= count:
                break
            more = self.core.handle(impl.Resend(count - done))
            effects = effects + more
        return effects

    def event(self, event: Any) -> impl.Event:
        """Return the core's event for the model's input."""
        core = self.core
        match event:
            case ev.Send(count):
                return impl.Send(reading.payloads(core.node, core.said + 1, count))
            case ev.ReceiveForward(sender, run, view):
                forward = impl.Forward(*_carried(run, view), 1, 0)
                return impl.ReceiveForward(wire.Address(*sender), forward)
            case ev.ReceiveData(coordinator, run, view, place):
                who = wire.Address(*coordinator)
                return impl.ReceiveData(who, impl.Data(*_carried(run, view), place, 0))
            case ev.Stabilise(seqno):
                return impl.Stabilise(seqno)
            case ev.Acknowledge():
                return impl.Acknowledge()
            case ev.ReceiveAck(sender, place):
                return impl.ReceiveAck(wire.Address(*sender), place)
            case ev.Announce():
                return impl.Announce()
            case ev.ReceiveSafe(coordinator, place):
                return impl.ReceiveSafe(wire.Address(*coordinator), place)
            case ev.InstallView(number, members, joiners):
                return impl.InstallView(_view(number, members, joiners))
            case ev.Join(coordinator, number, members, table, digest):
                known = wire.Digest(_table(digest))
                rsp = impl.JoinRsp(_view(number, members), _table(table), known, 0)
                return impl.Join(wire.Address(*coordinator), rsp)
            case ev.Leave():
                return impl.Leave()
            case ev.Stop(drained):
                return impl.Stop(drained)
        raise UsageError(f"SEQUENCER's core has no event {type(event).__name__}: bind it.")


def _carried(run: Run, view: int) -> tuple[wire.Run, int, wire.Payloads]:
    sender = wire.Address(*run.sender)
    contents = reading.payloads(sender.node, run.payload, run.size)
    return wire.Run(sender, run.first, run.size), view, contents


def _view(number: int, members: Iterable[Address], joiners: Iterable[Address] = ()) -> wire.View:
    inside = tuple(wire.Address(*each) for each in members)
    return wire.View(
        wire.ViewId(number, inside[0]), inside, tuple(wire.Address(*each) for each in joiners)
    )


def _table(table: Table) -> wire.Table:
    return tuple((wire.Address(*who), number) for who, number in table)


def _message(effect: impl.Effect) -> impl.Forward | impl.Data | impl.Deliver:
    match effect:
        case impl.SendForward(_, forward):
            return forward
        case impl.Multicast(data):
            return data
        case impl.Deliver():
            return effect
    raise ShapeError(f"{effect!r} carries no message")


def make_core(rules: Rules, local: Member, kind: Callable[..., Sequencer] = Sequencer) -> Driven:
    """Return the core of a founder, a joiner or an ended process, with the same repairs."""
    me = wire.Address(local.node, local.incarnation)
    core = kind(me, repairs=repairs_of(rules), said=local.said)
    if local.members:
        core.found(_view(local.view, local.members))
    core.status = local.status
    return Driven(core)


def member_of(driven: Driven) -> Member:
    """Return the core's state as the model's, with its places in the streams of its members."""
    return Member(*reading.local_of(driven.core), driven.places())


def give(driven: Driven, before: Member, local: Member) -> bool:
    """Remove the streams that ended with a process whose successor is there."""
    if before._replace(position=local.position) != local:
        return False
    driven.keep([wire.Address(*who) for who, _ in local.position])
    return True
