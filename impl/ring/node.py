"""One member of a ring, without sockets and clocks: core, Transport Manager, timers, multicasts.

A shell (`aio/ring_driver.py`, or the simulator) hands in datagrams, the time, and what the
application wants; after each input it asks, in this order, what is to be written down
(`kept_state`), sent (`poll_datagrams`) and told (`poll_reports`), and when the next timer is due
(`deadline`). What is written down before anything is sent lets the same life come back later.

    node = RingNode(me, config, founders=[(me, here), (other, there)])
    node.start(now)

A token with nothing to do rests, for `eating` seconds at most and until somebody wants it
(`wants.py`); one with mail, or of a view that is not settled, goes on at once. While the
application has the lock it stays, and then rests unless another member wants it: so one visit
serves several of this member's tasks.
"""

from __future__ import annotations

from collections.abc import Iterable

from raincheck.impl.errors import NotMember
from raincheck.impl.locks.events import Mode
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore import events as ev
from raincheck.impl.raincore.events import Epoch, Nodelist, Token, arrival, failure
from raincheck.impl.stack.timers import NEVER

from .engine import RingEngine
from .reports import NameTaken, NotAdmitted, RingReport, StateChanged
from .transport_peers import Acknowledged, Arrived, Found, Refused, Replaced, Undelivered, Wants
from .waits import waits_of

_BEAT = 0.25  # of give_up: the longest time between two inputs


