"""LEASES: the twin of `spec/Leases.tla`, one function per handler of a client or a member.

The law of this file: a handler sees one node's local state and one input. Its guard comes first in
the spec's words, followed by the effect of the spec's action on this node. The spec has the rules
C1 to C7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state

from .events import (
    INPUTS,
    Ask,
    Asked,
    ComeBack,
    Drop,
    End,
    Expire,
    GivesBack,
    Leave,
    ReceiveAsk,
    ReceiveTell,
    Says,
    Session,
    Tell,
    Told,
    Want,
    Wants,
)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on, with the times; the names are the spec's constants."""

    lease: int = 3
    give_up: int = 4
    from_sending: bool = True
    checks_first: bool = True
    ends_silent: bool = True
    own_session: bool = True
    waits_to_leave: bool = True
    waits_to_return: bool = True


@state
class Client(NamedTuple):
    """A client's local state; its clock is the environment's, as is that it has stopped."""

    me: str
    at: str
    clock: int = 0
    session: int = 1
    serving: bool = False
    sent: tuple[int, ...] = ()
    until: int = 0
    wants: bool = False
    request: int = 0
    fence: int = 0
    stopped: bool = False

    @property
    def stale(self) -> bool:
        """Whether its lease is over."""
        return self.serving and self.until <= self.clock

    @property
    def believes(self) -> bool:
        """Whether it believes that it has the lock."""
        return self.wants and self.fence != 0 and self.clock < self.until


@state
class Member(NamedTuple):
    """A member's local state; its clock, and whether it runs, is the environment's."""

    me: str
    clock: int = 0
    up: bool = True
    sessions: frozenset[Session] = frozenset()
    leaves: bool = False

    def session_of(self, asked: Asked) -> Session:
        """Return the session that an ASK is of, or a new one."""
        found = (s for s in self.sessions if s[:2] == (asked.client, asked.session))
        return next(found, Session(asked.client, asked.session, heard=self.clock))


FromClient: TypeAlias = Accepted[Client, Asked] | Refused
FromMember: TypeAlias = Accepted[Member, GivesBack | Wants | Says] | Refused


def lease_of(rules: Rules, me: Client, told: Told) -> int:
    """Return until when the client may believe what it is told (C1, C2)."""
    begins = me.sent[told.number - 1] if rules.from_sending else me.clock
    return max(me.until, begins + rules.lease)


def silent(rules: Rules, me: Member, session: Session) -> bool:
    """Tell whether the member has heard nothing for so long that it ends the session (C4)."""
    return rules.ends_silent and session.heard + rules.give_up <= me.clock


def _asleep(rules: Rules, me: Client) -> tuple[bool, str, Mapping[str, Value]]:
    ok = not me.stopped and not (rules.checks_first and me.stale)
    return ok, "Awake(c)", {"until": me.until, "clock": me.clock}


def _asked(me: Client, request: int) -> Asked:
    return Asked(me.at, me.me, me.session, len(me.sent) + 1, request)


def _anew(me: Client, member: str) -> Client:
    """The client loses what it has, and asks in another session for what it waits for."""
    return Client(
        me.me,
        member,
        me.clock,
        me.session + 1,
        wants=me.wants and not me.fence,
        request=me.request,
        stopped=me.stopped,
    )


# ------------------------------------------------------------------ a client


def want(rules: Rules, me: Client, _event: Want) -> FromClient:
    """The application wants the lock."""
    refused = refusal((not me.wants, "~wants[c]", {"wants": me.wants}), _asleep(rules, me))
    return refused or Accepted(me._replace(wants=True, request=me.request + 1), ())


def drop(rules: Rules, me: Client, _event: Drop) -> FromClient:
    """The application wants it no more."""
    refused = refusal((me.wants, "wants[c]", {"wants": me.wants}), _asleep(rules, me))
    return refused or Accepted(me._replace(wants=False, fence=0), ())


def ask(rules: Rules, me: Client, _event: Ask) -> FromClient:
    """The client says all that it wants."""
    says = _asked(me, me.request if me.wants else 0)
    sent = me._replace(sent=(*me.sent, me.clock))
    return refusal(_asleep(rules, me)) or Accepted(sent, (says,))


