"""Uses that could only wait for ever, or meet a member at work: one sentence at the call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import raincheck
from raincheck.impl.errors import (
    ArgumentError,
    ConfigError,
    LockMisused,
    Misused,
    NotMember,
    RaincheckError,
)
from raincheck.impl.ring.state_file import Kept, StateFile
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel, SimulatedRing

Call = Callable[[Any], Awaitable[object]]


def ring_of_one(**settings: Any) -> Any:
    """A ring of one member on a network of its own, not yet connected."""
    network = SimulatedNetwork()
    return raincheck.Ring.connecting(
        SimulatedRing(ring="test", bind=("10.0.0.1", 7000), network=network, **settings)
    )


def channel_of_one() -> Any:
    """A group of one member, not yet connected."""
    config = SimulatedChannel(cluster="test", bind=("10.0.0.1", 7000), network=SimulatedNetwork(),
                              stack=raincheck.StackConfig(join_timeout=0.1))  # fmt: skip
    return raincheck.Channel.connecting(config)


async def entered(context: Any) -> object:
    """Enter something."""
    async with context as value:
        return value


async def first(iterator: Any) -> object:
    """The second value of an iterator whose first one is there."""
    return [await anext(iterator), await anext(iterator)]


RING_CALLS: dict[str, Call] = {
    "multicast": lambda ring: ring.multicast(b"x"),
    "token": lambda ring: entered(ring.token()),
    "lock": lambda ring: entered(ring.lock("x")),
    "acquire": lambda ring: ring.read_lock("x").acquire(timeout=0),
    "election": lambda ring: entered(ring.election("x")),
    "run": lambda ring: ring.election("x").run(asyncio.sleep),
    "leaders": lambda ring: first(ring.election("x").changes()),
    "barrier": lambda ring: ring.barrier("x", 1).wait(),
    "messages": anext,
    "views": lambda ring: first(ring.changes()),
    "wait_for_members": lambda ring: ring.wait_for_members(2),
    "close": lambda ring: ring.close(),
    "leave": lambda ring: ring.leave(),
}
CHANNEL_CALLS: dict[str, Call] = {
    "send": lambda channel: channel.send(b"x"),
    "send_many": lambda channel: channel.send_many([b"x"]),
    "unordered": lambda channel: channel.send(b"x", order="none"),
    "call": lambda channel: channel.call(b"x"),
    "messages": anext,
    "views": lambda channel: first(channel.views()),
    "wait_for_members": lambda channel: channel.wait_for_members(2),
    "leave": lambda channel: channel.leave(),
}


@pytest.mark.parametrize(
    ("make", "call"),
    [
        *(pytest.param(ring_of_one, each, id=f"ring-{name}") for name, each in RING_CALLS.items()),
        *(pytest.param(channel_of_one, each, id=f"channel-{name}")
          for name, each in CHANNEL_CALLS.items()),
    ],
)  # fmt: skip
def test_another_event_loop_is_refused_and_nothing_is_done(
    make: Callable[[], Any], call: Call
) -> None:
    async def connected() -> Any:
        return await make()

    with asyncio.Runner() as runner:
        member = runner.run(connected())

        async def elsewhere() -> None:
            with pytest.raises(Misused, match=r"connect and use it in one asyncio\.run"):
                await asyncio.wait_for(call(member), 5)

        thread = asyncio.to_thread(asyncio.run, elsewhere())
        runner.run(thread)  # while the member's loop runs
        runner.run(member.leave())


def test_who_has_a_lock_gives_it_back_on_its_own_loop() -> None:
    async def scenario() -> None:
        async with ring_of_one() as ring:
            lock = ring.lock("x")
            await lock.acquire()
            with pytest.raises(Misused, match=r"in another thread"):
                await asyncio.to_thread(lock.release)
            assert lock.fence is not None
            lock.release()

    asyncio.run(scenario())


def test_a_client_is_used_on_its_own_loop() -> None:
    async def scenario() -> Any:
        async with raincheck.Ring.connect("test") as ring:
            host, port = ring.endpoint
            client = await raincheck.RingClient.connect("test", members=[f"{host}:{port}"])

            async def elsewhere() -> None:
                for call in (lambda: entered(client.lock("x")), client.close):
                    with pytest.raises(Misused):
                        await asyncio.wait_for(call(), 5)

            await asyncio.to_thread(asyncio.run, elsewhere())
            async with client, client.lock("x"):
                pass
            with pytest.raises(NotMember, match="the client is closed"):
                await client.__aenter__()

    asyncio.run(scenario())


# ------------------------------------------------------------------ who ends what


@pytest.mark.parametrize("what", ["lock", "read_lock", "election"])
def test_a_lock_that_another_task_ends_is_given_back(what: str) -> None:
    async def scenario() -> None:
        async with ring_of_one() as ring:
            stack = AsyncExitStack()
            fence = await stack.enter_async_context(getattr(ring, what)("x"))
            await asyncio.create_task(stack.aclose())  # as fixtures of tests do
            assert await ring.lock("x").acquire(timeout=0)
            assert not fence.lost.is_set()

    run(scenario())


def test_of_several_that_have_entered_a_stranger_ends_none() -> None:
    async def scenario() -> None:
        async with ring_of_one() as ring:
            shared = ring.read_lock("x")
            readers = [asyncio.create_task(entered_for(shared, 1.0)) for _ in range(2)]
            await asyncio.sleep(0.5)
            with pytest.raises(LockMisused, match="end it where it was entered"):
                await shared.__aexit__(None, None, None)
            await asyncio.gather(*readers)
            assert await ring.lock("x").acquire(timeout=0)

    run(scenario())


async def entered_for(context: Any, seconds: float) -> None:
    """Be in something for so long."""
    async with context:
        await asyncio.sleep(seconds)


def test_a_body_may_give_its_lock_back_and_take_it_again() -> None:
    async def scenario() -> None:
        async with ring_of_one() as ring:
            lock = ring.lock("x")
            async with lock:
                lock.release()
                await lock.acquire()
            assert await ring.lock("x").acquire(timeout=0)

    run(scenario())


def test_a_leader_that_cannot_be_awaited_is_named_and_leads_no_more() -> None:
    async def scenario() -> None:
        async with ring_of_one() as ring:
            with pytest.raises(ArgumentError, match="lead has returned 5, which cannot be awaited"):
                await ring.election("x").run(lambda _: 5)
            assert await ring.lock("x").acquire(timeout=0)

    run(scenario())


# ------------------------------------------------------------------ too early, too late, for ever


def test_what_is_not_open_yet_says_so() -> None:
    connecting: Any = raincheck.Ring.connect("test")
    with pytest.raises(AttributeError, match="has no lock before it is open: await it"):
        connecting.lock("x")


def test_one_connection_is_entered_once_at_a_time() -> None:
    async def scenario() -> None:
        connecting = ring_of_one()
        async with connecting as ring:
            with pytest.raises(Misused, match=r"call connect\(\) again"):
                await connecting.__aenter__()
            await ring.multicast(b"x")
        with pytest.raises(NotMember):
            await ring.multicast(b"x")
        async with connecting as again:
            assert again is not ring

    run(scenario())


def test_who_has_left_is_not_entered() -> None:
    async def scenario() -> None:
        for make in (ring_of_one, channel_of_one):
            member = await make()
            async with member:
                pass
            with pytest.raises(NotMember):
                await member.__aenter__()

    run(scenario())


def test_who_has_left_waits_for_no_members() -> None:
    async def scenario() -> None:
        for make in (ring_of_one, channel_of_one):
            async with make() as member:
                await member.wait_for_members(1)
            with pytest.raises(NotMember):
                await member.wait_for_members(1)

    run(scenario())


def test_a_barrier_of_who_has_left_says_what_all_else_says() -> None:
    async def scenario() -> None:
        async with ring_of_one() as ring:
            pass
        said = set()
        for call in (ring.lock("x").acquire, ring.barrier("x", 1).wait):
            with pytest.raises(NotMember) as problem:
                await call()
            said.add(str(problem.value))
        assert len(said) == 1

    run(scenario())


def test_a_member_that_takes_no_messages_has_none_to_be_waited_for() -> None:
    async def scenario() -> None:
        async with ring_of_one(inbox=0) as ring:
            with pytest.raises(Misused, match="inbox=0"):
                await anext(ring)

    run(scenario())


@pytest.mark.parametrize("name", ["a.ring", "a.ring.next"])
def test_a_state_file_that_is_a_pipe_does_not_stop_the_loop(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigError, match=rf"{name} is no file, but a pipe"):
        StateFile(tmp_path / "a.ring")
    (tmp_path / name).unlink()
    StateFile(tmp_path / "a.ring").close()  # the lock was let go


def kept(life: int) -> Kept:
    """What a state file has."""
    return Kept("test", raincheck.Address("a", life))


def test_a_state_stays_where_it_was_begun_though_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = StateFile(Path("a.ring"))
    file.save(kept(1))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file.save(kept(2))
    file.close()

    assert not list(Path().iterdir())
    assert StateFile(tmp_path / "a.ring").load("test", "a") == kept(2)


def test_a_state_is_kept_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "a.ring").symlink_to(tmp_path / "disk" / "a.ring")
    file = StateFile(tmp_path / "a.ring")
    file.save(kept(1))
    with pytest.raises(ConfigError, match="in use"):
        StateFile(tmp_path / "disk" / "a.ring")
    file.close()

    assert (tmp_path / "a.ring").is_symlink()
    assert StateFile(tmp_path / "disk" / "a.ring").load("test", "a") == kept(1)


@pytest.mark.parametrize(
    ("trace", "why"),
    [(f"unix:/{'x' * 107}", "a path of more than 107 bytes"), ("tcp:127.0.0.1:0", "has port 0")],
)
def test_a_socket_at_which_no_reader_can_be_called_is_refused(trace: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        raincheck.Ring.connect("test", trace=trace)


# ------------------------------------------------------------------ threads


def test_a_wrong_time_out_does_not_end_a_member_in_a_thread() -> None:
    with raincheck.SyncRing.connect("test") as ring:
        wrong: Any = "soon"
        for end in (ring.close, ring.leave, partial(ring.leave, timeout=wrong)):
            if isinstance(end, partial):
                with pytest.raises(ArgumentError, match="timeout is 'soon'"):
                    end()
            else:
                with pytest.raises(ArgumentError, match="timeout is 'soon'"):
                    end(wrong)
        with ring.lock("x"):
            pass
        assert ring.run(lambda it: it.members) == ring.members
        assert ring.run(lambda it: it.multicast(b"x")) is None
        lock = ring.lock("x")
        assert repr(lock) == "<lock 'x' free>"
    assert repr(lock) == "<lock 'x'>"
    with pytest.raises(NotMember), ring:
        pass
    with pytest.raises(RaincheckError):
        lock.locked()
