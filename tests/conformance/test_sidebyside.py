"""One Ctrl-C ends what is done side by side, at the worst moments too."""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.tools import sidebyside
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.tools.sidebyside import side_by_side


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def number(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """Ctrl-C, or a polite kill that is to be the same."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


class Worker:
    """Works until it is stopped, or so long that the test has failed."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.left_alone = False

    def __call__(self) -> str:
        self.left_alone = not self.stopped.wait(30)
        return "second"


def test_a_signal_that_does_not_wake_the_main_thread_is_heard(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = threading.Event()
    worker = Worker()

    class Complaints(queue.SimpleQueue[Any]):
        def get(self, *words: Any, **named: Any) -> Any:
            asleep.set()
            return super().get(*words, **named)

    def work() -> str:
        assert asleep.wait(30)
        # Python notes the signal in this thread; the main one sleeps on, as it does if the signal
        # comes just before it goes to sleep.
        signal.pthread_kill(threading.get_ident(), number)
        return worker()

    monkeypatch.setattr(sidebyside, "SimpleQueue", Complaints)
    with pytest.raises(KeyboardInterrupt):
        side_by_side([work], 1, each=lambda _: None, stop=worker.stopped.set)

    assert not worker.left_alone


class Finalized:
    """A signal comes while this is finalized, where Python drops exceptions."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def test_a_signal_that_comes_in_a_finalizer_is_heard(number: signal.Signals) -> None:
    worker = Worker()

    def each(_found: str) -> None:
        Finalized(number)

    with pytest.raises(KeyboardInterrupt):
        side_by_side([lambda: "first", worker], 1, each=each, stop=worker.stopped.set)

    assert not worker.left_alone


def test_a_signal_that_comes_with_the_last_result_is_heard(number: signal.Signals) -> None:
    stops: list[str] = []

    with pytest.raises(KeyboardInterrupt):
        side_by_side(
            [lambda: number],
            1,
            each=signal.raise_signal,
            stop=lambda: stops.append("stopped"),
        )

    assert stops == ["stopped"]


def test_a_signal_is_an_exception_again_from_the_stopping_on(number: signal.Signals) -> None:
    worker = Worker()

    def stop() -> None:
        worker.stopped.set()
        signal.raise_signal(number)  # impatient
        raise AssertionError("the second signal was dropped")

    with pytest.raises(KeyboardInterrupt):
        side_by_side(
            [lambda: "first", worker], 1, each=lambda _: signal.raise_signal(number), stop=stop
        )

    assert signal.getsignal(number) is signal.default_int_handler


def test_what_is_ignored_stays_ignored() -> None:
    found: list[str] = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:

        def each(result: str) -> None:
            signal.raise_signal(signal.SIGINT)
            found.append(result)

        side_by_side([lambda: "one", lambda: "two"], 2, each=each, stop=lambda: None)
    finally:
        signal.signal(signal.SIGINT, before)

    assert sorted(found) == ["one", "two"]


def test_an_error_stops_the_rest_and_is_raised() -> None:
    worker = Worker()
    begun: list[str] = []

    def fail() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        side_by_side(
            [fail, worker, lambda: begun.append("third") or ""],
            1,
            each=lambda _: None,
            stop=worker.stopped.set,
        )

    assert begun == []


def test_a_process_that_an_interruption_finds_half_started_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *words: Any, **named: Any) -> None:
            super().__init__(*words, **named)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        Processes().run(["sh", "-c", "sleep 100"], tmp_path)

    with pytest.raises(ProcessLookupError):  # waited for, too
        os.kill(started[0], 0)
