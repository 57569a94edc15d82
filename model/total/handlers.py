"""TOTAL: the twin of `spec/Total.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. The spec has the
rules R1 to R12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    INPUTS,
    Acknowledge,
    Announce,
    Ask,
    Bcast,
    Broadcast,
    CumSeqAck,
    Deliver,
    InstallView,
    Last,
    Message,
    NewView,
    Number,
    Output,
    ReceiveBcast,
    ReceiveCumSeqAck,
    ReceiveLast,
    ReceiveNewView,
    ReceiveNumber,
    ReceiveRequest,
    ReceiveResend,
    Request,
    Resend,
    ResendRequests,
    Send,
)

Counts: TypeAlias = tuple[tuple[Address, int], ...]
"""A number per member, in the order of addresses; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on; the names are the spec's constants."""

    design: str = "forward"
    view_tag: bool = True
    tags: bool = True
    resends: bool = True
    begin: str = "one"
    announces: bool = True
    forget_when: str = "all"


@state
class Local(NamedTuple):
    """A member's local state; all but the first fields begin anew with each view."""

    me: Address
    status: str = "joining"
    view: int = 0
    members: tuple[Address, ...] = ()
    seqno: int = 0
    forward_table: tuple[Message, ...] = ()
    passed: int = 0
    next_id: int = 0
    taken: Counts = ()
    history: frozenset[Broadcast] = frozenset()
    acks: Counts = ()
    expected: int = 0
    queue: frozenset[Broadcast] = frozenset()
    last: int = 0


Answer: TypeAlias = Accepted[Local, Output] | Refused


def founder(me: Address, members: tuple[Address, ...]) -> Local:
    """Return a member of the first view, in which all begin with 1."""
    leads = int(members[0] == me)
    return Local(me, "member", 1, members, next_id=leads, expected=1)


def running(me: Local) -> bool:
    """Whether the process is a member."""
    return me.status == "member"


def is_sequencer(me: Local) -> bool:
    """Whether it is the first member of its view (R1)."""
    return running(me) and me.members[:1] == (me.me,)


def count(counts: Counts, of: Address) -> int:
    """Return the member's number."""
    return dict(counts).get(of, 0)


def counted(counts: Counts, of: Address, number: int) -> Counts:
    """Return the numbers with another one for that member."""
    return tuple(sorted({**dict(counts), of: number}.items()))


def ids(broadcasts: Iterable[Broadcast]) -> frozenset[int]:
    """Return the ids of these broadcasts."""
    return frozenset(each.id for each in broadcasts)


def missing(me: Local) -> range:
    """Return the ids that it knows to be missing: below the first of what it has, or up to `last`.

    All are missing if it does not know what it expects: then it cannot ask (R9).
    """
    known = ids(me.queue) | ({me.last + 1} if me.last else set())
    if not me.expected or not known:
        return range(0)
    return range(me.expected, min(known))


def _running(me: Local) -> tuple[bool, str, dict[str, str]]:
    return running(me), "Running(n)", {"status[n]": me.status}


def _of_another_view(rules: Rules, me: Local, view: int) -> bool:
    return rules.view_tag and view != me.view


# ------------------------------------------------------------------ a member takes broadcasts


def _drained(me: Local) -> Answer:
    """Deliver while the expected id is in the queue (R5)."""
    outputs: list[Output] = []
    queue = {each.id: each for each in me.queue}
    expected, table, passed = me.expected, me.forward_table, me.passed
    while expected in queue:
        message = queue.pop(expected).message
        outputs.append(Deliver(message, me.view, expected))
        if message in table:
            table = tuple(each for each in table if each != message)
            passed += 1
        expected += 1
    left = frozenset(queue.values())
    me = me._replace(queue=left, expected=expected, forward_table=table, passed=passed)
    return Accepted(me, tuple(outputs))


