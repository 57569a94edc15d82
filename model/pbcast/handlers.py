"""PBCAST: the twin of `spec/Pbcast.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the action on this member. The members to which
a gossip goes are part of the input: whoever draws them at random is outside. The spec quotes the
rules G1 to G10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    INPUTS,
    Arrive,
    Check,
    Data,
    Deliver,
    Delivered,
    Forward,
    GetDigest,
    Gossip,
    GotDigest,
    Heard,
    InstallView,
    Members,
    Multicast,
    Numbers,
    Output,
    ReceiveGossip,
    ReceiveRequest,
    ReceiveResponse,
    Request,
    Response,
    SendGossip,
    Vector,
)
from .vectors import arrived, lowest, numbers, vector


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on; the names are the spec's constants."""

    gathers: bool = True
    merges: bool = True
    latest: bool = True
    ask_whom: str = "holder"
    ask_for: str = "missing"
    report: str = "delivered"
    view_check: str = "view"
    keep_departed: bool = True
    alone: bool = True
    tagged: bool = True
    prompt: bool = True
    own_copy: bool = True
    flushed: bool = False
    use_mcast: bool = False
    cache: int = 3


class Known(NamedTuple):
    """What a member knows of a gossip; `unsent`: it is still to be sent again."""

    origin: Address
    number: int
    view: int
    digest: Vector
    seen: Members
    not_seen: Members
    lowest: Vector
    unsent: bool


@state
class Local(NamedTuple):
    """A member's local state. `members` are those of its view, `lag` is Lag(n)."""

    me: Address
    lag: int = 0
    watches: bool = False
    view: int = 0
    members: Members = frozenset()
    sent: int = 0
    number: int = 0
    cache: tuple[Known, ...] = ()
    delivered: Vector = ()
    held: Numbers = ()
    purged: Vector = ()
    heard: Members = frozenset()


Answer: TypeAlias = Accepted[Local, Output] | Refused


def _in_view(me: Local) -> tuple[bool, str, dict[str, int]]:
    return me.view > 0, "Running(n)", {"view": me.view}


# ------------------------------------------------------------------ streams


def reported(rules: Rules, me: Local) -> Vector:
    """Return what the member says in a digest (G1)."""
    held = dict(me.held)
    at = dict(me.delivered)
    if rules.report == "received":
        at = {a: arrived(at.get(a, 0), held.get(a, frozenset())) for a in at.keys() | held.keys()}
    shown = {a: k for a, k in at.items() if rules.keep_departed or a in me.members}
    return vector(shown)


def wanted(rules: Rules, me: Local, upto: Vector) -> Numbers:
    """Return which messages up to this vector the member asks for (G4)."""
    delivered, held = dict(me.delivered), dict(me.held)
    found = {a: frozenset(range(delivered.get(a, 0) + 1, at + 1)) for a, at in upto}
    if rules.ask_for == "missing":
        found = {a: some - held.get(a, frozenset()) for a, some in found.items()}
    return numbers(found)


def stores(rules: Rules, me: Local, messages: Numbers) -> tuple[Local, tuple[Output, ...]]:
    """Return the member once it has these messages, and what it delivers (G9)."""
    delivered, held = dict(me.delivered), dict(me.held)
    for a, some in messages:
        at = delivered.get(a, 0)
        held[a] = held.get(a, frozenset()) | {k for k in some if k > at}
    outputs = list[Output]()
    if rules.prompt:
        for a, some in sorted(held.items()):
            at = arrived(delivered.get(a, 0), some)
            if at > delivered.get(a, 0):
                delivered[a] = at
                outputs.append(Delivered(a, at))
    return me._replace(delivered=vector(delivered), held=numbers(held)), tuple(outputs)


def purges(me: Local, upto: Vector) -> Local:
    """Return the member once it has forgotten what it has delivered, but for its lag (G6)."""
    delivered, purged, held = dict(me.delivered), dict(me.purged), dict(me.held)
    for a, at in upto:
        keep = min(at, delivered.get(a, 0)) - me.lag
        if keep > purged.get(a, 0):
            purged[a] = keep
            held[a] = frozenset(k for k in held.get(a, frozenset()) if k > keep)
    return me._replace(purged=vector(purged), held=numbers(held))


# ------------------------------------------------------------------ gossips


