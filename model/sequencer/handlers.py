"""SEQUENCER: the twin of `spec/Sequencer.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first,
conjunct by conjunct in the spec's words, followed by the effect of the spec's action on this
member. Multicasts, forwards, answers and deliveries are outputs; the network (`system.py`, or a
recorded trace) decides what becomes of them.

Handlers take runs of messages. With size 1 each is the spec's action; a longer run is that many
steps of the action in a row. The spec quotes the rules R1 to R11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Conjunct, Refused, Value, refusal, state
from raincheck.model.machine.runs import Address, Intervals, Run, with_interval, without_interval

Table: TypeAlias = tuple[tuple[Address, int], ...]
"""The receivedTable of one member: the highest seqno per sender, in the order of addresses."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs that are switched on; the names are the spec's constants."""

    view_tag: bool = True
    hold_sends: bool = True
    resend_always: bool = True
    own_table: bool = True
    keep_until: str = "delivered"
    exact_next: bool = True
    join_policy: str = "table"
    incarnations: bool = True
    prune_table: bool = True
    drain_on_leave: bool = True
    from_members: bool = True
    delivery: str = "agreed"


class Forward(NamedTuple):
    """FORWARD: a member's messages on their way to the coordinator of view `view`."""

    messages: Run
    view: int
    to: Address


class Data(NamedTuple):
    """DATA: messages multicast by the coordinator of view `view`."""

    messages: Run
    view: int


class Deliver(NamedTuple):
    """Messages passed up while in view `view`."""

    messages: Run
    view: int


class Held(NamedTuple):
    """A message received and not delivered yet, and its place in its coordinator's stream."""

    message: Run
    place: int


class Ack(NamedTuple):
    """ACK to the coordinator: the member has received its stream up to this place."""

    to: Address
    place: int


class Safe(NamedTuple):
    """SAFE to all: every member of the view has received the stream up to this place."""

    place: int


class JoinRsp(NamedTuple):
    """The coordinator's answer to the joiners of `view`: its receivedTable at this cut."""

    view: int
    table: Table


Output: TypeAlias = Forward | Data | Deliver | JoinRsp | Ack | Safe


@state
class Local(NamedTuple):
    """A member's local state. `members` are those of its view (the spec's `views[view[n]]`)."""

    node: str
    status: str
    incarnation: int = 0
    view: int = 0
    members: tuple[Address, ...] = ()
    seqno: int = 0
    said: int = 0
    forward_table: Intervals = ()
    resend: Intervals = ()
    received_table: Table = ()
    early: tuple[Forward, ...] = ()
    held: tuple[Held, ...] = ()
    told: int = 0
    heard: Table = ()
    announced: int = 0


Answer: TypeAlias = Accepted[Local, Output] | Refused

RUNNING = ("member", "leaving")

# The handlers below run once per message in trace checking. A NamedTuple's own constructor and
# `_replace` take several times as long as `tuple.__new__` on a changed list of its fields.
_new = tuple.__new__
_SEQNO, _SAID, _FORWARD_TABLE, _RESEND, _RECEIVED_TABLE = (
    Local._fields.index(name)
    for name in ("seqno", "said", "forward_table", "resend", "received_table")
)


def founder(node: str, members: tuple[Address, ...]) -> Local:
    """Return the initial state of a member of the first view."""
    return Local(node, "member", view=1, members=members)


def joiner(node: str, incarnation: int = 0, said: int = 0) -> Local:
    """Return the initial state of a process that asks to join."""
    return Local(node, "joining", incarnation, said=said)


def address(rules: Rules, me: Local) -> Address:
    """Return the member's address."""
    return _new(Address, (me.node, me.incarnation if rules.incarnations else 0))


def running(me: Local) -> bool:
    """Tell whether the process takes part in the protocol."""
    return me.status in RUNNING


def is_coordinator(rules: Rules, me: Local) -> bool:
    """Tell whether the member is the first of its view."""
    return bool(me.members) and me.members[0] == address(rules, me)


def own_run(rules: Rules, me: Local, low: int, high: int) -> Run:
    """Return the member's own messages `low` .. `high` of this life."""
    return Run(address(rules, me), low, high - low + 1, me.said - me.seqno + low)