def _took(rules: Rules, me: Local, each: Broadcast) -> tuple[Local, tuple[Output, ...]]:
    """Take a broadcast (R4)."""
    if each.id < me.expected or each.id in ids(me.queue):
        return me, ()
    if rules.begin == "first" and not me.expected and me.view:
        me = me._replace(expected=each.id)
    answer = _drained(me._replace(queue=me.queue | {each}))
    assert isinstance(answer, Accepted)
    return answer.local, answer.outputs


def _sequenced(rules: Rules, me: Local, messages: Iterable[Message]) -> Answer:
    """Give these messages the next ids, broadcast and take them (R3)."""
    outputs: list[Output] = []
    for message in messages:
        each = Broadcast(me.next_id, message)
        outputs.append(Bcast(None, each.id, message, me.view))
        me = me._replace(next_id=me.next_id + 1, history=me.history | {each})
        me, delivered = _took(rules, me, each)
        outputs += delivered
    return Accepted(me, tuple(outputs))


def _requests(me: Local) -> tuple[Output, ...]:
    to = me.members[0]
    return tuple(
        Request(to, message, me.passed + place, me.view)
        for place, message in enumerate(me.forward_table, 1)
    )


# ------------------------------------------------------------------ handlers


def send(rules: Rules, me: Local, event: Send) -> Answer:  # noqa: ARG001
    """The application multicasts a message (R2)."""
    refused = refusal(_running(me))
    if refused:
        return refused
    message = Message(me.me, me.seqno + 1)
    me = me._replace(seqno=message.seqno)
    if is_sequencer(me):
        return _sequenced(rules, me, (message,))
    me = me._replace(forward_table=(*me.forward_table, message))
    return Accepted(me, _requests(me)[-1:])


def receive_request(rules: Rules, me: Local, event: ReceiveRequest) -> Answer:
    """A request arrives (R3); one that cannot be heeded is dropped, and its sender repeats it."""
    sender, message, tag, view = event
    before = count(me.taken, sender)
    if (
        not is_sequencer(me)
        or _of_another_view(rules, me, view)
        or (rules.tags and tag != before + 1)
    ):
        return Accepted(me)
    me = me._replace(taken=counted(me.taken, sender, before + 1))
    if rules.design == "forward":
        return _sequenced(rules, me, (message,))
    number = Number(sender, me.next_id, tag, me.view)
    return Accepted(me._replace(next_id=me.next_id + 1), (number,))


def receive_number(rules: Rules, me: Local, event: ReceiveNumber) -> Answer:
    """The id that it has asked for arrives; it broadcasts its message itself, and keeps it."""
    place = event.tag - me.passed
    if _of_another_view(rules, me, event.view) or not 1 <= place <= len(me.forward_table):
        return Accepted(me)
    each = Broadcast(event.id, me.forward_table[place - 1])
    me, delivered = _took(rules, me, each)
    me = me._replace(history=me.history | {each})
    return Accepted(me, (Bcast(None, each.id, each.message, me.view), *delivered))


def receive_bcast(rules: Rules, me: Local, event: ReceiveBcast) -> Answer:
    """A broadcast arrives (R4, R5)."""
    if _of_another_view(rules, me, event.view):
        return Accepted(me)
    return Accepted(*_took(rules, me, Broadcast(event.id, event.message)))


def receive_new_view(rules: Rules, me: Local, event: ReceiveNewView) -> Answer:
    """The first id of a view arrives (R8)."""
    if _of_another_view(rules, me, event.view) or not running(me):
        return Accepted(me)
    queue = frozenset(each for each in me.queue if each.id >= event.id)
    return _drained(me._replace(expected=event.id, queue=queue))


def ask(rules: Rules, me: Local, event: Ask) -> Answer:  # noqa: ARG001
    """The retransmission thread asks for all that is known to be missing (R9)."""
    wanted = missing(me)
    return refusal(
        (running(me) and not is_sequencer(me), "Running(n) /\\ ~IsSequencer(n)", {}),
        (bool(wanted), "Missing(n) # {}", {"expected[n]": me.expected}),
    ) or Accepted(me, tuple(Resend(me.members[0], each, me.view) for each in wanted))


