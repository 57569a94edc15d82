"""The ring: views with a history, one lock with a fence, and multicast, for asyncio applications.

    members = ["a@10.0.0.5:7001", "b@10.0.0.6:7001", "c@10.0.0.7:7001"]
    async with Ring.connect("locks", name="a", members=members, state_file="a.ring") as ring:
        async with ring.token() as fence:
            store.write(record, fence.key)
        await ring.multicast(b"done")
        async for message in ring:
            print(message.sender, message.payload)

A token goes round; who has it may act alone. What is promised, what a partition does, and how to
choose the times is told in docs/ring.md.

Back-pressure. `multicast` waits while the node takes no more. When `inbox` bytes wait for the
consumer the member keeps the token until half of them are taken: a slow consumer slows the ring
down, it never grows anybody's memory. A member that only wants the lock connects with `inbox=0`.

Do not block the loop longer than `give_up` (0.8 s): the others would take this member for dead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Unpack

from raincheck.impl.arguments import (
    BARRIER_NAME,
    MEMBERS,
    PARTIES,
    TIMEOUT,
    check_call,
    instance,
)
from raincheck.impl.errors import ConfigError, LockMisused, WaitTimeout
from raincheck.impl.messages import Address, Batch, Endpoint, Run, shown
from raincheck.impl.ring.fence import Fence
from raincheck.impl.ring.frames import VERSION
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.reports import (
    Committed,
    Delivered,
    LockGone,
    LockGranted,
    LockTaken,
    NameTaken,
    NotAdmitted,
    RingReport,
)
from raincheck.impl.ring.starter import identity_of
from raincheck.impl.ring.views import RingView
from raincheck.impl.stack.reports import Dropped, Left

from .barrier import Barrier, Barriers
from .connected import Connected
from .connecting import Connecting
from .hook import Hook
from .inbox import Inbox
from .lock_requests import LockRequests
from .metrics import RingMetrics, events_of
from .payloads import Payload, as_bytes
from .readers import Readers
from .ring_connect import Opened, RingKeywords, RingSettings
from .ring_driver import RingDriver
from .ring_lock import Lock
from .status import Status, encoded
from .with_locks import WithLocks

_SETTINGS = instance(RingSettings, "give RingSettings")


class Ring(WithLocks, Connected[RingDriver]):
    """One member of a ring. Made by `Ring.connect`, ended by `close` or `leave`."""

    on_view = Hook[Callable[[RingView], None]]()
    """Called with each view when this member commits it; must not block.

    If it raises, the member stops as if it had crashed, with that error as the cause.
    """

    def __init__(self, settings: RingSettings, opened: Opened) -> None:
        """Use `Ring.connect` instead."""
        desk = settings.make_desk(opened.transport, lambda: encoded(self.status()))
        driver = RingDriver(
            opened.node, opened.transport, self._reported, opened.keep, opened.starter, desk,
            opened.trace,
        )  # fmt: skip
        lock = Lock(driver, self._until, opened.node.config.identity)
        inbox = Inbox(settings.inbox, hold=lock.rest, release=lock.stop_resting)
        super().__init__(driver, inbox, of="ring", key=settings.key)
        self._settings = settings
        self._opened = opened
        self._lock = lock
        requests = LockRequests(driver, lock.is_mine)
        self._make_locks(requests, driver.settled)
        self._barriers = Barriers(requests)
        driver.clients = self._clients = settings.make_client_desk(opened, requests)
        driver.on_settled = self._look
        self._readers = Readers[RingView](driver.settled)
        self._namesake: str | None = None
        self._barred: str | None = None
        self._sealed: Endpoint | None = None
        self._closes = False

    # connecting and leaving

    @staticmethod
    def connect(ring: str, **settings: Unpack[RingKeywords]) -> Connecting[Ring]:
        """Found the ring, come back to it, or join it; `await` it or use it in `async with`.

        The call is the same for the first start and for all later ones. The settings are the fields
        of `RingSettings`: name, bind, members or join, state_file, ... It is connected once it has
        a view that it is in. The end of `async with` closes a member that has a state file, and
        lets one without leave, since nothing could come back to its place.

        Raises ConfigError for what cannot work, and WaitTimeout, naming who was asked, when it
        took too long.
        """
        if "founders" in settings:
            raise ConfigError(
                "founders= is members= now: give the same list of all members at each start, "
                "also after a crash or a clean stop"
            )
        given = dict[str, object](**settings)
        for name in ("members", "join"):
            if given.get(name) in ((), []):  # else it would found a ring alone
                raise ConfigError(
                    f"{name}= is empty; name the members, or leave it out for a ring of this "
                    "process alone"
                )
        return Ring.connecting(RingSettings(ring=ring, **settings))

    @staticmethod
    def connecting(settings: RingSettings) -> Connecting[Ring]:
        """Connect with these settings."""
        check_call("settings", settings, _SETTINGS)
        return Connecting(lambda: Ring._open(settings))

    @staticmethod
    async def _open(settings: RingSettings) -> Ring:
        ring = Ring(settings, await settings.open())
        await ring._join()
        return ring

    async def _joined(self) -> None:
        try:
            await self._until(self._admitted, "connecting", self._opened.rest)
            self._opened.starter.waits = False
        except WaitTimeout:
            if why := self._locked_out():
                raise ConfigError(f"{why}; give all members of a ring the same key=") from None
            raise

    def _locked_out(self) -> str:
        """Return who has another key, if nobody has this one."""
        if self._sealed is not None:
            return f"{shown(self._sealed)} has a key, this process has none"
        return next(iter(self._driver.transport.refused.values()), "")

    def _admitted(self) -> bool:
        if self._namesake is not None:
            raise ConfigError(
                f"name {self.address.node!r} is taken by {self._namesake}; "
                f"each member needs a name of its own"
            )
        if self._barred is not None:
            raise ConfigError(
                f"{self.address} is not let into ring {self._settings.ring!r}: {self._barred} "
                f"does not admit it; see admit= there"
            )
        if self.view_state == "agreement" and self.address in self.members:
            return True
        if self._opened.starter.elsewhere is not None:
            place, ring = self._opened.starter.elsewhere
            raise ConfigError(
                f"{self.address} is of ring {self._settings.ring!r} with the identity "
                f"{self.identity}, but the member at {shown(place)} is of one with the identity "
                f"{identity_of(ring)}: it has been founded again; remove the state file of the "
                f"one that is given up, and it joins the other"
            )
        return False

    async def _close(self) -> None:
        try:
            await self._driver.close()
        finally:
            await self._opened.close()

    async def leave(self, timeout: float | None = None) -> None:
        """Give the place up: what was multicast is delivered first, then the others are told.

        A lock that is held is lost. Raises WaitTimeout when it takes too long, as it does for a
        member without a majority; the socket is closed all the same, and the ring goes on as if
        this member had crashed. A state file is good for coming back only in that case; otherwise
        the same call joins, as another life.
        """
        check_call("timeout", timeout, TIMEOUT)
        await self._leave_once(self._settings.leave_timeout if timeout is None else timeout)

    async def close(self, timeout: float | None = None) -> None:
        """Stop, and keep the place: with its state file the member comes back by the same call.

        What was multicast is delivered first, and a token that is here goes on; a lock that is
        held is lost. The others then miss this member as if it had crashed. Raises WaitTimeout
        when it takes too long; the socket is closed all the same.
        """
        check_call("timeout", timeout, TIMEOUT)
        self._closes = True
        await self.leave(timeout)

    async def _finish(self) -> None:
        await (self.leave() if self._opened.file is None else self.close())

    async def _before_leaving(self) -> None:
        """Let the clients know first, lest one believes to have what others are given."""
        self._driver.run(self._clients.leave)
        await self._until(lambda: self._clients.empty or self._left is not None, "", None)

    def _begin_to_leave(self) -> None:
        self._inbox.stop_holding()
        why = f"{self.address} leaves the ring, or has left it"
        self._end_locks(why)
        self._barriers.end(why)
        self._driver.run(self.node.close if self._closes else self.node.leave)

    def _gone(self) -> Left:
        return Left(f"{self.address} is gone, though the others do not know it")

    # the lock

    def token(self, timeout: float | None = None) -> AbstractAsyncContextManager[Fence]:
        """Wait for the token and keep it: inside `async with` this member is the only one.

        It is granted in views that are settled only, so among members that have a majority. Keep
        it briefly: the ring waits. At the end TokenLost is raised if the token was lost meanwhile,
        and `fence.lost` is set at that moment. A partition can hide the loss for as long as it
        lasts; only a resource that compares fences is safe from a late holder.
        """
        check_call("timeout", timeout, TIMEOUT)
        return self._lock.held(timeout)

    def barrier(self, name: str, parties: int) -> Barrier:
        """Return the barrier of that name, of so many parties, the same number at all of them.

        `await barrier.wait()` returns when so many are there. Each wait counts, of whichever member
        and task it is. `Barrier` says what becomes of the others when one of them crashes.
        """
        check_call("name", name, BARRIER_NAME)
        check_call("parties", parties, PARTIES)
        return Barrier(self._barriers, name, parties)

    # multicast

    async def multicast(self, payload: Payload, *, timeout: float | None = None) -> None:
        """Send one message to all members; wait while the node takes no more.

        It is on its way when this returns, not yet delivered. Cancelled, nothing was sent.
        Raises MessageTooLarge for what no token can carry, and ArgumentError for what is not like
        bytes.
        """
        if timeout is not None:
            check_call("timeout", timeout, TIMEOUT)
        payload = as_bytes(payload)
        if self._driver.kept_waiting:
            await asyncio.sleep(0)
        if not self.node.writable:
            await self._until(lambda: self.node.writable, "multicasting", timeout)
        self._alive()
        self.node.multicast(payload, self._driver.now)
        self._driver.run_soon()

    async def drain(self, *, timeout: float | None = None) -> None:
        """Wait until all that was multicast here has been delivered here.

        Raises LockMisused inside `ring.token()`, which keeps the token.
        """
        check_call("timeout", timeout, TIMEOUT)
        if self.node.pending and self._lock.is_mine():
            raise LockMisused(
                "this task keeps the ring's token, and nothing is delivered meanwhile; end the "
                "lock first"
            )
        await self._until(lambda: self.node.pending == 0, "delivering what was sent", timeout)

    # the membership

    @property
    def node(self) -> RingNode:
        """The member without its sockets: for tests and harnesses."""
        return self._opened.node

    @property
    def identity(self) -> str:
        """The ring's identity: a ring of this name that is founded anew has another one.

        Fences of different identities say nothing about each other: a resource that compares
        fences has to be told by an operator which identity it obeys.
        """
        return self.node.config.identity

    @property
    def views(self) -> list[RingView]:
        """The history of views: where two members both know the entry of an index, it is equal."""
        return [RingView(at, view or None) for at, view in enumerate(self.node.history, 1)]

    @property
    def members(self) -> tuple[Address, ...]:
        """The view committed last; empty before the first one."""
        return self.node.members

    @property
    def view_state(self) -> str:
        """The view state: "agreement", "reserve" (about to agree), or "chaos"."""
        return self.node.view_state

    @property
    def token_state(self) -> str:
        """ "eating" (it has the token), "hungry" (it waits for it), "starving" (it asks for it)."""
        return self.node.token_state

    def metrics(self) -> RingMetrics:
        """Return the figures of this moment; `RingMetrics.prometheus` exports them."""
        node, counters = self.node, self.counters
        epoch, passes = node.core.last_token.number
        return RingMetrics(
            ring=self._settings.ring,
            member=str(self.address),
            status="left" if self._left is not None else node.status,
            view=node.view,
            members=len(node.members),
            pending=node.pending,
            waiting_for=len(self.missing),
            inbox=counters["inbox.bytes"],
            sent=counters.get("transport.sent", 0),
            received=counters.get("transport.received", 0),
            agreement=node.view_state == "agreement",
            token=node.token_state,
            locked=node.granted is not None,
            epoch=epoch.n,
            passes=passes,
            locks_held=self._named.held,
            locks_waited_for=self._named.wanted,
            locks_acquired=self._named.acquired,
            locks_lost=self._named.lost,
            lock_wait_ms=round(1000 * self._named.waited),
            events=events_of(counters),
        )

    def status(self) -> Status:
        """Return the status of this moment, as `raincheck.ask` gives it to other processes."""
        node, transport, metrics = self.node, self._driver.transport, self.metrics()
        return Status(
            kind="ring",
            of=self._settings.ring,
            member=str(self.address),
            endpoint=shown(self.endpoint),
            transport=transport.name,
            sealed=transport.sealed,
            status=metrics.status,
            uptime=self._driver.uptime,
            view=node.view,
            coordinator="",
            members=tuple(
                (str(member), shown(place) if place is not None else "")
                for member, place in node.places
            ),
            history=self._driver.history.past(self._driver.now),
            missing=tuple(self.missing),
            suspected=tuple(map(str, node.suspected)),
            wire=VERSION,
            ring=metrics,
        )

    def changes(self) -> AsyncIterator[RingView]:
        """Iterate over the views: the present one, then each that this member commits."""

        def present() -> list[RingView]:
            return [view for view in self.views if view.members][-1:]

        return self._readers.read(present, lambda: self._left is not None)

    async def wait_for_members(self, count: int, *, timeout: float | None = None) -> RingView:
        """Wait until this member has agreed on a view of at least `count` members."""
        check_call("count", count, MEMBERS)
        check_call("timeout", timeout, TIMEOUT)
        self._alive()

        def short() -> list[str]:
            here = " ".join(map(str, self.members))
            return [f"{count - len(self.members)} more than {here}", *self.missing]

        def there() -> bool:
            return len(self.members) >= count and self.view_state == "agreement"

        await self._until(there, f"waiting for {count} members", timeout, short)
        return next(view for view in reversed(self.views) if view.members)

    # inside

    def _reported(self, report: RingReport) -> None:
        if isinstance(report, Delivered):
            if self._settings.inbox:
                run = Run(report.origin, report.first, report.payloads.count)
                self._inbox.put(Batch(run, report.view, report.payloads))
        elif isinstance(report, Committed):
            view = RingView(report.at, report.members)
            self._readers.add(view)
            if self.on_view is not None:
                self._guarded(partial(self.on_view, view), "on_view")
        elif isinstance(report, LockGranted | LockGone | LockTaken):
            self._requests.reported(report)
        elif isinstance(report, NameTaken):
            self._namesake = f"{report.member} at {shown(report.endpoint)}"
        elif isinstance(report, NotAdmitted):
            self._barred = f"{report.member} at {shown(report.endpoint)}"
        elif isinstance(report, Dropped):
            if report.reason == "sealed":
                self._sealed = report.sender
        elif isinstance(report, Left):
            self._end(report)

    def _look(self) -> None:
        self._lock.look()
        self._look_at_locks()
        self._barriers.look()

    def _end(self, left: Left) -> None:
        self._lock.lose()
        why = left.reason or f"{self.address} has left the ring"
        self._end_locks(why)
        self._barriers.end(why)
        super()._end(left)
