"""`SyncRing`: a ring's locks for threads, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import raincheck
from raincheck.impl.sync.ring import SyncClient, SyncRing

from .lock_judge import LockJudge

pytestmark = pytest.mark.sockets
LIMIT = 60.0
"""Seconds that nothing takes, on however busy a machine.

Where a pause may cost a lock, the ring has the times of "wan".
"""


@contextmanager
def alone() -> Iterator[SyncRing]:
    """A ring of one member."""
    ring = SyncRing.connect("test", timeout=LIMIT, key=[])
    try:
        yield ring
    finally:
        ring.close(timeout=LIMIT)


def in_thread(function: Any, *arguments: Any) -> Any:
    """Call a function in another thread, and return its result or raise its error."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result(LIMIT)


def test_threads_of_three_members_have_a_lock_one_at_a_time(free_ports: Any) -> None:
    members = [f"{name}@127.0.0.1:{port}" for name, port in zip("abc", free_ports(3), strict=True)]
    judge, guard = LockJudge(), threading.Lock()

    def work(ring: SyncRing) -> None:
        ring.barrier("all", 6).wait(timeout=LIMIT)
        lock = ring.lock("orders", timeout=LIMIT)
        for _ in range(5):
            with lock as fence:
                hold = object()
                with guard:
                    judge.got(ring.address.node, "orders", fence, hold)
                assert lock.fence is fence
                assert lock.holder == ring.address
                with guard:
                    judge.ended("orders", hold)

    def connect(name: str) -> SyncRing:
        return SyncRing.connect(
            "test", name=name, members=members, timeout=LIMIT, key=[], recovery="wan"
        )

    with ThreadPoolExecutor(6) as pool:
        rings = list(pool.map(connect, "abc"))
        for ring in rings:
            ring.run(lambda ring: ring.wait_for_members(3, timeout=LIMIT))
        list(pool.map(work, [*rings, *rings]))
        judge.check(least=30)
        first, second, _ = rings
        with first.election("reports", timeout=LIMIT) as fence:
            leader = first.election("reports").leader
            assert leader == (first.address, fence.key)
            assert first.election("reports").contenders == (first.address,)
        with second.read_lock("orders", timeout=LIMIT):
            assert second.lock("orders").locked()
        list(pool.map(lambda ring: ring.leave(LIMIT), rings))


def test_a_client_in_a_thread_has_locks_beside_members_under_their_key(free_ports: Any) -> None:
    (port,), key, other = free_ports(1), bytes(range(32)), bytes(32)
    place = f"127.0.0.1:{port}"
    with SyncRing.connect("test", bind=place, key=key, timeout=LIMIT, recovery="wan") as ring:
        with SyncClient.connect("test", members=[place], key=key, timeout=LIMIT) as client:
            assert client.serving == ring.address
            with client.lock("x", timeout=LIMIT) as fence:
                assert not ring.lock("x").acquire(timeout=0)
                assert client.run(whose) == fence.identity
            with ring.lock("x", timeout=LIMIT) as later:
                assert fence < later
                with pytest.raises(raincheck.WaitTimeout, match="to release 'x'"):
                    client.lock("x").acquire(timeout=0.3)
        with pytest.raises(raincheck.NotMember, match="client of ring 'test' is closed"):
            client.lock("x").acquire()
        with pytest.raises(raincheck.ConfigError, match="give a client the key= of its ring"):
            SyncClient.connect("test", members=[place], key=other, timeout=2)
        with pytest.raises(raincheck.WaitTimeout, match="under its key, which this process"):
            SyncClient.connect("test", members=[place], key=[], timeout=2)


async def whose(client: raincheck.RingClient) -> str:
    return client.identity


def test_errors_arrive_in_the_callers_thread() -> None:
    with alone() as ring:
        lock = ring.lock("x")
        assert lock.acquire(timeout=0)
        with pytest.raises(raincheck.LockMisused, match="this thread has lock 'x' already"):
            ring.lock("x").acquire()
        assert not in_thread(ring.lock("x").acquire, 0)
        with pytest.raises(raincheck.WaitTimeout, match="another of its tasks has"):
            in_thread(ring.lock("x").acquire, 0.05)
        in_thread(lock.release)  # as a threading.Lock, by whatever thread
        with pytest.raises(raincheck.LockMisused, match="not acquired here"):
            lock.release()
        with pytest.raises(raincheck.ArgumentError, match="timeout is 'soon'"):
            lock.acquire("soon")  # type: ignore[arg-type]
        with pytest.raises(raincheck.ArgumentError, match="function is 1"):
            ring.run(1)  # type: ignore[arg-type]
        with pytest.raises(raincheck.WaitTimeout, match="1 of 2 parties"):
            ring.barrier("x", 2).wait(timeout=0.05)
        assert repr(lock) == "<lock 'x' free>"
    with pytest.raises(raincheck.ConfigError, match="found=True"):
        SyncRing.connect("test", found=True)


