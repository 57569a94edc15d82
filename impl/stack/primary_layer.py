"""PRIMARY as a layer of the stack: only in a primary view is anything sent on, or delivered.

It stands below SEQUENCER and is a second latch beside FLUSH's: while the view is not primary,
SEQUENCER sequences and resends nothing, so what is under way waits at its senders, and nothing is
delivered that the primary side might never see.

INFO and ATTEMPT go in bundles of each member's own stream, once FLUSH's latch is open, so those
that go on together from a view have all of them or none (NAKACK, FLUSH). Whoever multicasts
anything else in a view has formed it, and so all have attempted it: a member that has not heard all
ATTEMPTs by then forms it, too, and messages need not wait for them.

With `config.primary` None there is no such layer, and every view counts as primary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as replaced

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Frame, Payloads, Run, Table
from raincheck.impl.primary.core import Primary
from raincheck.impl.primary.decision import has_majority
from raincheck.impl.primary.events import Attempt, Decide, Form, Info, InstallView
from raincheck.impl.sequencer.events import Data, SendJoinRsp
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import JoinRspBody, PlacedView
from raincheck.impl.wire.primary_bodies import NO_STANDING, Standing, decode_info, encode_info

from .frames import INFO_HEAD, AttemptFrame, InfoFrame, decode, encode
from .layer import Ground, Layer
from .merged import prevailing
from .passing import Bundle, Found, Install, Joined
from .reports import PrimaryChange

_NOT_KNOWN = "it is not known yet whether it is"
_MOST = 1 << 20
"""Bytes of one member's INFO; 32 attempts of the largest group that merges have fewer."""
_FAR = 1 << 40
"""Numbers of primary views grow by steps of one; none of this size is ever reached."""
FORMER = 30
"""The former members of which it is known what was delivered; those that were members last."""


