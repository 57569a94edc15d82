"""FLUSH: the twin of `spec/Flush.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first,
conjunct by conjunct in the spec's words, followed by the effect of the spec's action on this
member. Messages and calls of the neighbouring layers are outputs. The streams, and how much of them
has arrived, belong to the network (`system.py`); handlers see them as digests and positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state
from raincheck.model.machine.runs import Address

from . import events as ev
from .events import Fetch, Fid, Output, Table

INPUTS = ev.INPUTS


@dataclass(frozen=True, slots=True)
class Rules:
    """The design, the policy and the repairs; the names are the spec's constants."""

    design: str = "first"
    may_open_latch: bool = False
    latch_at_block: bool = True
    reconcile: bool = True
    number_at_latch: bool = True
    flush_ids: bool = True
    block_once: bool = True
    freeze: bool = True
    restart: bool = True
    from_members: bool = True


@state
class Local(NamedTuple):
    """A member's local state. `members` are those of its view, in order."""

    me: Address
    view: int = 0
    members: tuple[Address, ...] = ()
    latch: bool = False
    blocked: str = "no"
    flush: Fid | None = None
    suspects: frozenset[Address] = frozenset()
    frozen: frozenset[Address] = frozenset()
    fetching: tuple[Fetch, ...] = ()
    party: tuple[Address, ...] = ()
    oks: frozenset[tuple[Fid, Address]] = frozenset()
    passed: int = 0
    asked: Fid | None = None
    participants: tuple[Address, ...] = ()
    completed: tuple[tuple[Address, Table], ...] = ()
    target: tuple[Fetch, ...] = ()
    reconciled: frozenset[Address] = frozenset()
    suspended: bool = False
    attempts: int = 0


# Guards that only the specification needs: the changed design, and numbering after the latch.
_CHANGED = 'Design = "changed"'
_APART = "~NumberAtLatch /\\ ~latch[n]"
_PASSED = "passed[n] > 0"

Answer: TypeAlias = Accepted[Local, Output] | Refused

# ------------------------------------------------------------------ a participant


def receive_start(rules: Rules, me: Local, event: ev.ReceiveStart) -> Answer:
    """START_FLUSH: call block() (R1); members that are left out are gone."""
    sender, fid, participants = event
    stranger = rules.from_members and sender not in me.members
    if sender in me.suspects or me.me not in participants or stranger:
        return Accepted(me)
    gone = tuple(m for m in me.members if m not in participants)
    outputs: list[Output] = []
    frozen = me.frozen
    if rules.freeze:
        newly = tuple(m for m in gone if m not in frozen)
        frozen = frozen.union(newly)
        outputs += [ev.Freeze(newly)] if newly else []
    if me.blocked == "no" or not rules.block_once:
        outputs.append(ev.Block())
    elif me.blocked == "yes":
        outputs.append(ev.TakeDigest())
    me = me._replace(
        suspects=me.suspects.union(gone),
        frozen=frozen,
        flush=fid,
        fetching=(),
        blocked="calling",
        party=participants if rules.design == "changed" else (),
    )
    return Accepted(me, tuple(outputs))


def block_ok(rules: Rules, me: Local, event: ev.BlockOk) -> Answer:
    """block() has returned: close the latch and answer, in one step."""
    guard = (me.blocked == "calling", 'blocked[n] = "calling"', {"blocked": me.blocked})
    if refused := refusal(guard):
        return refused
    assert me.flush is not None
    changed = rules.design == "changed"
    latch = me.latch or not changed or rules.latch_at_block
    outputs: tuple[Output, ...]
    if changed:
        at = dict(event.digest)[me.me]
        outputs = tuple(ev.FlushOk(member, me.flush, at) for member in me.party)
    else:
        outputs = (ev.FlushCompleted(me.flush.requester, me.flush, event.digest),)
    return Accepted(me._replace(blocked="yes", latch=latch), outputs)


def receive_flush_ok(rules: Rules, me: Local, event: ev.ReceiveFlushOk) -> Answer:
    """FLUSH_OK (R4): close the latch once all answers are in."""
    sender, fid = event.sender, event.fid
    if refused := refusal((rules.design == "changed", _CHANGED, {"Design": rules.design})):
        return refused
    all_in = (
        me.blocked == "yes"
        and sender in me.party
        and fid == me.flush
        and all(p == sender or (fid, p) in me.oks for p in me.party)
    )
    me = me._replace(oks=me.oks | {(fid, sender)})
    if not all_in:
        return Accepted(me)
    answer = ev.FlushCompleted(fid.requester, fid, event.digest)
    return Accepted(me._replace(latch=True), (answer,))


