"""SEQUENCER on runs: a run of k messages handled at once is k single steps, whatever happens."""

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.messages import Address, Payloads, Run, View, ViewId
from raincheck.impl.sequencer.core import Own, Sequencer, intervals, remove
from raincheck.impl.sequencer.events import (
    Data,
    Forward,
    InstallView,
    ReceiveData,
    ReceiveForward,
    Resend,
    Send,
    SendJoinRsp,
)

A, B, C = (Address(name, 0) for name in "abc")


def view(counter):
    return View(ViewId(counter, A), (A, B, C))


def member(me):
    sequencer = Sequencer(me)
    sequencer.found(view(1))
    return sequencer


def contents(size):
    return Payloads.pack([b"%d" % i for i in range(size)])


def effects_by_message(effects):
    """Effects message by message; without the clocks, which count events."""
    found = []
    for effect in effects:
        if isinstance(effect, SendJoinRsp):
            found.append((effect.to, effect.rsp.table, effect.rsp.digest))
            continue
        inner = getattr(effect, "data", None) or getattr(effect, "forward", None) or effect
        to, place = getattr(effect, "to", None), getattr(inner, "position", 0)
        for i, payload in enumerate(inner.payloads.unpack()):
            seqno = inner.messages.first + i
            kind = (type(effect), to, inner.view, inner.messages.sender)
            found.append((*kind, seqno, place and place + i, payload))
    return found


def state_by_message(s):
    """The state, with `early` message by message."""
    early = [
        (f.view, f.messages.sender, f.messages.first + i)
        for f in s.early
        for i in range(f.messages.size)
    ]
    tables = (intervals(s.forward_table), intervals(s.resend), s.received_table, s.position)
    return (s.view, s.seqno, s.said, tables, s.multicasts, s.forwards, early)


def single(message, i):
    """Message i of a FORWARD or DATA, as a FORWARD or DATA of its own."""
    run = Run(message.messages.sender, message.messages.first + i, 1)
    payloads = message.payloads.part(i, 1)
    return message._replace(messages=run, payloads=payloads, position=message.position + i)


def single_steps(event):
    """The same event as single steps."""
    match event:
        case Send(payloads):
            return [Send(payloads.part(i, 1)) for i in range(payloads.count)]
        case Resend(size):
            return [Resend(1)] * size
        case ReceiveForward(sender, f):
            return [ReceiveForward(sender, single(f, i)) for i in range(f.messages.size)]
        case ReceiveData(coordinator, d):
            return [ReceiveData(coordinator, single(d, i)) for i in range(d.messages.size)]
    return [event]


def some_event(draw, s):
    """Draw an event that is enabled, or None."""
    kind = draw(st.sampled_from(["send", "forward", "early", "data", "view", "resend"]))
    size = draw(st.integers(1, 4))
    if kind == "send" and s.may_send:
        return Send(contents(size))
    if kind in ("forward", "early"):
        run = Run(C, draw(st.integers(1, 9)), size)
        return ReceiveForward(C, Forward(run, s.view + (kind == "early"), contents(size), 1, 5))
    if kind == "data":
        sender = draw(st.sampled_from([A, B, C]))
        known = s.received_table.get(sender, 0)
        first = draw(st.integers(max(1, known - 2), known + 1))
        if sender == s.me:
            size = min(size, s.seqno - first + 1)
        if size > 0:
            at = s.position.get(A, 0) + 1
            return ReceiveData(A, Data(Run(sender, first, size), s.view, contents(size), at, 5))
    if kind == "view":
        return InstallView(view(s.view + 1))
    if kind == "resend" and s.resend:
        return Resend(draw(st.integers(1, s.resend[0].run.size)))
    return None


@settings(max_examples=300)
@given(st.data(), st.sampled_from([A, B]))
def test_a_run_is_as_many_single_steps(data, me):
    runs, singles = member(me), member(me)

    for _ in range(data.draw(st.integers(1, 15))):
        event = some_event(data.draw, runs)
        if event is None:
            continue
        at_once = runs.handle(event)
        one_by_one = [out for step in single_steps(event) for out in singles.handle(step)]

        assert effects_by_message(at_once) == effects_by_message(one_by_one)
        assert state_by_message(runs) == state_by_message(singles)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(0, 30), st.integers(1, 30))
def test_removing_an_interval_leaves_the_other_messages_with_their_contents(sizes, low, size):
    entries, held, first = deque(), {}, 3
    for number in sizes:
        mine = {first + i: b"%d" % (first + i) for i in range(number)}
        entries.append(Own(Run(A, first, number), Payloads.pack(list(mine.values()))))
        held |= mine
        first += number
    before = sum(own.payloads.size for own in entries)

    freed = remove(entries, low, low + size - 1)

    left = {run.first + i: p for run, area in entries for i, p in enumerate(area.unpack())}
    assert left == {seqno: p for seqno, p in held.items() if not low <= seqno < low + size}
    assert before - freed == sum(own.payloads.size for own in entries)
