"""Settings and fixtures of all tests."""

import fcntl
import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

# How long an example takes says nothing on a busy machine; tests have a time-out of their own.
settings.register_profile("raincheck", deadline=None)
settings.load_profile("raincheck")


def pytest_xdist_auto_num_workers() -> int:
    """Have a worker more than there are cores, since some tests wait for real processes; CI, which
    has other work for the cores, says how many it wants.
    """
    return int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", (os.cpu_count() or 1) + 1))


SPARK = ("test_spark.py", "test_spark_places.py", "test_stream.py")
"""Files whose tests share a JVM of Spark, which costs ten seconds to start."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: "Producer"
) -> "LoadFileScheduling | None":
    """Give the tests of Spark to one worker; those of any other file stay together, as asked."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class TogetherOnSpark(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return SPARK[0] if file.endswith(SPARK) else file

    return TogetherOnSpark(config, log)


def pytest_configure() -> None:
    """Let Ctrl-C be a signal again where the tests run in the background of a shell.

    Such a shell has its children ignore SIGINT, and theirs would inherit it: the tests that
    interrupt a process would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let one worker collect after the other: pytest then rewrites each module's assertions once.

    All at once they would each do so for all modules, which is half of what collecting costs.
    """
    with open(__file__) as own:
        fcntl.flock(own, fcntl.LOCK_EX)
        return (yield)


def pytest_collection_finish() -> None:
    """Look for garbage in circles seldom, as the verbs do: graphs and traces have none."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