def receive_reconcile(rules: Rules, me: Local, event: ev.ReceiveReconcile) -> Answer:
    """RECONCILE: fetch what this member lacks."""
    if me.blocked != "yes" or not _is_of(rules, event.fid, me.flush):
        return Accepted(me)
    return Accepted(me._replace(fetching=event.fetches), (ev.FetchStreams(event.fetches),))


def reconciled(_rules: Rules, me: Local, _event: ev.Reconciled) -> Answer:
    """Everything that was to be fetched has arrived."""
    if refused := refusal((bool(me.fetching), "fetching[n] # {}", {"fetching": ()})):
        return refused
    assert me.flush is not None
    answer = ev.ReconcileOk(me.flush.requester, me.flush)
    return Accepted(me._replace(fetching=()), (answer,))


def receive_stop(rules: Rules, me: Local, event: ev.ReceiveStop) -> Answer:
    """STOP_FLUSH (R1): the flush is over."""
    if me.blocked != "yes" or not _is_of(rules, event.fid, me.flush):
        return Accepted(me)
    return Accepted(_unblocked(me), (ev.Unblock(),))


def open_latch(rules: Rules, me: Local, _event: ev.OpenLatch) -> Answer:
    """Open the latch by policy, after being blocked for too long."""
    may = rules.may_open_latch and me.blocked == "yes"
    values: Mapping[str, Value] = {"MayOpenLatch": rules.may_open_latch, "blocked": me.blocked}
    refused = refusal((may, 'MayOpenLatch /\\ blocked[n] = "yes"', {**values}))
    return refused or Accepted(_unblocked(me), (ev.Unblock(), ev.LatchOpened()))


def _unblocked(me: Local) -> Local:
    return me._replace(
        blocked="no", latch=False, flush=None, fetching=(), party=(), oks=frozenset()
    )


# ------------------------------------------------------------------ the requester


def suspend(_rules: Rules, me: Local, event: ev.Suspend) -> Answer:
    """The layer above wants a flush."""
    participants = event.participants
    refused = refusal(
        (me.asked is None, "asked[n] = NoFlush", {"asked": _shown(me.asked)}),
        (me.me in participants, "n \\in participants[n]", {"participants": participants}),
    )
    return refused or _start(me, participants)


def _start(me: Local, participants: tuple[Address, ...]) -> Answer:
    fid = Fid(me.view, me.me, me.attempts + 1)
    me = without_answers(me)._replace(asked=fid, attempts=fid.attempt, participants=participants)
    return Accepted(me, tuple(ev.StartFlush(m, fid, participants) for m in participants))


def without_answers(me: Local) -> Local:
    return me._replace(completed=(), target=(), reconciled=frozenset(), suspended=False)


def receive_completed(rules: Rules, me: Local, event: ev.ReceiveCompleted) -> Answer:
    """FLUSH_COMPLETED (R1): a participant is blocked, and this is its digest."""
    expected = _expected(rules, me, event.sender, event.fid)
    if not expected or len(me.completed) == len(me.participants):
        return Accepted(me)
    digests = {**dict(me.completed), event.sender: event.digest}
    return _compare(rules, me._replace(completed=tuple(sorted(digests.items()))))


def _compare(rules: Rules, me: Local) -> Answer:
    digests = dict(me.completed)
    if len(digests) < len(me.participants):
        return Accepted(me)
    asked = me.asked
    assert asked is not None
    target = fetches_of(me.participants, digests) if rules.reconcile else ()
    lacking = [p for p in me.participants if lacks(digests[p], target)]
    done = frozenset(p for p in me.participants if p not in lacking)
    me = me._replace(target=target, reconciled=done)
    if not lacking:
        return _done(me)
    return Accepted(me, tuple(ev.Reconcile(p, asked, target) for p in lacking))


def _done(me: Local) -> Answer:
    assert me.asked is not None
    return Accepted(me._replace(suspended=True), (ev.Suspended(me.asked, me.participants),))


def receive_reconciled(rules: Rules, me: Local, event: ev.ReceiveReconciled) -> Answer:
    """RECONCILED: a participant has what it lacked."""
    if not _expected(rules, me, event.sender, event.fid) or not me.target:
        return Accepted(me)
    return _finish(me._replace(reconciled=me.reconciled | {event.sender}))


def _finish(me: Local) -> Answer:
    return _done(me) if me.reconciled.issuperset(me.participants) else Accepted(me)


def resume(_rules: Rules, me: Local, _event: ev.Resume) -> Answer:
    """The layer above is done: end the flush."""
    if refused := refusal((me.suspended, "suspended[n]", {"suspended": me.suspended})):
        return refused
    assert me.asked is not None
    stops = tuple(ev.StopFlush(p, me.asked) for p in me.participants if p in me.members)
    return Accepted(without_answers(me)._replace(asked=None, participants=()), stops)


