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
    asks_twice: bool = True
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
    once: Founders = frozenset()


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


def by_answers(rules: Rules, me: Local) -> bool:
    """S2: tell whether the answers say that the process may propose a founding."""
    name = me.me.node
    there = names(me.heard) | {name}
    never = all(
        stage == "asking" or (stage == "left" and not rules.leaver_remembers)
        for stage in (me.stage, *(info.stage for info in me.heard))
    )
    if name not in rules.members or not never:
        return False
    if rules.found_needs == "all":
        return there == rules.members and name == min(rules.members)
    return rules.found_needs == "nothing" or (majority(rules, there) and name == min(there))


def by_word(rules: Rules, me: Local) -> bool:
    """S3: tell whether an operator says so."""
    name = me.me.node
    return (
        name in rules.members
        and me.found
        and majority(rules, names(me.heard) | {name})
        and all(info.stage in ASKS for info in me.heard)
    )


def _founders(rules: Rules, me: Local) -> Founders:
    if rules.found_needs == "nothing":
        return frozenset(Address(name, 0) for name in rules.members)
    return frozenset(info.sender for info in me.heard) | {address_of(rules, me)}


def _proposed(rules: Rules, me: Local) -> Local:
    said = by_word(rules, me)
    if me.stage not in ASKS or not (said or by_answers(rules, me)):
        return me
    ring = _founders(rules, me)
    if rules.asks_twice and me.heard and me.once != ring and not said:
        return me._replace(once=ring, heard=frozenset())
    return me._replace(stage="attempting", ring=ring)


def _completed(rules: Rules, me: Local) -> Local:
    """S4: a majority has recorded it."""
    having = names(info for info in me.heard if info.ring == me.ring) | {me.me.node}
    complete = not rules.records or majority(rules, having)
    return me._replace(stage="member") if me.stage == "attempting" and complete else me


def _settled(rules: Rules, me: Local) -> Local:
    """Return what the process comes to; who is in the ring asks no more."""
    me = _completed(rules, _proposed(rules, _joined(rules, _adopted(me))))
    if me.stage in ASKS:
        return me
    heard: frozenset[Info] = frozenset() if me.stage == "member" else me.heard
    return me._replace(heard=heard, once=frozenset())


def by_word_only(rules: Rules, me: Local) -> bool:
    """Tell whether the process, with what it has heard, does what it would not without a word."""
    without = _settled(rules, me._replace(found=False))
    return without._replace(found=me.found) != _settled(rules, me)


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
