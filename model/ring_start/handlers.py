"""RING_START: the twin of `spec/RingStart.tla`, one function per handler of a process.

The law of this file: a handler sees one process's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this process. The spec has the
rules S1 to S6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, refusal, state
from raincheck.model.machine.runs import Address

from .events import INPUTS, Founders, Hear, Info, Start

ASKS = ("asking", "left")
"""The stages of a process that has recorded nothing."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on, and the members; the names are the spec's constants."""

    found_needs: str = "all"
    records: bool = True
    record_stands: bool = True
    lives: bool = True
    leaver_remembers: bool = True
    members: frozenset[str] = frozenset("abc")


@state
class Local(NamedTuple):
    """A process's local state. `found`: it was started with found=True."""

    me: Address
    found: bool = False
    stage: str = "asking"
    ring: Founders = frozenset()
    heard: frozenset[Info] = frozenset()


Answer: TypeAlias = Accepted[Local, Info] | Refused


def address_of(rules: Rules, me: Local) -> Address:
    """Return under which address the process is known."""
    return me.me if rules.lives else Address(me.me.node, 0)


def info_of(rules: Rules, me: Local) -> Info:
    """Return what the process answers."""
    return Info(address_of(rules, me), me.stage, me.ring)


def majority(rules: Rules, nodes: Collection[str]) -> bool:
    """Tell whether these are more than half of the members."""
    return 2 * len(rules.members.intersection(nodes)) > len(rules.members)


def names(infos: Iterable[Info]) -> frozenset[str]:
    """Return the names of those that have answered."""
    return frozenset(info.sender.node for info in infos)


# ------------------------------------------------------------------ what follows from the answers


def _first(infos: Iterable[Info]) -> Info | None:
    return min(infos, key=lambda info: info.sender.node, default=None)


def _adopted(me: Local) -> Local:
    """S1: somebody is in the ring."""
    found = _first(info for info in me.heard if info.stage == "member")
    if me.stage == "member" or found is None:
        return me
    return me._replace(stage="member", ring=found.ring)


def _joined(rules: Rules, me: Local) -> Local:
    """S4: somebody has recorded a founding with this process among the founders."""
    mine = address_of(rules, me)
    told = (info for info in me.heard if info.stage == "attempting" and mine in info.ring)
    found = _first(told)
    free = me.stage in ASKS or (not rules.record_stands and me.stage == "attempting")
    return me if found is None or not free else me._replace(stage="attempting", ring=found.ring)


def founds(rules: Rules, me: Local) -> bool:
    """S2, S3: tell whether the process may propose a founding."""
    name = me.me.node
    there = names(me.heard) | {name}
    stages = [me.stage, *(info.stage for info in me.heard)]
    never = all(
        stage == "asking" or (stage == "left" and not rules.leaver_remembers) for stage in stages
    )
    if name not in rules.members:
        return False
    if rules.found_needs == "all":
        enough = never and there == rules.members and name == min(rules.members)
    elif rules.found_needs == "majority":
        enough = never and majority(rules, there) and name == min(there)
    else:
        enough = never
    said = me.found and majority(rules, there)
    return enough or (said and all(stage in ASKS for stage in stages))


def _proposed(rules: Rules, me: Local) -> Local:
    if me.stage not in ASKS or not founds(rules, me):
        return me
    if rules.found_needs == "nothing":
        ring = frozenset(Address(name, 0) for name in rules.members)
    else:
        ring = frozenset(info.sender for info in me.heard) | {address_of(rules, me)}
    return me._replace(stage="attempting", ring=ring)


def _completed(rules: Rules, me: Local) -> Local:
    """S4: a majority has recorded it."""
    having = names(info for info in me.heard if info.ring == me.ring) | {me.me.node}
    complete = not rules.records or majority(rules, having)
    return me._replace(stage="member") if me.stage == "attempting" and complete else me


def _settled(rules: Rules, me: Local) -> Local:
    """Return what the process comes to; who is in the ring asks no more."""
    me = _completed(rules, _proposed(rules, _joined(rules, _adopted(me))))
    return me._replace(heard=frozenset()) if me.stage == "member" else me


def _considered(rules: Rules, me: Local, heard: frozenset[Info]) -> Answer:
    after = _settled(rules, me._replace(heard=heard))
    before, now = info_of(rules, me), info_of(rules, after)
    return Accepted(after, () if before == now else (now,))


# ------------------------------------------------------------------ the handlers


def start(rules: Rules, me: Local, _event: Start) -> Answer:
    """The process starts: it has heard nothing."""
    return _considered(rules, me, frozenset())


def hear(rules: Rules, me: Local, event: Hear) -> Answer:
    """The process hears something that it has not heard."""
    info = event.info
    name = info.sender.node
    others = frozenset(each for each in me.heard if each.sender.node != name)
    refused = refusal(
        (me.stage != "member", 'stage[n] # "member"', {"stage": me.stage}),
        (name in rules.members and name != me.me.node, "p # n /\\ p \\in Members", {"p": name}),
        (info not in me.heard, "Info(p) \\notin heard[n]", {"info": info}),
    )
    return refused or _considered(rules, me, others | {info})


HANDLERS = handlers_of(INPUTS, globals())
