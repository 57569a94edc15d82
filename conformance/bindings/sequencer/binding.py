"""SEQUENCER's binding: its core takes its model's inputs, and is read as the model's member.

The core moves runs, the model's system single messages; so the core's outputs are read message by
message. The contents are compared too: each payload has its sender and its number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from raincheck.conformance.bindings.binding import Binding
from raincheck.impl.sequencer import events as impl
from raincheck.model.machine.machine import Refused
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import events as ev
from raincheck.model.sequencer import handlers as model
from raincheck.model.sequencer.handlers import Rules
from raincheck.model.sequencer.member import HANDLERS, Member

from . import reading
from .driven import give, make_core, member_of
from .invariants import INVARIANTS, OF_MERGES
from .promised import PROMISED
from .recorded import RecordedSequencers
from .speaks import SPEAKS
from .worlds import WORLDS, world


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
        case impl.SendAck(to, place, _):
            return [model.Ack(Address(*to), place)]
        case impl.SendSafe(place, _):
            return [model.Safe(place)]


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
    yield ev.Stabilise(max(local.seqno, 1))
    yield ev.Leave()
    yield ev.Stop(drained=True)
    yield ev.Stop(drained=False)
    yield ev.ReceiveForward(mine, Run(mine, 1, 1, 1), 1)
    stranger = Address("stranger", 0)
    for sender in (stranger, mine):
        for number in (local.view, local.view + 1):
            yield ev.ReceiveForward(stranger, Run(sender, 1, 1, 1), max(number, 1))
    members = local.members or (mine,)
    yield ev.Join(members[0], max(local.view, 1), members, (), ())
    yield ev.Acknowledge()
    yield ev.Announce()
    for who in (*members, stranger):
        for place in (0, 1, 2):
            yield ev.ReceiveAck(who, place)
            yield ev.ReceiveSafe(who, place)
    others = tuple(who for who in members if who != mine)
    for number in (local.view, local.view + 1, local.view + 2):
        yield ev.InstallView(number, members, ())
        if others:
            yield ev.InstallView(number, others, ())


_OF_ONE_GROUP = Binding(
    protocol="sequencer",
    rules=Rules,
    local=Member,
    inputs=ev.INPUTS,
    handlers=HANDLERS,
    guards_in=(model,),
    outputs=(model.Forward, model.Data, model.Deliver, ev.SendJoinRsp, model.Ack, model.Safe),
    make_core=make_core,
    events=vars(impl),
    switches={
        **dict.fromkeys((each.name for each in dataclasses.fields(Rules)), False),
        "join_policy": "one",
        "keep_until": "stable",
        "delivery": "safe",
    },
    chosen=frozenset({"delivery"}),
    local_of=member_of,
    event_of=lambda event: event,
    output_of=outputs_of,
    give=give,
    offered=offered,
    worlds=WORLDS,
    world=world,
    seldom=frozenset({"Crash", "Leave", "Demote", "Restart", "Forge"}),
    assumes=assumes,
    promised=PROMISED,
    recorded=RecordedSequencers,
    speaks=SPEAKS,
    invariants=INVARIANTS,
)

BINDING = replace(_OF_ONE_GROUP, merging=replace(_OF_ONE_GROUP, invariants=OF_MERGES))