def receive_resend(rules: Rules, me: Local, event: ReceiveResend) -> Answer:
    """A member asks for a broadcast (R9)."""
    if _of_another_view(rules, me, event.view):
        return Accepted(me)
    again = [each for each in me.history if each.id == event.id]
    return Accepted(
        me, tuple(Bcast(event.sender, each.id, each.message, me.view) for each in again)
    )


def resend_requests(rules: Rules, me: Local, event: ResendRequests) -> Answer:  # noqa: ARG001
    """It sends its requests again."""
    return refusal(
        (rules.resends, "Resends", {}),
        (bool(me.forward_table), "forwardTable[n] # <<>>", {}),
    ) or Accepted(me, _requests(me))


def announce(rules: Rules, me: Local, event: Announce) -> Answer:  # noqa: ARG001
    """The sequencer tells the last id."""
    return refusal(
        (rules.announces, "Announces", {}),
        (is_sequencer(me), "IsSequencer(n)", {}),
        (bool(me.history), "history[n] # {}", {}),
    ) or Accepted(me, (Last(me.next_id - 1, me.view),))


def receive_last(rules: Rules, me: Local, event: ReceiveLast) -> Answer:
    """The last id arrives."""
    if _of_another_view(rules, me, event.view):
        return Accepted(me)
    return Accepted(me._replace(last=max(me.last, event.id)))


def acknowledge(rules: Rules, me: Local, event: Acknowledge) -> Answer:  # noqa: ARG001
    """It acknowledges what it has delivered (R10)."""
    return refusal(
        (running(me) and not is_sequencer(me), "Running(n) /\\ ~IsSequencer(n)", {}),
        (me.expected > 1, "expected[n] > 1", {"expected[n]": me.expected}),
    ) or Accepted(me, (CumSeqAck(me.members[0], me.expected - 1, me.view),))


def receive_cum_seq_ack(rules: Rules, me: Local, event: ReceiveCumSeqAck) -> Answer:
    """An acknowledgement arrives; the sequencer forgets what all have (R10)."""
    sender, id_, view = event
    if _of_another_view(rules, me, view) or not is_sequencer(me) or id_ <= count(me.acks, sender):
        return Accepted(me)
    acks = counted(me.acks, sender, id_)
    upto = _acknowledged(rules, me, acks)
    history = frozenset(each for each in me.history if each.id > upto)
    return Accepted(me._replace(acks=acks, history=history))


def _acknowledged(rules: Rules, me: Local, acks: Counts) -> int:
    of = [count(acks, each) for each in me.members if each != me.me]
    if rules.forget_when != "all":
        of = [each for each in of if each]
    return 0 if rules.forget_when == "nothing" else min(of, default=0)


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """A member or a joiner installs a view (R6 to R8)."""
    refused = refusal(
        (me.status != "crashed", "Up(n)", {"status[n]": me.status}),
        (event.view > me.view, "view[n] < Len(views)", {"view[n]": me.view}),
        (me.me in event.members, "Address(n) \\in Members(new)", {}),
    )
    if refused:
        return refused
    leads = event.members[0] == me.me
    expected = me.expected if rules.begin == "kept" else 0
    me = Local(
        me.me,
        "member",
        event.view,
        event.members,
        me.seqno,
        me.forward_table if rules.resends else (),
        next_id=event.first if leads else 0,
        expected=event.first if leads or rules.begin == "one" else expected,
    )
    if not leads:
        return Accepted(me, _requests(me))
    new: tuple[Output, ...] = ()
    if rules.begin != "one":
        new = (NewView(event.first, event.view),)
    answer = _sequenced(rules, me, me.forward_table)
    assert isinstance(answer, Accepted)
    return Accepted(answer.local, (*new, *answer.outputs))


HANDLERS = handlers_of(INPUTS, globals())
