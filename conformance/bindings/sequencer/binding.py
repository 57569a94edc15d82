"""SEQUENCER's binding: its core takes its model's inputs, and is read as the model's member.

The core moves runs, the model's system single messages; so the core's outputs are read message by
message. The contents are compared too: each payload has its sender and its number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.errors import UsageError
from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.model.machine.machine import Refused
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import events as ev
from raincheck.model.sequencer import handlers as model
from raincheck.model.sequencer.handlers import Rules, Table
from raincheck.model.sequencer.member import HANDLERS, Member

from . import reading
from .promised import PROMISED
from .speaks import SPEAKS
from .worlds import WORLDS, world


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
        effects = self.core.handle(self._event(event))
        if isinstance(event, ev.InstallView | ev.Join):
            # A stream ends with its member; a later one must not go on with it under the same
            # address.
            places = self.core.position.items()
            self.core.position = {who: at for who, at in places if who in self.core.members}
        return effects

    def _resend(self, count: int) -> list[impl.Effect]:
        effects = more = self.core.handle(impl.Resend(count))
        while more:
            done = sum(len(reading.tagged(_message(each))) for each in effects)
            if done >= count:
                break
            more = self.core.handle(impl.Resend(count - done))
            effects = effects + more
        return effects

    def _event(self, event: Any) -> impl.Event:
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
    core = driven.core
    known = ((who, at) for who, at in core.position.items() if who in core.members)
    position = reading.table_of(known)
    return Member(*reading.local_of(core), position)


def give(driven: Driven, before: Member, local: Member) -> bool:
    """Remove the streams that ended with a process whose successor is there."""
    if before._replace(position=local.position) != local:
        return False
    driven.core.position = {wire.Address(*who): at for who, at in local.position}
    return True


def outputs_of(effect: impl.Effect) -> list[Any]:
    """Return the model's outputs for an effect, message by message."""
    match effect:
        case impl.SendJoinRsp(to, rsp):
            return [
                ev.SendJoinRsp(
                    Address(*to),
                    rsp.view.id.counter,
                    reading.addresses(rsp.view.members),
                    reading.table_of(rsp.table),
                    reading.table_of(rsp.digest.entries),
                )
            ]
        case impl.SendForward(to, forward):
            return [model.Forward(run, view, Address(*to)) for run, view in reading.tagged(forward)]
        case impl.Multicast(data):
            return [model.Data(run, view) for run, view in reading.tagged(data)]
        case impl.Deliver():
            return [model.Deliver(run, view) for run, view in reading.tagged(effect)]


def assumes(rules: Rules, local: Member, event: Any) -> bool:
    """Return whether the layers around could bring this input now.

    A stream belongs to a member, not to an earlier or later life of it. No more is resent than
    there is.
    """
    match event:
        case ev.Resend(size) if size > 1:
            return not isinstance(model.resend(rules, local.local, size), Refused)
        case ev.ReceiveData(coordinator):
            return coordinator in local.members or all(
                coordinator.node != each.node for each in local.members
            )
    return True


def offered(rules: Rules, local: Member) -> Iterator[Any]:
    """Yield inputs that a node may get at any time, whatever its instance has."""
    mine = model.address(rules, local.local)
    yield ev.Send()
    yield ev.Resend()
    yield ev.Leave()
    yield ev.Stop(drained=True)
    yield ev.Stop(drained=False)
    yield ev.ReceiveForward(mine, Run(mine, 1, 1, 1), 1)
    members = local.members or (mine,)
    yield ev.Join(members[0], max(local.view, 1), members, (), ())
    others = tuple(who for who in members if who != mine)
    for number in (local.view, local.view + 1, local.view + 2):
        yield ev.InstallView(number, members, ())
        if others:
            yield ev.InstallView(number, others, ())


BINDING = Binding(
    protocol="sequencer",
    rules=Rules,
    local=Member,
    inputs=ev.INPUTS,
    handlers=HANDLERS,
    guards_in=(model,),
    outputs=(model.Forward, model.Data, model.Deliver, ev.SendJoinRsp),
    make_core=make_core,
    events=vars(impl),
    switches={
        **dict.fromkeys((each.name for each in dataclasses.fields(Rules)), False),
        "join_policy": "one",
    },
    local_of=member_of,
    event_of=lambda event: event,
    output_of=outputs_of,
    give=give,
    offered=offered,
    worlds=WORLDS,
    world=world,
    seldom=frozenset({"Crash", "Leave", "Demote", "Restart"}),
    assumes=assumes,
    promised=PROMISED,
    speaks=SPEAKS,
)
