"""Processes of a run are started: forked from a warm one where that can be, else one by one.

The law of this file: nobody sees of a process in which of the two ways it was started. A
process inherits the same from this one either way, but for the umask, which nothing here changes.
"""

import asyncio
import atexit
import errno
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final, Protocol

from .warm import ANSWER, BORN, REFUSED, ROOM

_WARM: Final = "raincheck.conformance.field.warm"
_LINE: Final = 1 << 20  # bytes of one line of a process
_PATIENCE: Final = 20.0  # seconds in which a warm process forks, or ends
SEEDS: Final = 2
"""Warm processes of a module: forks of one share the seed of its hashes, and with it the order of
their sets. Members of one group must not all have the same, or nothing would show that one depends
on that order."""
MOST: Final = 8
"""The forks after which another warm process, with another seed, takes over."""


class StarterGone(Exception):
    """The warm process has ended before its forks, which were killed; the sentence says so."""


class _Gone(OSError):
    """The warm process has ended before it could take an order."""


class Writes(Protocol):
    """Where bytes are written."""

    def write(self, data: bytes, /) -> None:
        """Write them, now or later."""


class Started(Protocol):
    """A process, whichever way it was started."""

    @property
    def pid(self) -> int:
        """Return its number, which is that of its group and session, too."""

    @property
    def returncode(self) -> int | None:
        """Return its exit code, as a negative number the signal that ended it; None if it runs."""

    @property
    def stdin(self) -> Writes | None:
        """Return its standard input."""

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        """Return its standard output."""

    async def wait(self) -> int:
        """Wait until it ends; return its exit code."""


def can_fork() -> bool:
    """Tell whether warm processes work here; on macOS a fork of Python is not safe."""
    return sys.platform.startswith("linux")


async def start(command: Sequence[str], turn: int, stderr: IO[bytes]) -> Started:
    """Start `python -m MODULE …`; processes of neighbouring turns differ in their hashes.

    Raise OSError if it does not start.
    """
    if not can_fork():
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            limit=_LINE,
        )
    try:
        forked = await _fork(command, turn, stderr)
    except _Gone:  # it was killed, and another one takes its place
        forked = await _fork(command, turn, stderr)
    await forked.connect()
    return forked


async def _fork(command: Sequence[str], turn: int, stderr: IO[bytes]) -> "Forked":
    warm = _warm(command[2], turn % SEEDS)
    await asyncio.to_thread(warm.ready)
    return warm.fork(command, stderr)


_MODES: Final = ("wb", "rb", "rb")


class _Open(asyncio.BaseProtocol):
    """Knows when a pipe has been closed."""

    def __init__(self) -> None:
        self.closed = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note it."""
        self.closed.set_result(exc)


class Forked:
    """A process that was forked from a warm one."""

    stdin: asyncio.WriteTransport | None = None
    stdout: asyncio.StreamReader | None = None
    returncode: int | None = None

    def __init__(self, pid: int, ends: Sequence[int], starter: int) -> None:
        self.pid = pid
        self._ends = [os.fdopen(end, mode, 0) for end, mode in zip(ends, _MODES, strict=True)]
        self._transports: list[asyncio.BaseTransport] = []
        self._starter = starter
        self._ended: asyncio.Task[int] | None = None

    async def connect(self) -> None:
        """Let the loop serve its pipes; if that is interrupted, kill it."""
        written, read, told = self._ends
        try:
            loop = asyncio.get_running_loop()
            self.stdin, opened = await loop.connect_write_pipe(_Open, written)
            self._transports.append(self.stdin)
            self.stdout = await self._reader(read)
            self._ended = asyncio.create_task(self._follow(await self._reader(told), opened))
        except BaseException:
            self.kill()
            for transport in self._transports:
                transport.close()
            for end in self._ends:
                end.close()
            raise

    async def wait(self) -> int:
        """Wait until it ends; raise StarterGone if that cannot be known."""
        assert self._ended is not None
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        """Kill its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    async def _follow(self, told: asyncio.StreamReader, opened: _Open) -> int:
        answer = await told.read(ANSWER.size)
        if not answer:
            self.kill()
        assert self.stdin is not None
        self.stdin.close()
        await opened.closed
        if not answer:
            raise StarterGone(f"the process that starts members ({self._starter}) is gone")
        _, self.returncode = ANSWER.unpack(answer)
        await told.read()  # its end, which closes it
        return self.returncode

    async def _reader(self, pipe: IO[Any]) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=_LINE)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self._transports.append(transport)
        return reader