def send(rules: Rules, me: Local, count: int = 1) -> Answer:
    """The application multicasts `count` messages (R2, R3)."""
    if me.status != "member" or (rules.hold_sends and me.resend):
        return _send_refused(rules, me)
    mine, members = address(rules, me), me.members
    seqno, said = me.seqno, me.said
    first, last = seqno + 1, seqno + count
    messages = _new(Run, (mine, first, count, said + 1))
    coordinator = bool(members) and members[0] == mine
    fields: list[Any] = [*me]
    fields[_SEQNO], fields[_SAID] = last, said + count
    if not coordinator or rules.own_table:
        fields[_FORWARD_TABLE] = with_interval(me.forward_table, first, last)
    output: Output
    if coordinator:
        output = _new(Data, (messages, me.view))
    else:
        output = _new(Forward, (messages, me.view, members[0]))
    return _new(Accepted, (_new(Local, fields), (output,)))


def receive_forward(rules: Rules, me: Local, sender: Address, forward: Forward) -> Answer:
    """A FORWARD of `sender` arrives (R4)."""
    if not running(me):
        return Refused((_running_conjunct(me),))
    view = me.view
    if rules.from_members and forward.messages.sender != sender:
        return Accepted(me)
    if rules.view_tag and forward.view != view:
        if forward.view < view:
            return Accepted(me)
        return Accepted(me._replace(early=(*me.early, forward)))
    if not is_coordinator(rules, me) or not may_forward(rules, forward, me.members):
        return Accepted(me)
    return _new(Accepted, (me, (_new(Data, (forward.messages, view)),)))


def may_forward(rules: Rules, forward: Forward, members: tuple[Address, ...]) -> bool:
    """Tell whether the FORWARD is heeded in a view of these members."""
    return not rules.from_members or forward.messages.sender in members


def receive_data(rules: Rules, me: Local, coordinator: str, data: Data, place: int = 0) -> Answer:
    """The next DATA of the stream of node `coordinator` arrives (R5, R6, R9).

    `place` is that of the first message in the stream; only safe delivery asks for it.
    """
    messages, view = data
    first, last = messages.first, messages.last
    taken = take_data(rules, me, coordinator, messages.sender, first, last, view)
    if isinstance(taken, Refused):
        return taken
    me, fresh = taken
    if fresh > last:
        return Accepted(me)
    new = messages.part(fresh, last)
    if rules.delivery == "safe":
        at = place + fresh - first
        held = (Held(each, at + i) for i, each in enumerate(new.singles()))
        return Accepted(me._replace(held=(*me.held, *held)))
    return Accepted(me, (Deliver(new, me.view),))


def acknowledge(rules: Rules, me: Local, place: int) -> Answer:
    """The member tells its coordinator how much of its stream it has received."""
    refused = refusal(
        _safe_guard(rules),
        _running_guard(me),
        (not is_coordinator(rules, me), "~IsCoordinator(n)", {"members": me.members}),
        (place > me.told, "at > told[n]", {"at": place, "told": me.told}),
    )
    return refused or Accepted(me._replace(told=place), (Ack(me.members[0], place),))


def receive_ack(rules: Rules, me: Local, sender: Address, place: int) -> Answer:
    """The acknowledgement of a member arrives at its coordinator."""
    known = dict(me.heard).get(sender, 0)
    refused = refusal(
        _safe_guard(rules),
        _running_guard(me),
        (sender != address(rules, me), "n # s", {"s": sender}),
        (is_coordinator(rules, me), "IsCoordinator(n)", {"members": me.members}),
        (sender in me.members, "Address(s) \\in Members(CurrentView(n))", {"s": sender}),
        (place > known, "told[s] > Acknowledged(n, Address(s))", {"told": place, "heard": known}),
    )
    if refused:
        return refused
    heard = dict(me.heard) | {sender: place}
    return Accepted(me._replace(heard=tuple(sorted(heard.items()))))


def announce(rules: Rules, me: Local, place: int) -> Answer:
    """The coordinator announces how much of its stream every member has received.

    `place` is how much of it the coordinator itself has.
    """
    mine, heard = address(rules, me), dict(me.heard)
    safe = min((heard.get(each, 0) for each in me.members if each != mine), default=place)
    safe = min(safe, place)
    refused = refusal(
        _safe_guard(rules),
        _running_guard(me),
        (is_coordinator(rules, me), "IsCoordinator(n)", {"members": me.members}),
        (safe > me.announced, "all > announced[n]", {"all": safe, "announced": me.announced}),
    )
    return refused or Accepted(me._replace(announced=safe), (Safe(safe),))