def remembering(rules: Rules, cache: tuple[Known, ...], each: Known) -> tuple[Known, ...]:
    """Return the cache once the gossip is in it (G3)."""
    same = [known[:2] == each[:2] for known in cache]
    if any(same):
        return tuple(each if here else known for known, here in zip(cache, same, strict=True))
    if rules.latest:
        return (*(known for known in cache if known.origin != each.origin), each)
    return (*(cache if len(cache) < rules.cache else cache[1:]), each)


def known_of(me: Local, origin: Address, number: int) -> Known | None:
    """Return what the member knows of that gossip."""
    return next((each for each in me.cache if each[:2] == (origin, number)), None)


def copy_of(rules: Rules, me: Local, each: Known, to: Members) -> Gossip:
    """Return the copies of the gossip, as the member sends it."""
    has = reported(rules, me) if rules.ask_whom == "holder" else each.digest
    return Gossip(to, *each[:7], has)


def ignores(rules: Rules, me: Local, copy: ReceiveGossip) -> bool:
    """Tell whether the member does nothing about this copy (G2, G3)."""
    ours = copy.view == me.view if rules.view_check == "view" else copy.origin in me.members
    newer = any(e.origin == copy.origin and e.number > copy.number for e in me.cache)
    known = known_of(me, copy.origin, copy.number) is not None
    return not ours or (rules.latest and newer) or (known and not rules.merges)


def merged(rules: Rules, me: Local, copy: ReceiveGossip) -> Known:
    """Return what the member knows of the gossip with this copy of it (G5)."""
    old = known_of(me, copy.origin, copy.number)
    seen, left = copy.seen | {me.me}, copy.not_seen
    low = lowest(copy.lowest, reported(rules, me)) if rules.gathers else copy.lowest
    if old is not None:
        seen, left, low = seen | old.seen, left & old.not_seen, lowest(low, old.lowest)
    left -= {me.me}
    unsent = bool(left) or (rules.merges and bool(copy.not_seen))
    if old is not None and seen == old.seen:
        unsent = old.unsent
    return Known(copy.origin, copy.number, copy.view, copy.digest, seen, left, low, unsent)


def requests(rules: Rules, me: Local, copy: ReceiveGossip) -> tuple[Request, ...]:
    """Return the requests on a copy of a gossip (G4)."""
    every = wanted(rules, me, copy.digest)
    if rules.ask_whom != "holder":
        whom = copy.origin if rules.ask_whom == "origin" else copy.sender
        return _request(whom, every)
    near = wanted(rules, me, copy.has)
    there = dict(near)
    rest = numbers({a: some - there.get(a, frozenset()) for a, some in every})
    return _request(copy.sender, near) + _request(copy.origin, rest)


def _request(whom: Address, some: Numbers) -> tuple[Request, ...]:
    return (Request(frozenset((whom,)), some),) if some else ()


def recipients(rules: Rules, me: Local, not_seen: Members, to: Members) -> bool:
    """Tell whether the member may send a gossip that those have not seen to these (G5)."""
    others = me.members - {me.me}
    if rules.use_mcast or not others:
        return to == others
    return bool(to) and to <= not_seen


# ------------------------------------------------------------------ the handlers


def send_gossip(rules: Rules, me: Local, event: SendGossip) -> Answer:
    """The member begins a gossip (G1)."""
    others = me.members - {me.me}
    refused = refusal(
        _in_view(me),
        (recipients(rules, me, others, event.to), "to \\in Recipients(n, …)", {"to": event.to}),
    )
    if refused:
        return refused
    said = reported(rules, me)
    mine = frozenset((me.me,))
    each = Known(me.me, me.number + 1, me.view, said, mine, others, said, False)
    after = me._replace(number=me.number + 1, cache=remembering(rules, me.cache, each))
    copies = copy_of(rules, after, each, event.to)
    if rules.alone and not others:
        after = purges(after, each.lowest)
    return Accepted(after, (copies,))


def receive_gossip(rules: Rules, me: Local, event: ReceiveGossip) -> Answer:
    """A copy of a gossip arrives (G2 to G6, G8)."""
    refused = refusal(_in_view(me))
    if refused:
        return refused
    if ignores(rules, me, event):
        return Accepted(me)
    each = merged(rules, me, event)
    asked = requests(rules, me, event)
    after = me._replace(cache=remembering(rules, me.cache, each))
    outputs: tuple[Output, ...] = asked
    if me.watches:
        after = after._replace(heard=me.heard | event.seen)
        outputs = (Heard(event.seen), *asked)
    if not each.not_seen:
        after = purges(after, each.lowest if rules.gathers else each.digest)
    return Accepted(after, outputs)