def receive_tell(rules: Rules, me: Client, event: ReceiveTell) -> FromClient:
    """The client learns what has become of it; it takes its leave of a member that leaves."""
    told, member = event
    mine = (told.source, told.session) == (me.at, me.session)
    known = 0 < told.number <= len(me.sent)
    until = lease_of(rules, me, told) if known else 0
    refused = refusal(
        (told.client == me.me, "t.client = c", {"t": told}),
        (mine or not rules.own_session, "t.from = at[c] /\\ t.session = session[c]", {"t": told}),
        (known, "t.number \\in DOMAIN sent[c]", {"number": told.number}),
        _asleep(rules, me),
        (me.clock < until, "clock[c] < LeaseOf(c, t)", {"clock": me.clock, "lease": until}),
        (told.over or member == me.at, "m = at[c]", {"m": member}),
    )
    if refused:
        return refused
    if told.over:
        return Accepted(_anew(me, member), (_asked(me, 0),))
    has = me.wants and told.request == me.request and not me.fence
    fence = told.fence if has else me.fence
    return Accepted(me._replace(serving=True, until=until, fence=fence), ())


def end(rules: Rules, me: Client, event: End) -> FromClient:  # noqa: ARG001 (a handler's face)
    """The lease is over, or the member does not answer: another session begins (C3)."""
    refused = refusal(
        (not me.stopped, "c \\notin stopped", {"stopped": me.stopped}),
        (me.stale or not me.serving, "Stale(c) \\/ ~serving[c]", {"until": me.until}),
    )
    return refused or Accepted(_anew(me, event.member), ())


# ------------------------------------------------------------------ a member


def receive_ask(rules: Rules, me: Member, event: ReceiveAsk) -> FromMember:
    """The member asks LOCKS for what is new, and gives back what is not there any more."""
    asked = event.asked
    old = me.session_of(asked)
    refused = refusal(
        (asked.to == me.me, "a.to = m", {"to": asked.to}),
        (me.up, "up[m]", {"up": me.up}),
        (asked.number > old.asked, "a.number > old.asked", {"number": asked.number}),
        (not silent(rules, me, old), "~Silent(m, old)", {"heard": old.heard}),
        (not me.leaves or old in me.sessions, "leaves[m] => old \\in sessions[m]", {"old": old}),
    )
    if refused:
        return refused
    new = asked.request > old.highest
    session = old._replace(
        asked=asked.number,
        heard=old.heard if me.leaves else me.clock,
        highest=asked.request if new else old.highest,
        request=asked.request if new or asked.request == old.request else 0,
        over=old.over or me.leaves,
    )
    does: list[GivesBack | Wants | Says] = []
    if old.request not in (0, session.request):
        does.append(GivesBack(old))
    if new and not session.over:
        does.append(Wants(session))
    sessions = me.sessions - {old} | {session}
    return Accepted(me._replace(sessions=sessions), (*does, Says(session)))


def tell(rules: Rules, me: Member, event: Tell) -> FromMember:
    """The member tells a client again, or that it has the lock now."""
    session = event.session
    refused = refusal(
        (me.up, "up[m]", {"up": me.up}),
        (session in me.sessions and session.asked != 0, "s.asked # 0", {"s": session}),
        (not silent(rules, me, session), "~Silent(m, s)", {"heard": session.heard}),
    )
    return refused or Accepted(me, (Says(session),))


def expire(rules: Rules, me: Member, event: Expire) -> FromMember:
    """The member ends a session whose client is silent, with what it has (C4)."""
    session = event.session
    over = session in me.sessions and silent(rules, me, session)
    refused = refusal(
        (me.up, "up[m]", {"up": me.up}),
        (over, "Silent(m, s)", {"heard": session.heard, "clock": me.clock}),
    )
    after = me._replace(sessions=me.sessions - {session})
    return refused or Accepted(after, (GivesBack(session),))


def leave(rules: Rules, me: Member, _event: Leave) -> FromMember:
    """The member leaves: what its clients have is theirs until they have heard it (C6)."""
    refused = refusal(
        (me.up, "up[m]", {"up": me.up}),
        (not me.leaves, "~leaves[m]", {"leaves": me.leaves}),
    )
    sessions = frozenset(each._replace(over=True) for each in me.sessions)
    after = me._replace(leaves=True, sessions=sessions)
    return refused or Accepted(after, () if rules.waits_to_leave else (GivesBack(None),))


def come_back(rules: Rules, me: Member, event: ComeBack) -> FromMember:
    """The member comes back; what it had before it crashed is taken back (C7)."""
    late = event.since >= rules.give_up or not rules.waits_to_return
    refused = refusal(
        (not me.up, "~up[m]", {"up": me.up}),
        (late, "WaitsToReturn => since[m] >= GiveUp", {"since": event.since}),
    )
    return refused or Accepted(me._replace(up=True), (GivesBack(None),))


HANDLERS = handlers_of(INPUTS, globals())