def receive_safe(rules: Rules, me: Local, coordinator: Address, place: int) -> Answer:
    """The announcement of its coordinator arrives at the member, which delivers what it covers."""
    covered = sum(each.place <= place for each in me.held)
    refused = refusal(
        _safe_guard(rules),
        _running_guard(me),
        (
            coordinator in me.members[:1],
            "Coordinator(CurrentView(n)) = Address(c)",
            {"c": coordinator, "members": me.members},
        ),
        (covered > 0, "covered # {}", {"announced": place, "held": me.held}),
    )
    if refused:
        return refused
    return Accepted(me._replace(held=me.held[covered:]), released(me, covered))


def released(me: Local, count: int) -> tuple[Deliver, ...]:
    """Return the deliveries of the first `count` messages that the member holds."""
    return tuple(Deliver(each.message, me.view) for each in me.held[:count])


def take_data(
    rules: Rules, me: Local, coordinator: str, sender: Address, first: int, last: int, view: int
) -> tuple[Local, int] | Refused:
    """Return the next state of `receive_data`, and the seqno from which the run is delivered.

    Trace checking spends its time here, so this part works without the messages as values.
    """
    received = me.received_table
    known, place, found = 0, 0, False
    for who, seqno in received:
        if who == sender:
            known, found = seqno, True
            break
        place += 1
    is_next = (
        first <= known + 1 or not rules.exact_next or (not found and rules.join_policy == "any")
    )
    is_member = False
    for member in me.members:
        if member[0] == coordinator:
            is_member = True
            break
    if not (
        is_next and is_member and me.status in RUNNING and (view <= me.view or not rules.view_tag)
    ):
        data = Data(Run(sender, first, last - first + 1, 0), view)
        return _data_refused(rules, me, coordinator, data, known, (is_member, is_next))
    fields: list[Any] = [*me]
    mine = sender[0] == me.node and sender == address(rules, me)
    if mine and rules.keep_until == "delivered":
        fields[_FORWARD_TABLE] = without_interval(me.forward_table, first, last)
        fields[_RESEND] = without_interval(me.resend, first, last)
    if last > known:
        table = [*received]
        if found:
            table[place] = (sender, last)
        else:
            table.append((sender, last))
            table.sort()
        fields[_RECEIVED_TABLE] = tuple(table)
        known = max(first - 1, known)
    return _new(Local, fields), known + 1


def stabilise(rules: Rules, me: Local, seqno: int) -> Answer:
    """STABLE reports that all members of the view have delivered the messages up to `seqno`."""
    refused = refusal(
        _keeping_guard(rules),
        _running_guard(me),
        (
            bool(me.forward_table) and me.forward_table[0][0] <= seqno,
            "\\E m \\in forwardTable[n] : ~Kept(m)",
            {"forwardTable": me.forward_table, "seqno": seqno},
        ),
    )
    if refused:
        return refused
    return Accepted(
        me._replace(
            forward_table=without_interval(me.forward_table, 1, seqno),
            resend=without_interval(me.resend, 1, seqno),
        )
    )


def install_view(
    rules: Rules, me: Local, number: int, members: tuple[Address, ...], place: int = 0
) -> Answer:
    """The member installs the next view (R7, R8); its coordinator answers the joiners.

    What it holds it delivers before, in the old view. `place` is how much it has received of the
    stream of the new view's coordinator; only safe delivery asks for it.
    """
    mine = address(rules, me)
    refused = refusal(
        _running_guard(me),
        (number == me.view + 1, "v = view[n] + 1", {"v": number, "view": me.view}),
        (mine in members, "Address(n) \\in Members(new)", {"Address": mine, "new": members}),
    )
    if refused:
        return refused
    table = me.received_table
    if rules.prune_table:
        table = tuple(entry for entry in table if entry[0] in members)
    pending = me.resend
    if rules.resend_always or members[0] != me.members[0]:
        pending = me.forward_table
    outputs: tuple[Output, ...] = released(me, len(me.held))
    if members[0] == mine:
        waiting = tuple(
            Data(f.messages, number)
            for f in me.early
            if f.view == number and may_forward(rules, f, members)
        )
        answer = JoinRsp(number, table if rules.join_policy == "table" else ())
        outputs = (*outputs, answer, *waiting)
    me = me._replace(
        view=number,
        members=members,
        received_table=table,
        resend=pending,
        early=tuple(f for f in me.early if f.view > number),
        held=(),
        told=place if rules.delivery == "safe" else 0,
        heard=(),
    )
    return Accepted(me, outputs)


