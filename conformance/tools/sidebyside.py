"""Work done side by side in threads, and a Ctrl-C that is never lost.

The law of this file: while threads work, Ctrl-C is a message to the main thread, not an exception
that Python raises at an arbitrary place. Python can lose such exceptions: a signal just before the
thread goes to sleep on a lock does not wake it (on a loaded machine that moment is long), one in a
finalizer is dropped, and one between taking a lock and entering the `with` that releases it leaves
the lock taken, so that a worker waits for ever.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

Found = TypeVar("Found")

_NAP: Final = 0.5
"""Seconds that the main thread may sleep through a signal."""


def side_by_side(
    work: Sequence[Callable[[], Found]],
    jobs: int,
    *,
    each: Callable[[Found], None],
    stop: Callable[[], None],
) -> None:
    """Do the work in so many threads, in its order; `each` gets every result as it comes.

    An early end, by Ctrl-C or by an error of the work or of `each`, calls `stop`, which must make
    the work that has begun end soon. The error is raised when all threads have ended.
    """
    done: SimpleQueue[Future[Found] | None] = SimpleQueue()
    pool = ThreadPoolExecutor(jobs)
    try:
        with _interruptions_as_messages(lambda: done.put(None)):
            for task in work:
                pool.submit(task).add_done_callback(done.put)
            for _ in work:
                each(_next(done).result())
        if not done.empty():  # it came with the last result
            raise KeyboardInterrupt
    except BaseException:  # from here on a second Ctrl-C is an exception again, and hurries
        stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _next(done: SimpleQueue[Future[Found] | None]) -> Future[Found]:
    while True:
        try:
            future = done.get(timeout=_NAP)
        except Empty:  # awake for a moment, in which Python runs signal handlers
            continue
        if future is None:
            raise KeyboardInterrupt
        return future


@contextmanager
def _interruptions_as_messages(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell`, which must not wait for a lock, instead of raising KeyboardInterrupt.

    Signals that are ignored, or that end Python at once, keep their action.
    """
    if threading.current_thread() is not threading.main_thread():  # it alone receives signals
        yield
        return
    heard = (signal.SIGINT, signal.SIGTERM)
    before = {number: known for number in heard if callable(known := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, lambda _number, _frame: tell())
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)
