"""When connecting to a ring is over: not before this member is in a view that all agree on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_connect import Opened, RingSettings
from raincheck.impl.errors import ConfigError, WaitTimeout
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.ring.reports import Committed, NameTaken, NotAdmitted
from raincheck.impl.ring.starter import Starter
from raincheck.impl.ring.state_file import Kept
from raincheck.impl.ring_start.core import RingStart
from raincheck.impl.transport.contract import Transport

A, B, C = (Address(name, 0) for name in "abc")


class Unheard(Transport):
    """A socket that nobody hears."""

    endpoint: Endpoint = ("127.0.0.1", 7)

    def __init__(self) -> None:
        super().__init__()

    def start(self, receiver: Any) -> None:
        """Nothing arrives."""

    def send(self, data: bytes, to: Endpoint) -> None:
        """Nothing goes out."""

    def pending(self) -> int:
        """Nothing waits."""
        return 0

    async def close(self) -> None:
        """Nothing is open."""


class Joiner:
    """A ring's member c whose node is at what the test says."""

    def __init__(self, timeout: float = 30.0) -> None:
        self.node: Any = SimpleNamespace(
            address=C, history=(), members=(), view_state="chaos", token_state="starving",
            counters={}, contacts=(), core=SimpleNamespace(up="new"),
            config=SimpleNamespace(identity="1"), locks=SimpleNamespace(),
            handle_timer=lambda _now: None, missing=lambda _now: {"a.0": "to let it into the ring"},
        )  # fmt: skip
        settings = RingSettings(ring="r", name="c", join=["127.0.0.1:1"], timeout=timeout)
        transport: Any = Unheard()
        kept = Kept("r", Address("c", 1))
        starter = Starter(
            "r", RingStart(kept.life, frozenset("c")), {}, lambda: (), pause=0.1, seed=1
        )
        opened = Opened(settings, self.node, transport, starter, kept, None, timeout)
        self.ring = Ring(settings, opened)
        self.joining = asyncio.ensure_future(self.ring._joined())

    async def comes_to(self, view_state: str, *history: tuple[Address, ...]) -> bool:
        """Its node comes to this; whether connecting is over then."""
        self.node.view_state, self.node.history = view_state, history
        self.node.members = next((view for view in reversed(history) if view), ())
        self.ring._driver.settled.fire()
        for _ in range(5):
            await asyncio.sleep(0)
        return self.joining.done()


def test_connecting_is_over_when_the_member_is_in_a_view_that_is_agreed_on() -> None:
    async def body() -> None:
        joiner = Joiner()
        assert not await joiner.comes_to("chaos")
        assert not await joiner.comes_to("agreement"), "it has no view"
        assert not await joiner.comes_to("agreement", (A, B)), "it is not in it"
        assert not await joiner.comes_to("chaos", (A, B), (A, B, C)), "it may not be the last"
        assert not await joiner.comes_to("reserve", (A, B, C))
        assert not await joiner.comes_to("agreement", (A, B, C), (A, B)), "it is out again"
        assert await joiner.comes_to("agreement", (A, B), (), (A, B, C), ())
        await joiner.joining

    asyncio.run(body())


def test_a_view_of_others_does_not_end_connecting_and_who_is_waited_for_is_named() -> None:
    async def body() -> None:
        joiner = Joiner(timeout=0.01)
        await joiner.comes_to("agreement", (A, B))
        with pytest.raises(WaitTimeout, match=r"connecting.*a\.0 to let it into the ring"):
            await joiner.joining

    asyncio.run(body())


def test_a_name_that_is_taken_ends_connecting_at_once() -> None:
    async def body() -> None:
        joiner = Joiner()
        assert not await joiner.comes_to("chaos")
        joiner.ring._reported(NameTaken(Address("c", 7), ("10.0.0.9", 9)))
        assert await joiner.comes_to("chaos")
        with pytest.raises(ConfigError, match=r"'c' is taken by c\.7 at 10\.0\.0\.9:9; each"):
            await joiner.joining

    asyncio.run(body())


def test_who_is_not_admitted_is_told_who_does_not_let_it_in() -> None:
    async def body() -> None:
        joiner = Joiner()
        joiner.ring._reported(NotAdmitted(A, ("10.0.0.9", 9)))
        assert await joiner.comes_to("chaos")
        with pytest.raises(
            ConfigError, match=r"c\.0 is not let into ring 'r': a\.0 at 10\.0\.0\.9:9"
        ):
            await joiner.joining

    asyncio.run(body())


def test_a_view_that_is_committed_is_reported() -> None:
    async def body() -> None:
        joiner = Joiner()
        seen = []
        joiner.ring.on_view = seen.append
        joiner.ring._reported(Committed(3, (A, C)))
        assert [(view.at, view.members) for view in seen] == [(3, (A, C))]
        joiner.joining.cancel()

    asyncio.run(body())