class RingNode(RingEngine):
    """One life of one member."""

    # ------------------------------------------------------------------ inputs

    def start(self, now: float) -> None:
        """Found the ring, look for it, or come back to it."""
        self._seen = now
        if self.core.up == "down":
            if not self.core.last_token.nodelist:
                self._say_hello()  # for the cookies that its requests need
            self._handle(ev.Recover(), now)
        elif self._founders:
            self._handle(ev.Initialise("founder", self._founders, ()), now)
        else:
            self._look_for_members(now)
        self._settle(now)

    def receive(self, datagrams: Iterable[tuple[bytes, Endpoint]], now: float) -> None:
        """Handle datagrams; after a gap, what is overdue before them."""
        if self._minds_gap(now):
            self.manager.tick(now)
            self._settle(now)
        receive = self.manager.receive
        for data, source in datagrams:
            receive(data, source, now)
        self._settle(now)

    def handle_timer(self, now: float) -> None:
        """Handle the timers that are due, and notice gaps; no effect if there is none."""
        self._minds_gap(now)
        if self._hello_due <= now:
            if self.core.up == "new":
                self._look_for_members(now)
            else:
                self._ask_for_news(now)
        if self.manager.deadline() <= now:
            self.manager.tick(now)
        self._settle(now)

    def multicast(self, payload: bytes, now: float) -> None:
        """Send a message to all members, with the next token.

        Raises TooLargeForToken, WouldBlock, or NotMember once it leaves.
        """
        if self._leaves or self._closes or self._stopped:
            raise NotMember(f"{self.address} leaves the ring, or has left it")
        self._mailbox.put(payload)
        self._hurry(now)
        self._tell_wants()

    def want_lock(self, name: str, mode: Mode, now: float, *, tries: bool = False) -> int:
        """Ask for a named lock with the next token, and return the request's number.

        `tries`: only if nobody holds it, or waits for it, when the token is here. Reports follow:
        LockGranted, LockTaken, LockGone. Raises LocksFull, or NotMember once it leaves.
        """
        if self._leaves or self._closes or self._stopped:
            raise NotMember(f"{self.address} leaves the ring, or has left it")
        number = self.locks.want(name, mode, tries=tries)
        self._hurry(now)
        self._tell_wants()
        return number

    def drop_lock(self, request: int, now: float) -> None:
        """Give a named lock back with the next token, or wait for it no longer."""
        self.locks.drop(request)
        if self.locks.pending:
            self._hurry(now)
            self._tell_wants()

    def want_token(self, now: float) -> None:
        """Keep the token once it can be locked, until `release`; see `granted` and `grant`."""
        self._minds_gap(now)
        self._wants = True
        self._settle(now)

    def grant(self, now: float) -> tuple[Epoch, int] | None:
        """Take the lock if it is granted, and return the token's number; None if it is not.

        After a gap it is not, before the ring has been heard again: settle then.
        """
        self._minds_gap(now)
        self._taken = self.granted is not None
        return self.granted

    def hold(self, now: float) -> None:
        """Keep the token when it is here next, locked or not, until `release`."""
        self._holds = True
        self._settle(now)

    def release(self, now: float) -> None:
        """End `want_token` and `hold`: a token that is here goes on when its rest is over, or now
        if another member wants it.
        """
        if self.granted is not None:
            self._told.used = True
        self._taken = False
        if self._doubts:
            self._doubts = False
            self._handle(ev.Gap(), now)
        self._wants = self._holds = False
        if not self._rests():
            self._hurry(now)
        self._settle(now)

    def leave(self, now: float) -> None:
        """Leave the ring once all that was multicast is on the token; then `Left` is reported."""
        if not self._leaves and self.core.up == "up":
            self._leaves = self._told.calls = True
            self._wants = self._holds = False
            self.locks.give_up()
            self._hurry(now)
        elif self.core.up == "new":
            self._stop("")
        self._settle(now)

    def close(self, now: float) -> None:
        """Stop once all that was multicast is on the token, and the token is elsewhere."""
        self._closes = True
        self._wants = self._holds = False
        self.locks.give_up()
        self._hurry(now)
        self._settle(now)

    # ------------------------------------------------------------------ what comes of them

    def kept_state(self) -> bytes | None:
        """Return the state to be saved before anything is sent; None if it has not changed."""
        if self.core.up == "new" or not (self._changed or self.manager.peers.changed):
            return None
        self._changed = self.manager.peers.changed = False
        kept = self.manager.kept()
        return self._keeper.state(self.core, self._mailbox, kept, self.locks.session)

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent, once."""
        return self.manager.poll_datagrams()

    def poll_reports(self) -> list[RingReport]:
        """Return the reports for the application, once."""
        self._reports += self.manager.poll_dropped()
        reports, self._reports = self._reports, []
        return reports

    def deadline(self) -> float | None:
        """Return when `handle_timer` is to be called; None for never."""
        # Without a beat a gap would not be noticed.
        beat = NEVER if self._stopped else self._seen + _BEAT * self.config.give_up
        due = min(self.manager.deadline(), self._hello_due, beat)
        if not self._kept_here():
            due = min(due, self._due)
        return None if due == NEVER else due

    # ------------------------------------------------------------------ what the member is

    @property
    def granted(self) -> tuple[Epoch, int] | None:
        """The number of the token that is locked for the application; None if none is."""
        core = self.core
        locked = self._wants and core.locked and not self._lost
        return core.last_token.number if locked else None

    @property
    def writable(self) -> bool:
        """Whether `multicast` takes a message."""
        return self._mailbox.writable

    @property
    def pending(self) -> int:
        """The number of messages that wait for the token."""
        return self._mailbox.waiting

    @property
    def max_message(self) -> int:
        """The most bytes of one message."""
        return self.config.max_message

    @property
    def history(self) -> tuple[Nodelist, ...]:
        """The views by their index, from 1; the empty one is NULL."""
        return self.core.global_view

    @property
    def status(self) -> str:
        """ "joining", "member", "leaving" or "left"."""
        if self._stopped or self.core.up == "left":
            return "left"
        if self._leaves:
            return "leaving"
        return "member" if self.address in self.members else "joining"

    @property
    def view(self) -> int:
        """The index of the view committed last, 0 before the first."""
        return self._view

    @property
    def members(self) -> Nodelist:
        """The view committed last; empty before the first one."""
        return next((view for view in reversed(self.core.global_view) if view), ())

    @property
    def places(self) -> list[tuple[Address, Endpoint | None]]:
        """The members of that view with their endpoints, as far as they are known."""
        return [(member, self._place(member)) for member in self.members]

    @property
    def suspected(self) -> list[Address]:
        """The members of that view that have not answered, and are silent since."""
        return [each for each in self.members if each != self.address and self._failed(each)]

    @property
    def view_state(self) -> str:
        """ "agreement", "chaos" or "reserve"."""
        return self.core.view_state

    @property
    def token_state(self) -> str:
        """ "eating", "hungry" or "starving"."""
        return self.core.token_state

    def missing(self, now: float) -> dict[str, str]:  # noqa: ARG002 (the shells' face)
        """Return whom this member waits for, and for what."""
        return waits_of(self)

    @property
    def leaving(self) -> bool:
        """Whether it wants to leave."""
        return self._leaves

    # ------------------------------------------------------------------ inside

    def _settle(self, now: float) -> None:
        """Handle all notices and due timers; a token at most once."""
        self._drain(now)
        if self._due <= now and not self._kept_here():
            self._fire(now)
            self._drain(now)
        core = self.core
        if self._closes and not self._stopped and self._may_close():
            self._stop("")
            # Not at another end: whoever uses locks by this member may have to be waited for.
            self.manager.say_closed()
        if self._kept_here() != self._kept:
            self._kept = not self._kept
            self._hello_due = now + self.config.give_up if self._kept else NEVER
        self._tell_wants()
        state = (core.view_state, core.token_state == "starving")
        if state != self._reported:
            self._reported = state
            self._reports.append(StateChanged(core.view_state, core.token_state))

    def _may_close(self) -> bool:
        """Whether nothing here waits for the token, and the token does not wait for this member."""
        core = self.core
        alone = core.last_token.nodelist in ((), (self.address,))
        if core.token_state == "starving" or core.up != "up":
            return True
        waits = self._mailbox.waiting or self.locks.pending
        if waits or (core.token_state == "eating" and not alone):
            return False
        return not any(isinstance(each, Token) for _, each in self.manager.under_way())

    def _drain(self, now: float) -> None:
        while True:
            notices = self.manager.poll_notices()
            for notice in notices:
                if isinstance(notice, Arrived):
                    self._arrived(notice.body, now, guest=notice.guest)
                elif isinstance(notice, Acknowledged):
                    self._acknowledged(notice.message, now)
                elif isinstance(notice, Undelivered):
                    self._handle(failure(notice.message), now)
                elif isinstance(notice, Replaced):
                    self._replaced(notice)
                elif isinstance(notice, Refused):
                    self._refused(notice)
                elif isinstance(notice, Wants):
                    self._hear_wants((notice.member,), now)
                else:
                    self._found(notice, now)
            while self._looped:
                self._handle(arrival(self._looped.popleft()), now)
            if not notices:
                return

    # ------------------------------------------------------------------ joining

    def _look_for_members(self, now: float) -> None:
        """Ask possible members until some have answered; then ask those to admit this one."""
        if self.found:
            self._hello_due = NEVER
            self._handle(ev.Initialise("joiner", (), tuple(self.found)), now)
        else:
            self._hello_due = now + self.config.hello
            self._say_hello()

    def _replaced(self, notice: Replaced) -> None:
        """Handle a name conflict: of two processes with one name the later one keeps it."""
        if self.core.up == "up":
            self._stop(f"another process has taken its name, as {notice.by}")

    def _refused(self, notice: Refused) -> None:
        """Report to a joiner that a member does not let it in."""
        if self.core.last_token.nodelist:
            return
        if notice.taken is not None:
            self._reports.append(NameTaken(notice.taken, notice.endpoint))
        else:
            self._reports.append(NotAdmitted(notice.by, notice.endpoint))

    def _found(self, found: Found, now: float) -> None:
        member = found.member
        if member.node == self.address.node:
            self._reports.append(NameTaken(member, found.endpoint))
            return
        core = self.core
        if self._kept and found.epoch > core.last_token.epoch.n:
            self._lost = True
            self._hurry(now)
            self.counters["token_lost"] += 1
            return
        if core.up == "new":
            self.found[member] = None
            if len(self.found) == len(self.contacts):
                self._look_for_members(now)
        elif not core.last_token.nodelist and all(
            map(self.manager.peers.has_failed, core.contacts)
        ):
            # All that had answered are gone. The core does not look for members: no event.
            core.contacts = (member,)