def join(
    rules: Rules,
    me: Local,
    number: int,
    members: tuple[Address, ...],
    table: Table,
    place: int = 0,
) -> Answer:
    """A joiner receives JOIN_RSP and becomes a member; `place` is as in `install_view`."""
    if me.status != "joining":
        return Refused((Conjunct('status[n] = "joining"', {"status": me.status}),))
    told = place if rules.delivery == "safe" else 0
    return Accepted(
        me._replace(status="member", view=number, members=members, received_table=table, told=told)
    )


def resend(rules: Rules, me: Local, count: int = 1) -> Answer:
    """Send the next `count` messages of forwardTable again after a view change (R7)."""
    low, high = me.resend[0] if me.resend else (1, 0)
    refused = refusal(
        _running_guard(me),
        (count <= high - low + 1, "resend[n] # <<>>", {"resend": me.resend, "count": count}),
    )
    if refused:
        return refused
    messages = own_run(rules, me, low, low + count - 1)
    output = (
        Data(messages, me.view)
        if is_coordinator(rules, me)
        else Forward(messages, me.view, me.members[0])
    )
    left = without_interval(me.resend, low, low + count - 1)
    return Accepted(me._replace(resend=left), (output,))


def leave(me: Local) -> Answer:
    """The application calls leave(): it sends no new messages (R10)."""
    if me.status != "member":
        return _refused('status[n] = "member"', {"status": me.status})
    return Accepted(me._replace(status="leaving"))


def stop(rules: Rules, me: Local) -> Answer:
    """leave() returns; if drained, only when the leaver has delivered everything it sent (R10)."""
    refused = refusal(
        (me.status == "leaving", 'status[n] = "leaving"', {"status": me.status}),
        (
            not (rules.drain_on_leave and me.forward_table),
            "DrainOnLeave => forwardTable[n] = {}",
            {"forwardTable": me.forward_table},
        ),
    )
    return refused or Accepted(_ended(me, "left"))


def crash(me: Local) -> Answer:
    """The process crashes."""
    if not running(me):
        return Refused((_running_conjunct(me),))
    return Accepted(_ended(me, "crashed"))


def restart(me: Local) -> Answer:
    """The process comes back, with nothing but its name."""
    if me.status not in ("crashed", "left"):
        return _refused('status[n] \\in {"crashed", "left"}', {"status": me.status})
    return Accepted(joiner(me.node, me.incarnation + 1, me.said))


def _ended(me: Local, status: str) -> Local:
    return Local(me.node, status, me.incarnation, said=me.said)


def _keeping_guard(rules: Rules) -> tuple[bool, str, Mapping[str, Value]]:
    kept = rules.keep_until
    return kept == "stable", 'KeepUntil = "stable"', {"KeepUntil": kept}


def _safe_guard(rules: Rules) -> tuple[bool, str, Mapping[str, Value]]:
    wanted = rules.delivery
    return wanted == "safe", 'Delivery = "safe"', {"Delivery": wanted}


def _running_guard(me: Local) -> tuple[bool, str, Mapping[str, Value]]:
    return running(me), "Running(n)", {"status": me.status}


def _running_conjunct(me: Local) -> Conjunct:
    return Conjunct("Running(n)", {"status": me.status})


def _refused(text: str, values: Mapping[str, Value]) -> Refused:
    return Refused((Conjunct(text, values),))


def _send_refused(rules: Rules, me: Local) -> Refused:
    refused = refusal(
        (me.status == "member", 'status[n] = "member"', {"status": me.status}),
        (
            not (rules.hold_sends and me.resend),
            "HoldSends => resend[n] = <<>>",
            {"resend": me.resend},
        ),
    )
    assert refused is not None
    return refused


def _data_refused(
    rules: Rules, me: Local, coordinator: str, data: Data, known: int, held: tuple[bool, bool]
) -> Refused:
    is_member, is_next = held
    refused = refusal(
        _running_guard(me),
        (is_member, "c \\in NodesOf(CurrentView(n))", {"c": coordinator, "members": me.members}),
        (
            not rules.view_tag or data.view <= me.view,
            "ViewTag => d.view <= view[n]",
            {"d.view": data.view, "view": me.view},
        ),
        (
            is_next,
            "ExactNext => IsNext(n, m)",
            {"m": data.messages, "Highest": known},
        ),
    )
    assert refused is not None
    return refused