class Warm:
    """A process that has imported a module, and is forked for each start of it."""

    def __init__(self, module: str) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", _WARM, module, str(number), "-" * ROOM],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    pass_fds=(number,),
                    start_new_session=True,
                )
            except OSError:
                self._orders.close()
                raise
        self._lock = threading.Lock()
        self._is_ready = False
        self._is_gone = False
        self._forked: list[Forked] = []

    def ready(self) -> None:
        """Wait until it has imported the module, or has ended."""
        with self._lock:
            if not self._is_ready:
                assert self._process.stdout is not None
                self._process.stdout.read(1)
                self._is_ready = True

    @property
    def spent(self) -> bool:
        """Tell whether another should take its place."""
        idle = all(each.returncode is not None for each in self._forked)
        gone = self._is_gone or self._process.poll() is not None
        return gone or (idle and len(self._forked) >= MOST)

    def fork(self, command: Sequence[str], stderr: IO[bytes]) -> Forked:
        """Fork it; raise OSError if that fails."""
        order = json.dumps({"command": command, "environ": dict(os.environ)}).encode()
        stdin, written = os.pipe()
        read, stdout = os.pipe()
        told, status = os.pipe()
        ours = (written, read, told)
        try:
            try:
                ends = [stdin, stdout, stderr.fileno(), status]
                socket.send_fds(self._orders, [order], ends)
            except (BrokenPipeError, ConnectionResetError) as problem:
                self._is_gone = True
                raise _Gone(problem.errno, "the process that starts members is gone") from problem
            finally:
                for end in (stdin, stdout, status):
                    os.close(end)
            pid = _born(told)
        except BaseException:
            for end in ours:
                os.close(end)
            raise
        forked = Forked(pid, ours, self._process.pid)
        self._forked.append(forked)
        return forked

    def end(self) -> None:
        """End it, and with it all that it has forked."""
        with suppress(OSError):
            self._orders.shutdown(socket.SHUT_RDWR)
        self._orders.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _born(told: int) -> int:
    """Return the pid that a status pipe tells first."""
    if not select.select([told], [], [], _PATIENCE)[0]:
        raise OSError(errno.ETIMEDOUT, "the process that starts members does not answer")
    answer = os.read(told, ANSWER.size)
    if not answer:
        raise OSError(errno.EPIPE, "the process that starts members is gone")
    kind, number = ANSWER.unpack(answer)
    if kind == BORN:
        return int(number)
    raise OSError(number, os.strerror(number) if kind == REFUSED else f"it ended, {number}")


_LIMITS: Final = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
_warm_ones: dict[tuple[object, ...], Warm] = {}


def _warm(module: str, turn: int) -> Warm:
    """Return a warm process of that module that has what this process would pass on now."""
    limits = tuple(resource.getrlimit(getattr(resource, name)) for name in _LIMITS)
    python = tuple(sorted(each for each in os.environ.items() if each[0].startswith("PYTHON")))
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    key = (module, turn, os.getcwd(), limits, python, niceness)
    found = _warm_ones.get(key)
    if found is not None and found.spent:
        found.end()
        found = None
    if found is None:
        found = _warm_ones[key] = Warm(module)
    return found


@atexit.register
def end_all() -> None:
    """End all warm processes."""
    while _warm_ones:
        _warm_ones.popitem()[1].end()
