"""Calls in the stack: requests and replies among the application's messages.

A call of all goes in the order of all, a call of some goes as unicasts, and so do all replies. What
comes of it is told by the pure rules of `calls.py`. Requests are reported to the application in
their place between its messages; it answers by `reply`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Frame, Payloads, Run
from raincheck.impl.sequencer.events import Deliver

from .calls import Calls, Replies
from .frames import ReplyFrame, RequestFrame, cut, decode, encode
from .layer import Ground, Layer
from .passing import Discarded, Found, Install, Joined, Skipped, ToAll, ToMember
from .reports import CallOver, Requested

DISCARDED = "it was being given the group's state, which contains the call"
"""The reason why a member does not answer a call that it discards."""


class CallsLayer(Layer):
    """The application's calls."""

    name = "calls"

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._calls = Calls()
        self._members: tuple[Address, ...] = ()
        self.ignores_own = False
        """Whether calls of all do not ask this member."""

    # ------------------------------------------------------------------ calling

    def call(self, payload: bytes, to: Sequence[Address] | None, now: float) -> int:
        """Call members of the view, or all; return the call's number."""
        number = self._calls.begin(to)
        request = encode(RequestFrame(number, payload))
        if to is None:
            self.below.down(ToAll(request), now)
        for member in to or ():
            self.below.down(ToMember(member, request), now)
        return number

    def end(self, number: int) -> Replies:
        """End a call now, whatever has come of it; its report CallOver has not come."""
        asked = [member for member in self._members if not self._ignored(member)]
        return self._calls.end(number, asked)

    def reply(
        self, to: Address, number: int, view: int, payload: bytes, now: float, *, failed: bool
    ) -> None:
        """Reply to a call that was delivered in that view, unless who has called is gone."""
        if to in self._members:
            reply = ReplyFrame(number, view, failed, payload)
            self.below.down(ToMember(to, encode(reply)), now)
        else:
            self.counters["reply_to_nobody"] += 1

    def _ignored(self, member: Address) -> bool:
        return self.ignores_own and member == self.me

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Take requests and replies out of what is delivered; see who leaves."""
        if type(event) is Deliver:
            if event.payloads.framed:
                self._deliver(*event, now)
            else:
                self.above.up(event, now)
            return
        match event:
            case Discarded(run, view, payloads):
                self._discard(run, view, payloads, now)
            case Skipped(payloads):
                self._skip(payloads)
            case Found() | Joined() | Install():
                placed = event.rsp.placed if isinstance(event, Joined) else event.placed
                self._members = placed.view.members
                self._report(self._calls.install(self._members))
                self.above.up(event, now)
            case _:
                self.above.up(event, now)

    def _deliver(self, run: Run, view: int, payloads: Payloads, now: float) -> None:
        for messages, contents, framed in cut(run, payloads):
            if not framed:
                self.above.up(Deliver(messages, view, Payloads.pack(contents)), now)
                continue
            match self._frame(run.sender, contents[0]):
                case RequestFrame(number, content):
                    self._requested(messages, view, number, content)
                case ReplyFrame() as reply:
                    self._replied(messages, reply)

    def _frame(self, sender: Address, content: bytes) -> RequestFrame | ReplyFrame | None:
        try:
            frame = decode(content)
        except WireError as problem:
            self.ground.offends(sender, problem.detail)
            return None
        if isinstance(frame, RequestFrame | ReplyFrame):
            return frame
        self.ground.offends(sender, f"{type(frame).__name__} in a message")
        return None

    def _requested(self, messages: Run, view: int, number: int, content: bytes) -> None:
        sender, ordered = messages.sender, bool(messages.first)
        if sender == self.me and ordered:
            asked = [member for member in self._members if not self._ignored(member)]
            self._report(self._calls.delivered(number, view, asked))
        if not (ordered and self._ignored(sender)):
            self.ground.reports.append(Requested(sender, view, number, content, not ordered))

    def _replied(self, messages: Run, reply: ReplyFrame) -> None:
        sender = messages.sender
        if messages.first:
            self.ground.offends(sender, "a reply to all")
            return
        late = reply.number not in self._calls
        problem, over = self._calls.replied(sender, *reply)
        if problem:
            self.ground.offends(sender, problem)
        elif late:
            self.counters["late_reply"] += 1
        self._report(over)

    def _discard(self, run: Run, view: int, payloads: Payloads, now: float) -> None:
        """Say that calls which are in the state are not answered."""
        if not payloads.framed:
            return
        for _, contents, framed in cut(run, payloads):
            frame = self._frame(run.sender, contents[0]) if framed else None
            if isinstance(frame, RequestFrame):
                reason = DISCARDED.encode()
                self.reply(run.sender, frame.number, view, reason, now, failed=True)

    def _skip(self, payloads: Payloads) -> None:
        """End this member's calls that others have taken in another view, and answered there."""
        for content in payloads.unpack() if payloads.framed else ():
            frame = decode(content) if type(content) is Frame else None
            if isinstance(frame, RequestFrame):
                self._report(self._calls.delivered(frame.number, 0, ()))

    def _report(self, over: Sequence[int]) -> None:
        for number in over:
            self.ground.reports.append(CallOver(number, self._calls.take(number)))
