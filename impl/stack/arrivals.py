"""Arriving datagrams: read, checked, and handed to the layer they are for.

Whoever is no member may ask to join, give a hint, and refuse; nothing else of strangers is taken.
A member of this view, of one about to be installed, or an admitted joiner has a place, and what
claims to come from it has to come from there; only multicasts may come from any member's, for
whoever has one hands it on. A former member is answered that it is excluded, and only at its place.
What is dropped is counted by reason, and reported with its sender, at most once per second and
reason. Nothing that arrives raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Endpoint, Payloads, shown
from raincheck.impl.wire.headers import (
    Alive,
    AreYouAlive,
    DataHeader,
    Excluded,
    GossipCopy,
    GossipRequest,
    GroupQuestion,
    Header,
    JoinHint,
    JoinRefused,
    JoinReq,
    Leaving,
    MergeMessage,
    Nak,
    ReceivedUpTo,
    SafeUpTo,
    Stability,
    StableDigest,
    StartFlush,
    UnicastAck,
    UnicastHeader,
)

from .group import Group
from .merge_door import MergeDoor
from .reports import Dropped, Pace

_STRANGERS = 512  # the most connections of processes that are not members
_FOR_STRANGERS = (JoinReq, GroupQuestion, JoinHint, JoinRefused, MergeMessage)
_NO_SIGN_OF_LIFE = (
    Excluded,
    JoinReq,
    GroupQuestion,
    MergeMessage,
)  # of a process in another view, or in none
_INSIDE = ("member", "leaving", "stopped")

Batch = Iterable[tuple[bytes, Endpoint]]


class Arrivals:
    """The entrance of all datagrams to a stack."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._ground = ground = group.ground
        self._me = ground.me
        self._outbox = ground.outbox
        self._membership = ground.membership
        self._pace = Pace(1.0)
        self._merges = MergeDoor(group, self.drop)
        self._handlers: dict[type[Any], Callable[..., None]] = {
            UnicastAck: self._on_unicast_ack,
            Alive: self._on_members,
            AreYouAlive: self._on_members,
            Nak: self._on_members,
            StableDigest: self._on_members,
            Stability: self._on_members,
            GossipCopy: self._on_members,
            GossipRequest: self._on_members,
            ReceivedUpTo: self._on_members,
            SafeUpTo: self._on_members,
            JoinReq: self._on_join_request,
            GroupQuestion: self._on_group_question,
            JoinHint: self._on_join_hint,
            JoinRefused: self._on_join_refused,
            Excluded: self._on_excluded,
            MergeMessage: self._merges.receive,
            Leaving: self._on_leaving,
        }

    def receive(self, batch: Batch, now: float) -> None:
        """Handle datagrams, each with the endpoint it came from."""
        for datagram, endpoint in batch:
            try:
                self._receive(datagram, endpoint, now)
            except WireError as problem:
                self._unreadable(problem, endpoint, now)

    def drop(self, reason: str, endpoint: Endpoint, detail: str, now: float) -> int:
        """Count a datagram, and report it unless the same was reported a moment ago."""
        self._outbox.counters[reason] += 1
        return self._report(reason, endpoint, detail, now)

    def _report(self, reason: str, endpoint: Endpoint, detail: str, now: float) -> int:
        times = self._pace.count(reason, now)
        if times:
            self._ground.reports.append(Dropped(reason, endpoint, detail, times))
        return times

    def report_strangers(self, now: float) -> None:
        """Report non-members that sent what only members may send, and members that erred."""
        for source, what in self._ground.strangers:
            endpoint = self._outbox.endpoints.get(source, ("unknown", 0))
            self.drop("not_a_member", endpoint, f"{source} sent {what}", now)
        for source, what in self._ground.offenders:
            endpoint = self._outbox.endpoints.get(source, ("unknown", 0))
            self._report("refused", endpoint, f"{source} sent {what}", now)
        self._ground.strangers.clear()
        self._ground.offenders.clear()

    def _unreadable(self, problem: WireError, endpoint: Endpoint, now: float) -> None:
        times = self.drop(problem.reason, endpoint, problem.detail, now)
        if problem.reason not in ("sealed", "wrong_version", "refused_version"):
            return
        if self._status == "joining" and self._group.joining.trusts(endpoint):
            why = (
                "has a key, this process has none; give it the group's key (key=)"
                if problem.reason == "sealed"
                else f"speaks another version of the protocol ({problem.detail}); "
                f"use the same release everywhere"
            )
            self._ground.out(f"not admitted: {shown(endpoint)} {why}")
        elif problem.reason != "refused_version" and times:
            self._outbox.refuse_version(endpoint)

    def _receive(self, datagram: bytes, endpoint: Endpoint, now: float) -> None:
        header, payloads = self._outbox.codec.decode(datagram)
        group, membership, source = self._group, self._membership, header.source
        if (
            isinstance(header, DataHeader | Alive)
            and membership.running
            and membership.knows(source)
            and not self._ground.lineage.has(header.view)
        ):
            detail = f"{source} sent {_kind(header)} of another view {header.view.counter}"
            self.drop("of_other_view", endpoint, detail, now)
            return
        if self._outbox.endpoints.get(source) == endpoint:
            if not isinstance(header, _NO_SIGN_OF_LIFE):
                group.detection.heard(source, now)
            if isinstance(header, Alive) and header.view.counter:
                group.detection.installed(source)
        elif membership.status in _INSIDE and not self._may_come(header, endpoint, now):
            return
        if isinstance(header, DataHeader):
            running = payloads is not None and membership.running
            if running and not self._stranger(header, endpoint, now):
                group.take(header, payloads, datagram, now)
        elif isinstance(header, UnicastHeader):
            self._on_unicast(header, payloads, endpoint, now)
        else:
            self._handlers[type(header)](header, endpoint, now)

    def _may_come(self, header: Header, endpoint: Endpoint, now: float) -> bool:
        """Whether a datagram may come from an endpoint that is not its source's."""
        if isinstance(header, _FOR_STRANGERS):
            return True
        source, detection = header.source, self._group.detection
        if isinstance(header, Excluded) and (
            detection.was_member(source, endpoint) or self._group.others.believes(endpoint)
        ):
            return True
        if detection.has_been(source, endpoint) and _shows_life(header):
            if self._membership.running:
                self._group.gms.heard_alive(source, endpoint)
            return False
        if source != self._me and source not in self._outbox.endpoints:
            return not self._stranger(header, endpoint, now)
        if isinstance(header, DataHeader) and self._is_member_place(endpoint):
            return True  # retransmitted by a member that has it
        self.drop("forged", endpoint, f"{type(header).__name__} in the name of {source}", now)
        return False

    def _is_member_place(self, endpoint: Endpoint) -> bool:
        """Whether a member of this view, or of one about to be installed, is found there."""
        places = self._outbox.endpoints
        return any(
            place == endpoint and self._membership.knows(who) for who, place in places.items()
        )

    def _stranger(self, header: Header, endpoint: Endpoint, now: float) -> bool:
        """Whether the source is no member; then the datagram is dropped and reported."""
        if self._membership.knows(header.source):
            return False
        detail = f"{header.source} sent {_kind(header)}"
        self.drop("not_a_member", endpoint, detail, now)
        return True

    @property
    def _status(self) -> str:
        return self._membership.status

    # ------------------------------------------------------------------ UNICAST, NAKACK, STABLE

    def _on_unicast(
        self, header: UnicastHeader, payloads: Payloads | None, endpoint: Endpoint, now: float
    ) -> None:
        group = self._group
        if header.to != self._me or self._membership.status == "left":
            self._outbox.counters["not_for_me"] += 1
            return
        if self._status == "joining" and not self._may_admit(header, endpoint, now):
            return
        group.take(header, payloads, b"", now)

    def _may_admit(self, header: UnicastHeader, endpoint: Endpoint, now: float) -> bool:
        """Whether what a joiner hears is of a process that it has asked; then its place is kept."""
        group, source, places = self._group, header.source, self._outbox.endpoints
        if not group.joining.may_admit(endpoint, now):
            group.joining.ask_too(endpoint, now)
            self.drop("unasked", endpoint, f"{source} sent {_kind(header)}", now)
            return False
        if group.unicast.connections() >= _STRANGERS:
            self.drop("stranger", endpoint, f"{source} is not known here", now)
            return False
        if places.get(source) != endpoint:
            group.unicast.forget([source])  # it may have been somebody else
            places[source] = endpoint
        return True

    def _on_unicast_ack(self, ack: UnicastAck, endpoint: Endpoint, now: float) -> None:
        joining = self._status == "joining"
        if ack.to == self._me and not (
            joining and self._outbox.endpoints.get(ack.source) != endpoint
        ):
            self._group.take(ack, None, b"", now)

    def _on_members(self, header: Header, endpoint: Endpoint, now: float) -> None:
        """Pass on a datagram that only members may send."""
        if self._membership.running and not self._stranger(header, endpoint, now):
            self._group.take(header, None, b"", now)

    # ------------------------------------------------------------------ the membership

    def _on_join_request(self, request: JoinReq, endpoint: Endpoint, now: float) -> None:
        group, me = self._group, self._me
        if not self._membership.running:
            if self._status == "joining":
                self._group.joining.handle_request(request.source, endpoint, now)
            return
        source, question = request.source, request.question
        leader = group.gms.core.leader
        if leader != me:
            host, port = self._outbox.endpoints.get(leader or me, ("unknown", 0))
            self._outbox.send_to(JoinHint(me, host, port, 0, question), endpoint)
            return
        view = self._membership.view
        cookie = self._ground.cookies.cookie(source, endpoint, view and view.id)
        if request.cookie != cookie:  # where it is found is not proved yet
            self._outbox.send_to(JoinHint(me, "here", 0, cookie, question), endpoint)
            return
        admission, ours = group.gms.admission, self._ground.config.fingerprint
        if request.stack != ours:
            refusal = f"its stack is {request.stack}, the group's is {ours}"
        elif group.detection.has_lived(source):
            refusal = f"{source} has been a member already; each life needs a higher incarnation"
        else:
            refusal = admission.refuses(source, endpoint)
        if refusal:
            self.drop("join_refused", endpoint, f"{source}: {refusal}", now)
            self._outbox.send_to(JoinRefused(me, source, refusal, question), endpoint)
            return
        if admission.too_often(source, endpoint, now):
            self.drop("join_delayed", endpoint, f"{source}: too many joins a minute", now)
        else:
            group.gms.request(source, endpoint, request.state, now)
        self._outbox.send_to(JoinHint(me, "here", 0, cookie, question), endpoint)

    def _on_group_question(self, asked: GroupQuestion, endpoint: Endpoint, now: float) -> None:
        """Answer a member of another group of this name, once it has proved its place."""
        membership, group = self._membership, self._group
        if not membership.running or membership.knows(asked.source):
            return
        if not group.gms.admission.may_join(asked.source, endpoint):
            self.drop("not_a_member", endpoint, f"{asked.source} is not admitted", now)
            return
        view = membership.view
        cookie = self._ground.cookies.cookie(asked.source, endpoint, view and view.id)
        if asked.cookie == cookie:
            self._merges.noted(endpoint, now)
            group.gms.heard_alive(asked.source, endpoint)
        else:
            hint = JoinHint(self._me, "here", 0, cookie, asked.question)
            self._outbox.send_to(hint, endpoint)

    def _on_join_hint(self, hint: JoinHint, endpoint: Endpoint, now: float) -> None:
        if self._membership.running:
            if not self._merges.takes_cookie(hint, endpoint):
                self._group.others.handle_hint(hint, endpoint)
        elif self._is_answer(hint, endpoint, now):
            self._group.joining.handle_hint(hint, endpoint, now)

    def _on_join_refused(self, refused: JoinRefused, endpoint: Endpoint, now: float) -> None:
        if refused.to != self._me or not self._is_answer(refused, endpoint, now):
            return
        if not self._group.joining.trusts(endpoint):  # a stranger must not keep it out of its group
            self.drop("unasked", endpoint, f"{refused.source} refuses it", now)
        else:
            self._ground.out(f"not admitted: {refused.reason}")

    def _is_answer(self, answer: JoinHint | JoinRefused, endpoint: Endpoint, now: float) -> bool:
        """Whether a process that is joining has asked for that, else it is dropped."""
        if self._status != "joining":
            return False
        if self._group.joining.is_answer(answer.question, endpoint, now):
            return True
        self.drop("unasked", endpoint, f"{answer.source} sent {_kind(answer)}", now)
        return False

    def _on_excluded(self, notice: Excluded, endpoint: Endpoint, now: float) -> None:
        if notice.to != self._me:
            return
        if self._status == "stopped":
            self._ground.out("")
        elif self._membership.running and not self._merges.met(notice, endpoint, now):
            source, theirs = notice.source, {notice.source, *notice.view.members}
            ours = not theirs.isdisjoint(self._membership.members)  # a later view of this group
            ours = ours or self._group.detection.has_been(source, endpoint)
            self._group.gms.out(source, notice.view, now)
            if not ours:
                self._of_another_group(notice, endpoint)

    def _of_another_group(self, notice: Excluded, endpoint: Endpoint) -> None:
        """Give way to a group that prevails; tell one that does not that this one does."""
        membership, others = self._membership, self._group.others
        if membership.excluded:
            others.give_way(notice.view, endpoint)
        elif others.should_give_way(notice.view, endpoint):
            self._group.gms.heard_alive(notice.source, endpoint)

    def _on_leaving(self, notice: Leaving, endpoint: Endpoint, now: float) -> None:
        if self._membership.running and not self._stranger(notice, endpoint, now):
            self._group.gms.leaving(notice.source, now)


def _kind(header: Header) -> str:
    """The name of a datagram's kind."""
    return type(header.body if isinstance(header, UnicastHeader) else header).__name__


def _shows_life(header: Header) -> bool:
    """Whether a former member that sends this does not know that it is out."""
    if isinstance(header, UnicastHeader):
        return isinstance(header.body, StartFlush)
    return isinstance(header, Alive | Leaving)
