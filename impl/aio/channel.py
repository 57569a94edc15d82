"""The channel: a member of a group, for asyncio applications.

    async with Channel.connect("orders", bind="10.0.0.5:7001", initial_hosts=[...]) as channel:
        await channel.send(b"hello")
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
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Unpack

from raincheck.impl.errors import NotMember, RaincheckError, WaitTimeout, WouldBlock
from raincheck.impl.messages import Batch, View
from raincheck.impl.recording.writer import TraceWriter
from raincheck.impl.stack.reports import Left, Report, ViewInstalled
from raincheck.impl.stack.stack import Stack
from raincheck.impl.transport.contract import Transport

from .callbacks import Callbacks
from .connect import ChannelConfig, ChannelSettings
from .connected import Connected
from .connecting import Connecting
from .driver import Driver
from .events import Excluded, MessageOrEvent, view_change
from .inbox import Inbox
from .payloads import Payload, all_as_bytes, as_bytes
from .readers import Readers
from .rejoining import Backoff, next_life
from .state_callbacks import StateNotTransferred
from .waiting import Turns

_log = logging.getLogger("raincheck")
_ALL = 1 << 62  # more bytes than there is ever room for


class Channel(Connected[Driver]):
    """One member of a group. Made by `Channel.connect`, ended by `leave`."""

    def __init__(
        self, config: ChannelConfig, transport: Transport, stack: Stack, writer: TraceWriter | None
    ) -> None:
        """Use `Channel.connect` instead."""
        driver = Driver(stack, transport, self._reported, writer)
        inbox = Inbox(
            config.inbox, hold=lambda: self._driver.hold(), release=lambda: self._driver.release()
        )
        super().__init__(driver, inbox, of="group", key=config.key)
        self._config = config
        self._turns = Turns()
        self._live(config, stack, driver)
        self._backoff = Backoff()
        self._returning: asyncio.Task[None] | None = None
        self._away = False  # between two lives
        self.on_excluded: Callable[[str], None] | None = None
        """Called with the reason when the group excludes a member that was connected with
        `rejoin=True`, behind the last message of that life; must not block.

        Messages of its own that it has not delivered by then may be lost, and it is not unblocked.
        It then has another address, `send` waits until it asks to join again, and it sees its new
        view and, with set_state, the group's state before any message.
        """
        self._view: View | None = None
        self._readers = Readers[View](driver.settled)
        self.on_view: Callable[[View], None] | None = None
        """Called with each view, behind the last message delivered before it; must not block.

        If it raises, the member leaves the group, and whatever it is used for afterwards raises
        NotMember with that error as its cause.
        """
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
        return Connecting(lambda: Channel._open(config))

    @staticmethod
    async def _open(config: ChannelConfig) -> Channel:
        transport = await config.open_transport()
        try:
            stack, writer = await config.make_stack(transport)
        except BaseException:
            await transport.close()
            raise
        channel = Channel(config, transport, stack, writer)
        await channel._join()
        return channel

    def _live(self, config: ChannelConfig, stack: Stack, driver: Driver) -> None:
        """Begin a life with that stack."""
        self._stack, self._driver = stack, driver
        stack.tells_idle(self._inbox.idle)
        driver.on_settled = self._let_go
        self._callbacks = Callbacks(config, stack, driver, self._inbox)

    def _excluded(self, reason: str) -> None:
        """Come back as another incarnation."""
        _log.warning("%s is excluded and joins again: %s", self.address, reason)
        self._away = True
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
        await self._callbacks.close()
        old.end_trace()
        await asyncio.sleep(self._backoff.next(asyncio.get_running_loop().time()))
        config = next_life(self._config, self._stack)
        try:
            stack, writer = await config.make_stack(old.transport)
        except (RaincheckError, OSError) as problem:
            self._fail(f"it cannot join again: {problem}", problem)
            return
        driver = Driver(stack, old.transport, self._reported, writer)
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
            await self._callbacks.close()
        finally:
            await self._driver.close()
            self._let_go()

    async def leave(self, timeout: float | None = None) -> None:
        """Leave in good order: what was sent is delivered first, then the others are told.

        Raises WaitTimeout when that takes too long; the sockets are closed all the same.
        Messages that arrive meanwhile and find the inbox full are dropped from there on.
        """
        await self._leave_once(self._config.leave_timeout if timeout is None else timeout)

    def _begin_to_leave(self) -> None:
        self._inbox.stop_holding()
        if self._away:
            self._end(Left())
        else:
            self._driver.leave()

    def _gone(self) -> Left:
        return Left()

    # sending

    async def send(self, payload: Payload, *, timeout: float | None = None) -> None:
        """Multicast one message; wait while the group takes no more.

        It is on its way when this returns, not yet delivered. Cancelled, nothing was sent. A
        message that does not fit into one bundle goes in fragments: it is delivered here when this
        returns, and may be delivered though this is cancelled at the very end. Messages of other
        tasks come between its fragments.

        Raises NotMember with the reason once this member is out of the group, MessageTooLarge
        above `max_message`, and TypeError for what is not like bytes.
        """
        payload = as_bytes(payload)
        if self._left is not None:
            self._alive()
        if len(payload) > self._stack.max_whole:
            await self._send_large(payload, timeout)
            return
        if self._driver.kept_waiting and not self._turns.taken:
            await asyncio.sleep(0)
        if self._turns.taken or not self._stack.writable:
            await self._room(len(payload) + 4, timeout)
        self._stack.send(payload)
        self._driver.run_soon()

    async def send_many(self, payloads: Sequence[Payload], *, timeout: float | None = None) -> None:
        """Multicast several messages, in this order; wait while the group takes no more.

        Other messages may come between them. Cancelled, the first few of them were sent.
        """
        messages = all_as_bytes(payloads)
        self._alive()
        if messages and max(map(len, messages)) > self._stack.max_whole:
            for message in messages:
                await self.send(message, timeout=timeout)
            return
        if self._driver.kept_waiting and not self._turns.taken:
            await asyncio.sleep(0)
        wait = self._turns.taken or not self._stack.writable
        taken = 0 if wait else self._driver.send(messages)
        while taken < len(messages):
            await self._room(_ALL, timeout)
            taken += self._driver.send(messages[taken:])

    async def _send_large(self, payload: bytes, timeout: float | None) -> None:
        """Send a message in fragments, and wait until it is delivered here."""
        stack, what = self._stack, f"sending {len(payload)} bytes"
        number = stack.send_large(payload)
        self._driver.run_soon()

        def done() -> bool:
            if self._stack is not stack:
                raise NotMember(f"{stack.address} was excluded while it was {what}")
            return not stack.under_way(number)

        async def wait(limit: float | None) -> None:
            await self._until(done, what, limit)

        try:
            await self._unless_starved(wait, what, timeout)
        except BaseException:
            if stack.give_up(number) and self._stack is stack:
                self._driver.run_soon()
            raise

    async def drain(self, *, timeout: float | None = None) -> None:
        """Wait until all that was sent here has been delivered here."""
        what = "delivering what was sent"

        async def wait(limit: float | None) -> None:
            await self._until(lambda: self._stack.pending == 0, what, limit)

        await self._unless_starved(wait, what, timeout)

    async def _room(self, size: int, timeout: float | None) -> None:
        """Wait until there is room for so many bytes, behind those who waited before."""

        async def wait(limit: float | None) -> None:
            try:
                async with asyncio.timeout(limit):
                    self._alive()
                    await self._turns.wait(size)
                    while not self._stack.writable:
                        self._alive()
                        await self._turns.wait(size)
                    self._alive()
            except TimeoutError:
                assert limit is not None
                raise WaitTimeout(f"{self.address}: sending", limit, self.missing) from None

        try:
            await self._unless_starved(wait, "sending", timeout)
        except BaseException:
            self._let_go()  # the room that it might have had is another one's
            raise

    def _let_go(self) -> None:
        """Let senders go on for which there is room; all of them once the member has ended."""
        self._turns.let_go(self._stack.room if self._left is None else float("inf"))

    async def _unless_starved(
        self, wait: Callable[[float | None], Awaitable[None]], what: str, timeout: float | None
    ) -> None:
        """Wait, but not for ever for what itself waits until the waiting task takes messages."""
        task = asyncio.current_task()
        if not self._inbox.taken_by(task):
            await wait(timeout)
            return
        left, patience = timeout, self._config.stack.application_timeout / 2
        while True:
            try:
                await wait(patience if left is None else min(left, patience))
            except WaitTimeout as late:
                if timeout is not None and left is not None:
                    left -= patience
                    if left <= 0:
                        what = f"{self.address}: {what}"
                        raise WaitTimeout(what, timeout, late.missing) from None
                if self._inbox.starved_by(task):
                    raise WouldBlock(
                        f"{self.address}: {what} waits for the group, which waits until this task "
                        f"takes the messages that fill its inbox; take them in a task of their "
                        f"own, or send less"
                    ) from None
            else:
                return

    # receiving

    async def batches(self) -> AsyncIterator[Batch]:
        """Iterate over runs of messages of one sender: cheaper than message by message."""
        while (batch := await self._inbox.batch()) is not None:
            yield batch

    def events(self) -> AsyncIterator[MessageOrEvent]:
        """Iterate over messages and what goes on between them, in the order of all members.

        It begins with the view that the reader is in. Each `ViewChange` stands between the messages
        of the view before and those of its own; `Blocked` and `Unblocked` stand where the group
        stopped and went on, `Excluded` at the end of a life (`rejoin`).
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

        def short() -> list[str]:
            here = " ".join(map(str, self.view.members))
            return [f"{count - len(self.view.members)} more than {here}"]

        what = f"waiting for {count} members"
        await self._until(lambda: len(self.view.members) >= count, what, timeout, short)
        return self.view

    # inside

    def _show(self, view: View) -> None:
        if self.on_view is not None:
            self._guarded(partial(self.on_view, view), "on_view")

    def _guarded(self, call: Callable[[], object], name: str) -> None:
        """Make a call of the application, which ends the member if it raises."""
        if self._left is not None and self._left.cause is not None:
            return
        try:
            call()
        except Exception as problem:  # noqa: BLE001 (whatever the application raises)
            self._fail(f"{name} raised {problem!r}", problem)

    def _reported(self, report: Report) -> None:
        if isinstance(report, Batch):
            self._inbox.put(report)
        elif isinstance(report, ViewInstalled):
            self._view = report.view
            self.view_history.append(report.view)
            self._readers.add(report.view)
            self._inbox.tell(view_change(report), lambda: self._show(report.view))
        elif isinstance(report, Left):
            rejoin = self._config.rejoin or report.alone
            again = rejoin and self._view is not None and self._leaving is None
            if again and report.reason and not report.final:
                self._excluded(report.reason)
            else:
                self._end(report)
        else:
            self._callbacks.reported(report)
