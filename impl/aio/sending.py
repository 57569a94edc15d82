"""The sending half of a channel: messages to all and to members, and calls.

Whoever sends waits for room in the stack, in turn; the stack has room again when what was sent
before has left. A task that takes the messages must not wait for ever for room that there will be
only when it has taken more: it is told so after a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from raincheck.impl.arguments import ADDRESS, TIMEOUT, check_call, choice
from raincheck.impl.errors import ArgumentError, NotMember, NotPrimary, WaitTimeout, WouldBlock
from raincheck.impl.messages import Address
from raincheck.impl.stack.calls import Replies
from raincheck.impl.stack.reports import Left
from raincheck.impl.stack.stack import Stack

from .calls import CallDesk
from .connect import ChannelConfig
from .connected import Connected
from .driver import Driver
from .inbox import Inbox
from .payloads import Payload, all_as_bytes, as_bytes
from .waiting import Pace, Turns

Order: TypeAlias = Literal["total", "none"]
"""Whether messages to all have a place in the order of all."""

_ORDER = choice("total", "none")
_ALL = 1 << 62  # more bytes than there is ever room for
_NEXT_VIEW = "waits for the next view, and that waits for this block(); it is delivered there"


class Sending(Connected[Driver]):
    """A member that sends, in each life by another stack."""

    _stack: Stack
    _calls: CallDesk

    def __init__(self, config: ChannelConfig, driver: Driver, inbox: Inbox) -> None:
        super().__init__(driver, inbox, of="group", key=config.key)
        self._config = config
        self._turns = Turns()
        self._turns_unordered = Turns()
        self._turns_to: dict[Address, Turns] = {}
        self._in_callback: Callable[[], bool] = lambda: False
        """Whether the current task is block(), for which the next view waits."""
        # These may be sent at once, until the stack is run or somebody sends in another way.
        self._allowed = 0  # messages
        self._most = 0  # bytes of each
        self._pace = Pace()

    def _send_by(self, stack: Stack, driver: Driver, config: ChannelConfig) -> None:
        """Send by that stack from now on."""
        self._stack, self._driver = stack, driver
        self._put = stack.send_unasked
        self._calls = CallDesk(stack, driver, self._inbox, config.on_call)
        driver.on_settled = self._let_go

    async def send(
        self,
        payload: Payload,
        *,
        to: Address | None = None,
        order: Order = "total",
        timeout: float | None = None,
    ) -> None:
        """Multicast one message, or send it to one member; wait while the group takes no more.

        It is on its way when this returns, not yet delivered. Cancelled, nothing was sent. A
        message that does not fit into one bundle goes in fragments: it is delivered here when this
        returns, and may be delivered though this is cancelled at the very end. Messages of other
        tasks come between its fragments.

        A message to one member, of any size, is delivered behind those sent to it before, in
        whatever view that member has then; nothing orders it against multicasts. It is lost if
        either of the two leaves the view before it has arrived, as the next `ViewChange` says.

        With `order="none"` all members of the view are sent the message straight from here. It
        comes behind those that were sent so before; nothing orders it against any other message.

        Raises NotMember with the reason once this member is out of the group, NotInView if `to` is
        no member of the view, NotPrimary if the view is not primary for `primary_timeout`,
        MessageTooLarge above `max_message`, or above one bundle without order, and ArgumentError
        for another order, or one with `to`, and for what is not like bytes.
        """
        ordinary = to is None and order == "total"
        if timeout is not None:
            check_call("timeout", timeout, TIMEOUT)
        if self._allowed and ordinary and type(payload) is bytes and len(payload) <= self._most:
            self._allowed -= 1
            self._put(payload)
            return
        content = as_bytes(payload)
        if order == "total":
            if to is not None:
                check_call("to", to, ADDRESS)
            await self._send(content, to, timeout)
            return
        _check(order, to)
        await self._send_unordered((content,), len(content) + 4, timeout)

    async def _send(self, payload: bytes, to: Address | None, timeout: float | None) -> None:
        """Send a message after a look at everything that may be in its way."""
        self._alive()
        self._allowed = 0
        if not self._stack.primary:
            timeout = await self._primary_at_last(timeout)
        if to is not None:
            if not self._room_to(to):
                await self._wait_for_room_to(to, len(payload) + 4, timeout)
            self._stack.send_to(to, payload)
            self._driver.run_soon()
            return
        if len(payload) > self._stack.max_whole:
            await self._send_large(payload, timeout)
            return
        if self._driver.kept_waiting and not self._turns.taken:
            await asyncio.sleep(0)
        if self._turns.taken or not self._stack.writable:
            await self._room(len(payload) + 4, timeout)
        self._stack.send(payload)
        self._driver.run_soon()
        few = self._pace.next(self._driver.now)
        if few and self._driver.runs_soon and not self._turns.taken:
            self._most = self._stack.allowance(few)
            self._allowed = few if self._most else 0

    async def _primary_at_last(self, timeout: float | None) -> float | None:
        """Wait until the view is primary; return what is left of the time-out.

        Raises NotPrimary when that takes longer than `primary_timeout`, or than the time-out, and
        at once within block(), before whose end there is no other view.
        """
        began = self._driver.now
        most = 0.0 if self._in_callback() else self._config.patience
        limit = most if timeout is None else min(timeout, most)
        try:
            await self._until(lambda: self._stack.primary, "sending", limit)
        except WaitTimeout:
            raise NotPrimary(
                f"{self.address} can send nothing: {self._stack.view} is not primary, "
                f"{self._stack.not_primary}; waited {limit:g} s (primary_timeout, or the timeout)"
            ) from None
        return None if timeout is None else max(0.0, timeout - (self._driver.now - began))

    def _end(self, left: Left) -> None:
        self._allowed = 0
        super()._end(left)

    async def send_many(
        self,
        payloads: Sequence[Payload],
        *,
        order: Order = "total",
        timeout: float | None = None,
    ) -> None:
        """Multicast several messages, in this order; wait while the group takes no more.

        Other messages may come between them. Cancelled, the first few of them were sent. `order`
        and the errors are those of `send`. No messages at all are sent at once, in whatever view.
        """
        check_call("timeout", timeout, TIMEOUT)
        messages = all_as_bytes(payloads)
        self._allowed = 0
        if order != "total":
            _check(order, None)
        self._alive()
        if not messages:
            return
        if not self._stack.primary:
            timeout = await self._primary_at_last(timeout)
        if order != "total":
            await self._send_unordered(messages, _ALL, timeout)
            return
        if max(map(len, messages)) > self._stack.max_whole:
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

    async def _send_unordered(
        self, messages: Sequence[bytes], size: int, timeout: float | None
    ) -> None:
        """Send messages without order, for which a turn needs room for so many bytes."""
        turns, taken = self._turns_unordered, 0
        self._alive()
        if not self._stack.primary:
            timeout = await self._primary_at_last(timeout)
        self._stack.check_unordered(messages)
        if self._driver.kept_waiting and not turns.taken:
            await asyncio.sleep(0)
        if not turns.taken and self._stack.room_unordered:
            taken = self._driver.send_unordered(messages)
        while taken < len(messages):
            await self._turn(turns, size, lambda: self._stack.room_unordered > 0, timeout)
            taken += self._driver.send_unordered(messages[taken:])

    async def _send_large(self, payload: bytes, timeout: float | None) -> None:
        """Send a message in fragments, and wait until it is delivered here."""
        stack, what = self._stack, f"sending {len(payload)} bytes"
        number = stack.send_large(payload)
        self._driver.run_soon()

        def done() -> bool:
            if self._stack is not stack:
                raise NotMember(f"{stack.address} was excluded while it was {what}")
            return self._over(not stack.under_way(number), what)

        async def wait(limit: float | None) -> None:
            await self._until(done, what, limit)

        try:
            await self._unless_starved(wait, what, timeout)
        except BaseException:
            if stack.give_up(number) and self._stack is stack:
                self._driver.run_soon()
            raise

    async def call(
        self,
        payload: Payload,
        to: Address | Iterable[Address] | None = None,
        *,
        timeout: float | None = None,
    ) -> Replies:
        """Ask one member, some, or all, and wait for the replies.

        A call of all goes in the order of all: it asks the members of the view in which it is
        delivered, this one too (unless `discard_own`), each at the same place among the messages.
        A call of some goes as unicasts. It ends when each of them has answered, has said why not,
        or has left the view, or after `timeout` seconds; the `Replies` say which. What is asked of
        a member may be done though its answer is late.

        Raises NotMember when this member is or gets out of the group, NotInView if somebody who is
        asked is no member of the view, NotPrimary as `send` does, WaitTimeout if not even the
        request could be sent in time, MessageTooLarge, ArgumentError.
        """
        check_call("timeout", timeout, TIMEOUT)
        content = as_bytes(payload)
        asked = _asked(to)
        ends = None if timeout is None else self._driver.now + timeout
        self._allowed = 0
        self._alive()
        if asked == ():
            return Replies()
        if not self._stack.primary:
            timeout = await self._primary_at_last(timeout)
        for member in asked or ():
            if not self._room_to(member):
                await self._wait_for_room_to(member, len(content) + 4, timeout)
        if asked is None and (self._turns.taken or not self._stack.writable):
            await self._room(len(content) + 4, timeout)
        call = self._calls.begin(content, asked)
        try:
            left = None if ends is None else max(0.0, ends - self._driver.now)
            await self._unless_starved(call.wait, "calling", left)
        except WaitTimeout:
            pass  # the replies say who is late
        except BaseException:
            call.end()
            raise
        return call.end()

    async def drain(self, *, timeout: float | None = None) -> None:
        """Wait until all that was sent here has been delivered here.

        Within block() it raises what ends a wait that only the next view could end: NotPrimary if
        the view is not primary, and WouldBlock if it needs a member that has crashed meanwhile.
        """
        check_call("timeout", timeout, TIMEOUT)
        if self._stack.pending and not self._stack.primary and self._in_callback():
            await self._primary_at_last(timeout)
        what = "delivering what was sent"

        async def wait(limit: float | None) -> None:
            await self._until(lambda: self._over(self._stack.pending == 0, what), what, limit)

        await self._unless_starved(wait, what, timeout)

    def _over(self, delivered: bool, what: str) -> bool:
        """Whether that is delivered; raises WouldBlock if block() waits for it in vain."""
        if not delivered and self._in_callback() and (why := self._stack.needs_view):
            raise WouldBlock(f"{self.address}: {what} {_NEXT_VIEW}: {why}")
        return delivered

    async def _room(self, size: int, timeout: float | None) -> None:
        """Wait until there is room for so many bytes, behind those who waited before."""
        await self._turn(self._turns, size, lambda: self._stack.writable, timeout)

    def _room_to(self, to: Address) -> bool:
        """Whether there is room for a message to a member, and nobody waits for it."""
        turns = self._turns_to.get(to)
        return self._stack.room_to(to) > 0 and (turns is None or not turns.taken)

    async def _wait_for_room_to(self, to: Address, size: int, timeout: float | None) -> None:
        turns = self._turns_to.setdefault(to, Turns())
        await self._turn(turns, size, lambda: self._stack.room_to(to) > 0, timeout)

    async def _turn(
        self, turns: Turns, size: int, open_: Callable[[], bool], timeout: float | None
    ) -> None:
        """Wait for a turn, and until there is room."""

        async def wait(limit: float | None) -> None:
            try:
                async with asyncio.timeout(limit):
                    self._alive()
                    await turns.wait(size)
                    while not open_():
                        self._alive()
                        await turns.wait(size)
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
        self._allowed = 0
        self._inbox.look()
        over = self._left is not None
        if self._turns.taken:
            self._turns.let_go(float("inf") if over else self._stack.room)
        self._turns_unordered.let_go(float("inf") if over else self._stack.room_unordered)
        for to, turns in list(self._turns_to.items()):
            gone = over or to not in self._stack.members
            turns.let_go(float("inf") if gone else self._stack.room_to(to))
            if not turns.taken:
                del self._turns_to[to]
        if over:
            self._calls.lost(self._why_left)

    async def _unless_starved(
        self, wait: Callable[[float | None], Awaitable[None]], what: str, timeout: float | None
    ) -> None:
        """Wait, but not for ever for what itself waits until the waiting task takes messages."""
        task, calling = asyncio.current_task(), self._in_callback()
        if not calling and not self._inbox.taken_by(task):
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
                if calling and self._stack.blocked:
                    raise WouldBlock(f"{self.address}: {what} {_NEXT_VIEW}") from None
                if self._inbox.starved_by(task):
                    raise WouldBlock(
                        f"{self.address}: {what} waits for the group, which waits until this task "
                        f"takes the messages that fill its inbox; take them in a task of their "
                        f"own, or send less"
                    ) from None
            else:
                return


def _check(order: str, to: Address | None) -> None:
    """Raise ArgumentError for an order that there is none of."""
    check_call("order", order, _ORDER)
    if to is not None:
        raise ArgumentError("a message to one member is in no order with others; leave out `order`")


def _asked(to: Address | Iterable[Address] | None) -> tuple[Address, ...] | None:
    """Return whom a call asks, None for all; raises ArgumentError for who is no member."""
    if to is None:
        return None
    asked: list[Any] = [to]
    if isinstance(to, Iterable) and not isinstance(to, Address | str | bytes):
        asked = [*to]
    for each in asked:
        check_call("to", each, ADDRESS)
    return tuple(set(asked))