# ------------------------------------------------------------------ anybody


def suspect(rules: Rules, me: Local, event: ev.Suspect) -> Answer:
    """A member is gone. If its answer is needed, start the flush again without it."""
    member = event.member
    me = me._replace(suspects=me.suspects | {member})
    if me.asked is None or member not in me.participants:
        return Accepted(me)
    left = tuple(p for p in me.participants if p != member)
    if rules.restart and not me.suspended:
        return _start(me, left)
    compared = len(me.completed) == len(me.participants)
    me = me._replace(
        participants=left,
        completed=tuple(pair for pair in me.completed if pair[0] != member),
        reconciled=me.reconciled - {member},
    )
    if me.suspended:
        return Accepted(me)
    return _finish(me) if compared else _compare(rules, me)


def install_view(_rules: Rules, me: Local, event: ev.InstallView) -> Answer:
    """Install the next view."""
    number, members = event
    refused = refusal(
        (number == me.view + 1, "v = view[n] + 1", {"v": number, "view": me.view}),
        (me.me in members, "n \\in NodesOf(new)", {"n": me.me, "new": members}),
    )
    return refused or Accepted(
        me._replace(
            view=number,
            members=members,
            suspects=me.suspects.intersection(members),
            frozen=me.frozen.intersection(members),
        )
    )


def pass_latch(rules: Rules, me: Local, _event: ev.PassLatch) -> Answer:
    """A multicast passes the latch; it gets its seqno later."""
    may = not rules.number_at_latch and not me.latch
    return refusal((may, _APART, {"latch": me.latch})) or Accepted(
        me._replace(passed=me.passed + 1)
    )


def multicast(rules: Rules, me: Local, _event: ev.Multicast) -> Answer:
    """Give a multicast its seqno."""
    if rules.number_at_latch:
        return refusal((not me.latch, "~latch[n]", {"latch": me.latch})) or Accepted(me)
    refused = refusal((me.passed > 0, _PASSED, {"passed": me.passed}))
    return refused or Accepted(me._replace(passed=me.passed - 1))


def receive_multicast(_rules: Rules, me: Local, event: ev.ReceiveMulticast) -> Answer:
    """Consume the next multicast of a stream."""
    sender, position = event
    wanted = any(f.sender == sender and position <= f.at for f in me.fetching)
    refused = refusal(
        (sender in me.members, "c \\in MembersAt(n)", {"c": sender}),
        (sender not in me.frozen or wanted, "c \\notin frozen[n]", {"frozen": me.frozen}),
    )
    return refused or Accepted(me)


# ------------------------------------------------------------------ their parts


def fetches_of(
    participants: Sequence[Address], digests: Mapping[Address, Table]
) -> tuple[Fetch, ...]:
    """Return, for each stream that not all have equally, the highest position and who has it.

    The holder is the sender itself if it takes part, else the first in order. A member that does
    not read a stream lacks nothing of it.
    """
    tables = {p: dict(digests[p]) for p in participants}
    found = []
    for sender in sorted({sender for table in tables.values() for sender in table}):
        readers = [p for p in participants if sender in tables[p]]
        most = max(tables[p][sender] for p in readers)
        holders = [p for p in readers if tables[p][sender] == most]
        if len(holders) < len(readers):
            found.append(Fetch(sender, most, sender if sender in holders else holders[0]))
    return tuple(found)


def lacks(digest: Table, fetches: Sequence[Fetch]) -> bool:
    """Tell whether a member with that digest has to fetch some of these."""
    table = dict(digest)
    return any(table.get(fetch.sender, fetch.at) < fetch.at for fetch in fetches)


def _is_of(rules: Rules, fid: Fid, mine: Fid | None) -> bool:
    return fid == mine or not rules.flush_ids


def _expected(rules: Rules, me: Local, sender: Address, fid: Fid) -> bool:
    return (
        me.asked is not None
        and not me.suspended
        and sender in me.participants
        and _is_of(rules, fid, me.asked)
    )


def _shown(fid: Fid | None) -> Value:
    return fid if fid is not None else ()


HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "Suspend": suspend,
    "ReceiveStart": receive_start,
    "BlockOk": block_ok,
    "ReceiveFlushOk": receive_flush_ok,
    "ReceiveCompleted": receive_completed,
    "ReceiveReconcile": receive_reconcile,
    "Reconciled": reconciled,
    "ReceiveReconciled": receive_reconciled,
    "Resume": resume,
    "ReceiveStop": receive_stop,
    "Suspect": suspect,
    "InstallView": install_view,
    "PassLatch": pass_latch,
    "Multicast": multicast,
    "ReceiveMulticast": receive_multicast,
    "OpenLatch": open_latch,
}