def test_closing_ends_what_other_threads_wait_for_and_the_thread() -> None:
    lost = threading.Event()
    misused: list[BaseException] = []

    def on_lost(fence: raincheck.LockFence) -> None:
        try:
            lock.release()
        except raincheck.LockMisused as problem:
            misused.append(problem)
        lost.set()
        assert fence.name == "x"

    with alone() as ring, ThreadPoolExecutor(1) as pool:
        before = threading.active_count()
        lock = ring.lock("x", on_lost=on_lost)
        lock.acquire()
        waits = pool.submit(ring.lock("x").acquire)
        while ring.run(waiting) == 0:
            pass
        ring.close(timeout=LIMIT)
        with pytest.raises(raincheck.NotMember):
            waits.result(LIMIT)
        assert lost.wait(LIMIT)
        assert "would wait for itself" in str(misused[0])
        with pytest.raises(raincheck.NotMember, match="ring 'test' is closed"):
            lock.release()
        with pytest.raises(raincheck.NotMember):
            ring.members and ring.run(waiting)
        assert threading.active_count() == before  # a worker came, the member's thread is gone


async def waiting(ring: raincheck.Ring) -> int:
    return ring.metrics().locks_waited_for


def test_a_call_that_waits_while_the_loop_is_stopped_is_told_so() -> None:
    with alone() as ring, ThreadPoolExecutor(1) as pool:
        asked = threading.Event()

        async def forever(_: raincheck.Ring) -> None:
            asked.set()
            await asyncio.get_running_loop().create_future()

        call = pool.submit(ring.run, forever)
        assert asked.wait(LIMIT)
        ring.close(timeout=LIMIT)
        with pytest.raises(raincheck.NotMember, match="ring 'test' is closed"):
            call.result(LIMIT)


def test_who_is_interrupted_does_not_have_the_lock() -> None:
    with alone() as ring:
        other = ring.lock("x")
        in_thread(other.acquire)
        main = threading.main_thread().ident
        assert main is not None

        def interrupt() -> None:
            while ring.run(waiting) == 0:
                pass
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        mine = ring.lock("x")
        with pytest.raises(KeyboardInterrupt):
            mine.acquire()
        thread.join(LIMIT)
        assert ring.run(waiting) == 0
        other.release()
        assert mine.acquire(timeout=0)
        mine.release()


def test_who_is_interrupted_at_the_moment_of_success_does_not_have_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = Future.result

    def interrupted(self: Future[Any], timeout: float | None = None) -> Any:
        monkeypatch.setattr(Future, "result", result)
        result(self, timeout)
        raise KeyboardInterrupt

    with alone() as ring:
        for hold in (ring.lock("x").acquire, ring.election("x").__enter__):
            monkeypatch.setattr(Future, "result", interrupted)
            with pytest.raises(KeyboardInterrupt):
                hold()
            assert not ring.lock("x").locked()


def test_tasks_that_a_thread_has_made_have_locks_of_their_own() -> None:
    async def readers(ring: raincheck.Ring) -> None:
        lock, both = ring.read_lock("x", timeout=LIMIT), asyncio.Barrier(2)

        async def read() -> None:
            async with lock:
                await both.wait()

        await asyncio.gather(read(), read())

    with alone() as ring:
        ring.run(readers)
        assert not ring.lock("x").locked()


def test_a_function_that_wants_to_end_the_thread_ends_nobodys_ring() -> None:
    async def exits(ring: raincheck.Ring) -> None:
        raise SystemExit(ring.address.node)

    async def cancels(_: raincheck.Ring) -> None:
        raise asyncio.CancelledError

    with alone() as ring:
        with pytest.raises(SystemExit):
            in_thread(ring.run, exits)
        with pytest.raises(CancelledError):
            ring.run(cancels)
        assert ring.lock("x").acquire(timeout=0)


def test_one_that_is_forgotten_ends_with_its_thread() -> None:
    before = threading.active_count()
    ring = SyncRing.connect("test", timeout=LIMIT, key=[])
    loop, thread = ring._thread._loop, ring._thread._thread
    assert threading.active_count() == before + 1
    del ring
    gc.collect()
    thread.join(LIMIT)
    assert threading.active_count() == before
    assert loop.is_closed()


FORGETS = """
import os, sys
import raincheck
ring = raincheck.SyncRing.connect("test", timeout=60, key=[])
lock = ring.lock("x")
lock.acquire()
child = os.fork()
if not child:
    try:
        lock.release()
    except raincheck.NotMember as problem:
        print(problem, flush=True)
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lock.locked(), flush=True)
"""


def test_the_interpreter_ends_though_nobody_closes_and_a_fork_is_refused() -> None:
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", FORGETS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    out = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert out[0].startswith("ring 'test' belongs to the process that this one was forked from")
    assert out[1] == "7 True"
