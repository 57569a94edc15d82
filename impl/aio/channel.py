"""The channel: a member of a group, for asyncio applications.

    async with Channel.connect("orders", bind="10.0.0.5:7001", initial_hosts=[...]) as channel:
        await channel.send(b"hello")                       # to all, in one order
        await channel.send(b"a hint", order="none")        # to all, straight from here
        await channel.send(b"you alone", to=member)        # to a member of the view
        replies = await channel.call(b"how are you?")      # which on_call= answers
        async for message in channel:
            print(message.sender, message.payload)

Back-pressure. `send` waits while the stack takes no more. A consumer slower than the group fills
the inbox; when `inbox` bytes are in it the stack is told to hold deliveries, so it acknowledges no
more, the windows of the senders close, and their `send` waits: a slow consumer slows the group
down, it never grows anybody's memory. Signs of life go on meanwhile.

Views and states. When the membership changes all members stop for a moment: they deliver what was
sent, and then see the new view. `block=` and `unblock=` are called around that; an application that
has neither needs to do nothing, its `send` just waits. With `get_state=` and `set_state=` a joiner
is given the application's state, and then the messages behind it.

Take messages in one task and in one way: by `async for message in channel`, by `channel.batches()`,
or, with views and pauses in their order between them, by `channel.events()`.
Do not block the loop longer than `suspect_after` (1 s, or as `StackConfig.preset` has it): the
others would take this member for dead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Unpack

from raincheck.impl.arguments import MEMBERS, TIMEOUT, check_call, instance
from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Batch, View
from raincheck.impl.recording.sending import Writer
from raincheck.impl.stack.reports import (
    CallOver,
    Left,
    PrimaryChange,
    Report,
    Requested,
    ViewInstalled,
)
from raincheck.impl.stack.stack import Stack
from raincheck.impl.transport.contract import Transport

from .callbacks import Callbacks
from .connect import ChannelConfig, ChannelSettings
from .connecting import Connecting
from .driver import Driver
from .events import Excluded, MessageOrEvent, view_change
from .hook import Hook
from .inbox import Inbox
from .names import Names
from .readers import Readers
from .rejoining import Backoff, next_life
from .state_callbacks import StateNotTransferred
from .status import encoded
from .watched import Watched

_CONFIG = instance(ChannelConfig, "give a ChannelConfig")
_log = logging.getLogger("raincheck")


class Channel(Watched):
    """One member of a group. Made by `Channel.connect`, ended by `leave`."""

    on_excluded = Hook[Callable[[str], None]]()
    """Called with the reason when the group excludes a member that was connected with
    `rejoin=True`, behind the last message of that life; must not block.

    Messages of its own that it has not delivered by then may be lost, and it is not unblocked.
    It then has another address, `send` waits until it asks to join again, and it sees its new
    view and, with set_state, the group's state before any message.
    """
    on_view = Hook[Callable[[View], None]]()
    """Called with each view, behind the last message delivered before it; must not block.

    If it raises, the member leaves the group, and whatever it is used for afterwards raises
    NotMember with that error as its cause.
    """
    on_primary = Hook[Callable[[PrimaryChange], None]]()
    """Called when it is known of a view whether it is primary, in front of its first message;
    must not block. It is only called with `primary=`. If it raises, see `on_view`.
    """

    def __init__(
        self,
        config: ChannelConfig,
        transport: Transport,
        stack: Stack,
        writer: Writer | None,
        names: Names,
    ) -> None:
        """Use `Channel.connect` instead."""
        self._names = names
        names.on_change = lambda: self._driver.run(self._stack.ask_anew)
        self._desk = config.make_desk(transport, lambda: encoded(self.status()))
        driver = Driver(stack, transport, self._reported, writer, self._desk)
        inbox = Inbox(
            config.inbox, hold=lambda: self._driver.hold(), release=lambda: self._driver.release()
        )
        super().__init__(config, driver, inbox)
        self._live(config, stack, driver)
        self._backoff = Backoff()
        self._returning: asyncio.Task[None] | None = None
        self._away = False  # between two lives
        self._view: View | None = None
        self._readers = Readers[View](driver.settled)
        self.view_history: deque[View] = deque(maxlen=100)
        """The last views installed, oldest first."""

    # connecting and leaving

    @staticmethod
    def connect(cluster: str, **settings: Unpack[ChannelSettings]) -> Connecting[Channel]:
        """Join the group, or found it when nobody answers; `await` it or use it in `async with`.

        The settings are the fields of `ChannelConfig`: name, transport, bind, initial_hosts, ...

        Raises ConfigError for what cannot work, and WaitTimeout when the group was found but did
        not admit this member in time.
        """
        return Channel.connecting(ChannelConfig(cluster=cluster, **settings))

    @staticmethod
    def connecting(config: ChannelConfig) -> Connecting[Channel]:
        """Connect with these settings."""
        check_call("config", config, _CONFIG)
        return Connecting(lambda: Channel._open(config))

    @staticmethod
    async def _open(config: ChannelConfig) -> Channel:
        transport = await config.open_transport()
        try:
            names = Names(
                config.initial_hosts,
                "initial host",
                transport.endpoint,
                route=config.advertise is None,
            )
            resolved = replace(config, initial_hosts=await names.first())
            stack, writer = await resolved.make_stack(transport)
        except BaseException:
            await transport.close()
            raise
        channel = Channel(config, transport, stack, writer, names)
        await channel._join()
        return channel

    def _live(self, config: ChannelConfig, stack: Stack, driver: Driver) -> None:
        """Begin a life with that stack."""
        self._send_by(stack, driver, config)
        stack.tells_idle(self._inbox.idle)
        stack.tells_room(self._inbox.room)
        if self._names.change:
            stack.tells_names(lambda: [each for each in self._names.now() if each != self.endpoint])
        self._callbacks = callbacks = Callbacks(config, stack, driver, self._inbox)
        self._in_callback = lambda: callbacks.calling

    def _excluded(self, reason: str) -> None:
        """Come back as another incarnation."""
        _log.warning("%s is excluded and joins again: %s", self.address, reason)
        self._away = True
        self._calls.lost(reason)
        self._inbox.tell(Excluded(reason), lambda: self._call_excluded(reason))
        before = self._returning
        if before is not None and before is not asyncio.current_task():
            before.cancel()
        self._returning = asyncio.create_task(self._come_back())

    def _call_excluded(self, reason: str) -> None:
        if self.on_excluded is not None:
            self._guarded(partial(self.on_excluded, reason), "on_excluded")

    async def _come_back(self) -> None:
        """Begin the next life, after a pause."""
        old = self._driver
        await self._calls.close()
        await self._callbacks.close()
        old.end_trace()
        await asyncio.sleep(self._backoff.next(asyncio.get_running_loop().time()))
        config = next_life(self._config, self._stack, self._names.now())
        try:
            stack, writer = await config.make_stack(old.transport)
        except (RaincheckError, OSError) as problem:
            self._fail(f"it cannot join again: {problem}", problem)
            return
        driver = Driver(stack, old.transport, self._reported, writer, self._desk)
        driver.settled = old.settled  # all who wait for a change wait for this one's
        self._live(config, stack, driver)
        if self._inbox.held:
            driver.hold()
        self._away = False
        driver.start()
        if config.set_state is not None:
            await self._get_state_again(driver)

    async def _get_state_again(self, driver: Driver) -> None:
        """Wait for the state of the group that this life has joined; without it, try again."""
        while self.address not in self.view.members:
            await driver.settled.wait()
        try:
            if self.address in self.view.joiners:
                await self._callbacks.desk.arrived()
        except StateNotTransferred as problem:
            driver.halt()
            self._excluded(f"{self.address} is in the group without its state: {problem}")

    async def _joined(self) -> None:
        await self._until(lambda: self._view is not None, "joining", self._config.timeout)
        if self._config.set_state is not None and self.address in self.view.joiners:
            await self._state_arrived(self._config.timeout)

    async def _state_arrived(self, timeout: float | None) -> None:
        desk = self._callbacks.desk
        await self._until(lambda: desk.outcome is not None, "getting the group's state", timeout)
        await desk.arrived()

    async def fetch_state(self, *, timeout: float | None = None) -> None:
        """Get the group's state again: set_state is called, and the group waits meanwhile.

        Raises StateNotTransferred when no member could give it.
        """
        check_call("timeout", timeout, TIMEOUT)
        self._alive()
        if self._stack.state.core.phase in ("asking", "fetching", "setting"):
            raise RaincheckError(f"{self.address} is being given the group's state already")
        self._callbacks.desk.ask()
        self._driver.run(self._stack.want_state)
        await self._state_arrived(timeout)

    async def _close(self) -> None:
        if self._returning is not None:
            self._returning.cancel()
            await asyncio.gather(self._returning, return_exceptions=True)
        try:
            await self._names.close()
            await self._calls.close()
            await self._callbacks.close()
        finally:
            await self._driver.close()
            self._let_go()

    async def leave(self, timeout: float | None = None) -> None:
        """Leave in good order: what was sent is delivered first, then the others are told.

        Raises WaitTimeout when that takes too long; the sockets are closed all the same.
        Messages that arrive meanwhile and find the inbox full are dropped from there on.
        """
        check_call("timeout", timeout, TIMEOUT)
        await self._leave_once(self._config.leave_timeout if timeout is None else timeout)

    def _begin_to_leave(self) -> None:
        self._inbox.stop_holding()
        if self._away:
            self._end(Left())
        else:
            self._callbacks.desk.leave()
            self._driver.leave()

    def _gone(self) -> Left:
        return Left()

    # receiving

    async def batches(self) -> AsyncIterator[Batch]:
        """Iterate over runs of messages of one sender: cheaper than message by message."""
        while (batch := await self._inbox.batch()) is not None:
            yield batch

    def events(self) -> AsyncIterator[MessageOrEvent]:
        """Iterate over messages and what goes on between them, in the order of all members.

        It begins with the view that the reader is in. Each `ViewChange` stands between the messages
        of the view before and those of its own; `Blocked` and `Unblocked` stand where the group
        stopped and went on, `Excluded` at the end of a life (`rejoin`). With `primary=`, each
        `PrimaryChange` stands behind its `ViewChange`, in front of the view's first message.
        """
        return self._inbox.events()

    # the membership

    @property
    def view(self) -> View:
        """The view installed last."""
        assert self._view is not None, "a connected channel has a view"
        return self._view

    def views(self) -> AsyncIterator[View]:
        """Iterate over the views: the present one, then each new one."""
        return self._readers.read(lambda: [self.view], lambda: self._left is not None)

    async def wait_for_members(self, count: int, *, timeout: float | None = None) -> View:
        """Wait until the view has at least `count` members."""
        check_call("count", count, MEMBERS)
        check_call("timeout", timeout, TIMEOUT)
        self._alive()

        def short() -> list[str]:
            here = " ".join(map(str, self.view.members))
            return [f"{count - len(self.view.members)} more than {here}"]

        what = f"waiting for {count} members"
        await self._until(lambda: len(self.view.members) >= count, what, timeout, short)
        return self.view

    @property
    def primary(self) -> bool:
        """Whether the view installed last is primary at this moment; always, without `primary=`."""
        return self._left is None and not self._away and self._stack.primary

    async def wait_for_primary(self, *, timeout: float | None = None) -> View:
        """Wait until the view is primary, and return it."""
        check_call("timeout", timeout, TIMEOUT)
        await self._until(lambda: self.primary, "waiting for a primary view", timeout)
        return self.view

    # inside

    def _show(self, view: View) -> None:
        if self.on_view is not None:
            self._guarded(partial(self.on_view, view), "on_view")

    def _show_primary(self, change: PrimaryChange) -> None:
        if self.on_primary is not None:
            self._guarded(partial(self.on_primary, change), "on_primary")

    def _reported(self, report: Report) -> None:
        if isinstance(report, Batch):
            own = self._config.discard_own and report.sender == self.address
            if not own or report.unicast:
                self._inbox.put(report)
        elif isinstance(report, ViewInstalled):
            self._view = report.view
            self.view_history.append(report.view)
            self._readers.add(report.view)
            self._history.add(
                self._driver.now, report.view.id.counter, report.view.members, report.departures
            )
            self._inbox.tell(view_change(report), lambda: self._show(report.view))
        elif isinstance(report, PrimaryChange):
            self._inbox.tell(report, lambda: self._show_primary(report))
        elif isinstance(report, Left):
            rejoin = self._config.rejoin or report.alone
            again = rejoin and self._view is not None and self._leaving is None
            if again and report.reason and not report.final:
                self._excluded(report.reason)
            else:
                self._end(report)
        elif isinstance(report, Requested):
            self._calls.requested(report)
        elif isinstance(report, CallOver):
            self._calls.over(report)
        else:
            self._callbacks.reported(report)