class PrimaryLayer(Layer):
    """One member's part in deciding which views are primary."""

    name = "primary"
    precedence = 3
    core: Primary

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        config, repairs = self.config, ground.repairs.primary
        self.core = Primary(
            ground.me,
            expected=config.expected_votes,
            votes=config.votes,
            found=config.found,
            repairs=repairs if config.tie_breaker else replace(repairs, tie="none"),
        )
        ground.not_primary = _NOT_KNOWN
        ground.standing = self._standing
        ground.delivered = self._former
        self._unsaid: deque[Frame] = deque()  # of this member, to be multicast
        self._partial: dict[Address, bytes] = {}  # the first pieces of INFOs
        self._infos: dict[Address, Info] = {}
        self._attempted: set[Address] = set()
        self._delivered: dict[Address, int] = {}  # in primary views, of members and former ones
        self._merged = NO_STANDING  # the highest of the sides of a view that is not decided yet

    # ------------------------------------------------------------------ views

    def up(self, event: Any, now: float) -> None:
        """Handle views: each is not primary before it is known to be."""
        match event:
            case Joined(_, body):
                self._delivered = dict(body.table)
                self._install(body.placed)
                event = event._replace(rsp=self._as_it_was(body))
            case Found() | Install():
                self._install(event.placed)
        self.above.up(event, now)

    def down(self, event: Any, now: float) -> None:
        """Tell a joiner what was delivered of former members, too."""
        if isinstance(event, SendJoinRsp):
            table = dict(self._former(self.core.members)) | dict(event.rsp.table)
            rsp = event.rsp._replace(table=tuple(sorted(table.items())))
            event = event._replace(rsp=rsp)
        self.below.down(event, now)

    def _as_it_was(self, body: JoinRspBody) -> JoinRspBody:
        """Take out what `down` has added: to SEQUENCER who is not in the view is nobody.

        A message that such a member sends again, when it comes back by a merge, would pass for
        delivered here, and nowhere else.
        """
        inside = body.placed.view.members
        return replaced(body, table=tuple(row for row in body.table if row[0] in inside))

    def _install(self, placed: PlacedView) -> None:
        view, core = placed.view, self.core
        if placed.sides:
            self._merge(placed)
        self._forget(view.members)
        for table in (self._unsaid, self._partial, self._infos, self._attempted):
            table.clear()
        self.ground.not_primary = _NOT_KNOWN
        for effect in core.handle(InstallView(view.id, frozenset(view.members))):
            assert isinstance(effect, Info)
            content, size = encode_info(effect), self.config.max_bundle - HEADROOM - 4 - INFO_HEAD
            for start in range(0, len(content), size):
                last = start + size >= len(content)
                self._unsaid.append(encode(InfoFrame(last, content[start : start + size])))
        self.stirred = True

    def _merge(self, placed: PlacedView) -> None:
        """Take over what the side that prevails has delivered: its state has it."""
        self._merged = max([self._merged, *(side.standing for side in placed.sides)])
        first = prevailing(placed)
        if self.me not in first.members:
            self._delivered = dict(first.delivered)
        for side in placed.sides:
            for member, last in side.table:
                self._delivered[member] = max(last, self._delivered.get(member, 0))

    def _forget(self, members: Collection[Address]) -> None:
        """Keep what was delivered of these, and of those that were members last."""
        former = [member for member in self._delivered if member not in members]
        for member in former[: max(0, len(former) - FORMER)]:
            del self._delivered[member]
        for member in members:  # the latest stand last
            self._delivered[member] = self._delivered.pop(member, 0)

    def _former(self, there: Collection[Address]) -> Table:
        """Return what was delivered of those that are not there."""
        return tuple(sorted((m, at) for m, at in self._delivered.items() if at and m not in there))

    def step(self, now: float) -> bool:
        """Multicast what this member has to say, as soon as it may."""
        said = False
        while self._unsaid and self.may_multicast_unordered():
            content = Payloads.pack([self._unsaid.popleft()], framed=True)
            self.multicast(Data(Run(self.me, 0, 1), self.core.view.counter, content, 0, 0), now)
            said = True
        self.stirred = bool(self._unsaid)
        return said

    # ------------------------------------------------------------------ what arrives

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Take INFO and ATTEMPT; pass on what else is multicast in a primary view."""
        header, payloads = bundle.header, bundle.payloads
        if payloads.framed and not header.first and header.sender == header.source:
            for content in payloads.unpack():
                problem = self._take(header.source, content)
                if problem:
                    self.ground.offends(header.source, problem)
            return
        if self.core.stage == "attempting":
            self._form()
        if self.core.primary:
            last = header.first + header.size - 1
            if header.first and last > self._delivered.get(header.sender, 0):
                self._delivered[header.sender] = last
            self.above.pass_up(bundle, now)
        else:
            self.ground.offends(header.source, "messages in a view that cannot be primary")

    def _take(self, source: Address, content: bytes) -> str:
        """Take a frame of a member; return what is wrong with it, "" if nothing is."""
        try:
            frame = decode(content) if type(content) is Frame else None
        except WireError as problem:
            return problem.detail
        match frame:
            case InfoFrame(last, piece) if self.core.stage == "asking":
                return self._take_info(source, piece, last=last)
            case AttemptFrame() if self.core.stage in ("asking", "attempting"):
                self._attempted.add(source)
                self._form_if_all()
                return ""
            case AttemptFrame() if self.core.primary:
                return ""  # it was formed before all ATTEMPTs had come
            case _:
                return f"{type(frame).__name__} in a view that is {self.core.stage}"

    def _take_info(self, source: Address, piece: bytes, *, last: bool) -> str:
        content = self._partial.pop(source, b"") + piece
        if source in self._infos or len(content) > _MOST:
            return f"INFO of {len(content)} bytes where none can be"
        if not last:
            self._partial[source] = content
            return ""
        try:
            info = decode_info(content, source, self.core.view)
        except WireError as problem:
            return problem.detail
        if lie := _lies(info):
            return lie
        self._infos[source] = info
        if self._infos.keys() == self.core.members:
            self._decide()
        return ""

    # ------------------------------------------------------------------ the decision

    def _decide(self) -> None:
        core, infos = self.core, tuple(sorted(self._infos.values()))
        for effect in core.handle(Decide(infos)):
            assert isinstance(effect, Attempt)
            self._unsaid.append(encode(AttemptFrame()))
        self.stirred = True
        self._merged = NO_STANDING
        self._infos.clear()
        if core.stage == "attempting":
            self._form_if_all()
        else:
            self._report("" if core.primary else _why_not(infos, core))

    def _form_if_all(self) -> None:
        if self.core.stage == "attempting" and self._attempted == self.core.members:
            self._form()

    def _form(self) -> None:
        self.core.handle(Form(self.core.members))
        self.core.found = False  # what an operator has said is good for one history
        self._report("")

    def _report(self, why: str) -> None:
        view, last = self.membership.view, self.core.last
        assert view is not None
        self.ground.not_primary = why
        number, history = (last.number, last.history) if last is not None else (0, None)
        self.ground.reports.append(PrimaryChange(view, self.core.primary, number, history, why))

    def _standing(self, there: Collection[Address]) -> Standing:
        """Return how far the history goes that those know of, who are still there."""
        last = self.core.last
        if last is None:
            return self._merged
        standing = Standing(last.number, *last.view, has_majority(last.votes, there))
        return max(self._merged, standing)

    # ------------------------------------------------------------------ to look at

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        core = self.core
        if self._unsaid:
            return {}
        if core.stage == "asking":
            waits = core.members - self._infos.keys()
            return dict.fromkeys(waits, "to say which primary views it knows of")
        if core.stage == "attempting":
            return dict.fromkeys(core.members - self._attempted, "to attempt the primary view")
        return {}


def _lies(info: Info) -> str:
    """Return what of an INFO cannot be true; "" if nothing is wrong."""
    last = info.last.number if info.last is not None else 0
    if max([last, *(each.number for each in info.attempts)]) > _FAR:
        return f"INFO with a primary view of number {last}, or an attempt of such a one"
    for each in info.attempts:
        if each.number <= last or info.sender not in dict(each.votes):
            return "INFO with an attempt that cannot be its sender's"
    return ""


def primary_layer(ground: Ground) -> Layer:
    """Return PRIMARY's layer, or one that passes everything on if the group has no primary view."""
    return Layer(ground) if ground.config.primary is None else PrimaryLayer(ground)


def _why_not(infos: Collection[Info], core: Primary) -> str:
    """Say why these cannot make their view primary."""
    votes, there = sum(info.votes for info in infos), {info.sender for info in infos}
    last, expected = core.last, core.expected
    if last is not None and not has_majority(last.votes, there, core.repairs.tie):
        before = " ".join(str(member) for member, _ in last.votes)
        return f"it has no majority of the last primary view, {last.number} ({before})"
    if last is None and votes > expected:
        return f"its members have {votes} votes, and expected_votes is {expected}"
    if last is None and not any(info.attempts for info in infos):
        return f"its members have {votes} of the {expected} votes that a first primary view needs"
    return "others may have formed a later primary view, which members of this one have attempted"