def forward(rules: Rules, me: Local, event: Forward) -> Answer:
    """A gossip is sent again (G5); one that all have seen goes to all."""
    each = known_of(me, event.origin, event.number)
    unsent = each is not None and each.unsent
    refused = refusal(_in_view(me), (unsent, "e.unsent", {"origin": event.origin}))
    if refused or each is None:
        return refused or Refused(())
    others = me.members - {me.me}
    fits = recipients(rules, me, each.not_seen, event.to) if each.not_seen else event.to == others
    refused = refusal((fits, "to \\in Recipients(n, e.notSeen)", {"to": event.to}))
    if refused:
        return refused
    sent = each._replace(unsent=False)
    after = me._replace(cache=remembering(rules, me.cache, sent))
    return Accepted(after, (copy_of(rules, me, sent, event.to),))


def receive_request(_rules: Rules, me: Local, event: ReceiveRequest) -> Answer:
    """The member sends what it still has of what is asked for (G4)."""
    refused = refusal(_in_view(me))
    if refused:
        return refused
    held = dict(me.held)
    found = numbers({a: some & held.get(a, frozenset()) for a, some in event.wanted})
    return Accepted(me, (Response(frozenset((event.sender,)), found),) if found else ())


def receive_response(rules: Rules, me: Local, event: ReceiveResponse) -> Answer:
    """A message arrives that the member has asked for."""
    refused = refusal(_in_view(me))
    return refused or Accepted(*stores(rules, me, event.messages))


def check(_rules: Rules, me: Local, _event: Check) -> Answer:
    """The failure detector has taken into account who was heard of (G8)."""
    refused = refusal(_in_view(me), (bool(me.heard), "heard[n] # {}", {"heard": me.heard}))
    return refused or Accepted(me._replace(heard=frozenset()))


def get_digest(rules: Rules, me: Local, event: GetDigest) -> Answer:
    """A layer asks for the digest (G10)."""
    refused = refusal(_in_view(me))
    layer = event.layer if rules.tagged else "GMS"
    return refused or Accepted(me, (GotDigest(layer, reported(rules, me)),))


def multicast(rules: Rules, me: Local, _event: Multicast) -> Answer:
    """The application multicasts a message (G9)."""
    refused = refusal(_in_view(me))
    if refused:
        return refused
    seqno = me.sent + 1
    after, outputs = me._replace(sent=seqno), list[Output]([Data(me.members - {me.me}, seqno)])
    if rules.own_copy:
        after, delivered = stores(rules, after, ((me.me, frozenset((seqno,))),))
        outputs += delivered
    return Accepted(after, tuple(outputs))


def arrive(rules: Rules, me: Local, event: Arrive) -> Answer:
    """The first transmission of a message arrives."""
    refused = refusal(
        _in_view(me),
        (event.sender in me.members, "s \\in Members(n)", {"s": event.sender}),
    )
    return refused or Accepted(*stores(rules, me, ((event.sender, frozenset((event.seqno,))),)))


def deliver(_rules: Rules, me: Local, event: Deliver) -> Answer:
    """A slow consumer takes the next message (G9)."""
    at = dict(me.delivered).get(event.sender, 0) + 1
    held = dict(me.held).get(event.sender, frozenset())
    refused = refusal(
        _in_view(me),
        (at in held, "delivered[n][s] + 1 \\in held[n][s]", {"s": event.sender}),
    )
    if refused:
        return refused
    delivered = vector(dict(me.delivered) | {event.sender: at})
    return Accepted(me._replace(delivered=delivered), (Delivered(event.sender, at),))


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """The next view is installed; a joiner begins at its digest.

    FLUSH has made equal what members have of those that are gone: their streams are forgotten.
    """
    view, members, digest = event
    refused = refusal(
        (view > me.view, "v > view[n]", {"v": view}),
        (me.me in members, "n \\in views[v].members", {"members": members}),
    )
    if refused:
        return refused
    cache = () if rules.view_check == "view" else me.cache
    delivered = me.delivered if me.view else digest
    after = me._replace(
        view=view, members=members, cache=cache, delivered=delivered, heard=frozenset()
    )
    if rules.flushed:
        after = after._replace(
            delivered=tuple((a, at) for a, at in after.delivered if a in members),
            held=tuple((a, some) for a, some in after.held if a in members),
            purged=tuple((a, at) for a, at in after.purged if a in members),
        )
    return Accepted(after)


HANDLERS = handlers_of(INPUTS, globals())
