"""A thread with an event loop of its own, on which other threads have coroutines run."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Lock, Thread, current_thread
from typing import Any, TypeVar

from raincheck.impl.aio.owners import act_for
from raincheck.impl.errors import LockMisused, NotMember, RaincheckError

_log = logging.getLogger("raincheck")
T = TypeVar("T")
_PATIENCE = 2.0  # seconds that the end of an abandoned thread may take


class LoopThread:
    """Runs coroutines for other threads, which wait for them and get their results and errors."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._lock = Lock()
        self._over = False
        # A daemon: the interpreter does not wait for it.
        self._thread = Thread(target=self._run, name=f"raincheck {name}", daemon=True)
        self._thread.start()

    def call(
        self,
        coroutine: Coroutine[Any, Any, T],
        undo: Callable[[T], Awaitable[object]] | None = None,
    ) -> T:
        """Run a coroutine for the current thread, and return its result or raise its error.

        A thread that is interrupted meanwhile (Ctrl-C) cancels it; if it was over at that moment,
        `undo` is awaited with its result. Raises NotMember once `stop` was called, and
        LockMisused on the loop's own thread, which would wait for itself.
        """
        tasks: list[asyncio.Task[Any]] = []
        try:
            future = self._submit(_run_for(current_thread(), coroutine, tasks))
        except BaseException:
            coroutine.close()  # nobody has begun it
            raise
        try:
            return future.result()
        except CancelledError:
            if not self._over:
                raise  # by the coroutine itself
            raise self._ended() from None
        except BaseException as problem:
            if not future.done() or future.cancelled() or future.exception() is not problem:
                with suppress(NotMember, CancelledError):  # of a thread that ends meanwhile
                    self._submit(_cancelled(current_thread(), tasks, undo)).result()
            raise

    def stop(self, last: Callable[[], Coroutine[Any, Any, object]] | None = None) -> None:
        """Run a last coroutine, cancel all others, and end the thread.

        It takes two seconds at most, also where the loop is blocked.
        """
        if self._pid != os.getpid():
            return  # a fork has no such thread, and the loop's sockets are its parent's
        if last is not None and self._thread.is_alive() and self._thread is not current_thread():
            with suppress(Exception):  # nobody is left who could be told
                self._submit(last()).result(_PATIENCE / 2)
        with self._lock:
            over, self._over = self._over, True
        if not over:
            self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not current_thread():
            self._thread.join(_PATIENCE)

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            if self._pid != os.getpid():
                raise NotMember(
                    f"{self._name} belongs to the process that this one was forked from; connect "
                    f"anew after a fork"
                )
            if current_thread() is self._thread:
                raise LockMisused(
                    f"{self._name} is called by on_lost or another function that its own thread "
                    f"runs, which would wait for itself; let another thread do it"
                )
            with self._lock:
                if self._over:
                    raise self._ended()
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except BaseException:
            coroutine.close()
            raise

    def _ended(self) -> NotMember:
        return NotMember(f"{self._name} is closed")

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            while not self._over:
                try:
                    loop.run_forever()
                except (KeyboardInterrupt, SystemExit) as problem:
                    _log.warning("%s goes on: %r was raised in its thread", self._name, problem)
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


async def _run_for(
    thread: Thread, coroutine: Coroutine[Any, Any, T], tasks: list[asyncio.Task[Any]]
) -> T:
    """Run a coroutine in the name of a thread: locks are its own, and not those of this task."""
    act_for(thread)
    task = asyncio.current_task()
    assert task is not None
    tasks.append(task)
    return await coroutine


async def _cancelled(
    thread: Thread,
    tasks: list[asyncio.Task[Any]],
    undo: Callable[[Any], Awaitable[object]] | None,
) -> None:
    """Cancel a thread's task, and undo what it has done if it was over."""
    act_for(thread)
    for task in tasks:
        task.cancel()
        result: object = (await asyncio.gather(task, return_exceptions=True))[0]
        if undo is not None and not isinstance(result, BaseException):
            with suppress(RaincheckError):  # a lock that is lost by now
                await undo(result)
