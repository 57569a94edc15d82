"""A process that has imported a member's module, and is forked for each life of a member.

The law of this file: a fork has nothing of this process but the modules: no descriptor, no handler,
no session, no argument. This process ends when the harness does, and nothing that it has forked
outlives it.
"""

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

ANSWER = struct.Struct("<ii")
"""The contents of a status pipe: the pid, as (BORN, pid); then (ENDED, exit code) or, if there
could be no fork, (REFUSED, errno)."""
BORN, ENDED, REFUSED = range(3)
ORDER = 1 << 18
"""The most bytes of an order."""
ROOM = 1 << 13
"""The bytes of a command line that `ps` shows of a fork."""


def title(words: list[str]) -> None:
    """Show this command line in `ps` and /proc, in the room that the present one takes."""
    stat = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
    begin, end = (int(each) for each in stat.rpartition(")")[2].split()[45:47])
    if begin and end > begin:
        text = b"".join(os.fsencode(word) + b"\0" for word in words)
        ctypes.memmove(begin, text[: end - begin - 1].ljust(end - begin, b"\0"), end - begin)


class Server:
    """Takes orders at a socket, and forks; tells at each fork's status pipe what becomes of it."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._lives: dict[int, int] = {}
        """The status pipe of each fork that has not ended."""
        self._woken, self._wakes = socket.socketpair()
        for each in (self._woken, self._wakes):
            each.setblocking(False)
        self._old = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        self._ready = selectors.DefaultSelector()
        self._ready.register(orders, selectors.EVENT_READ)
        self._ready.register(self._woken, selectors.EVENT_READ)

    def serve(self) -> bool:
        """Fork as ordered; return True in a fork, and False when the harness has gone."""
        while True:
            for key, _ in self._ready.select():
                if key.fileobj is self._woken:
                    self._woken.recv(4096)
                    self._reap()
                    continue
                order, ends, _, _ = socket.recv_fds(self._orders, ORDER, 4)
                if not order:
                    self._end()
                    return False
                if self._fork(order, ends):
                    return True

    def _fork(self, order: bytes, ends: list[int]) -> bool:
        *streams, status = ends
        try:
            pid = os.fork()
        except OSError as problem:
            os.write(status, ANSWER.pack(REFUSED, problem.errno or 0))
            os.close(status)
            pid = -1
        if pid == 0:
            self._become(json.loads(order), streams, status)
            return True
        for each in streams:
            os.close(each)
        if pid > 0:
            self._lives[pid] = status
        return False

    def _become(self, order: dict[str, object], streams: list[int], status: int) -> None:
        """Be a new process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._old)
        self._ready.close()
        for each in (self._orders, self._woken, self._wakes):
            each.close()
        for pipe in self._lives.values():
            os.close(pipe)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.setsid()
        command, environ = order["command"], order["environ"]
        assert isinstance(command, list)
        assert isinstance(environ, dict)
        os.environ.clear()
        os.environ.update(environ)
        title(command)
        sys.orig_argv[:] = command
        sys.argv[1:] = command[3:]
        # Only now: the harness may signal the group as soon as it knows of it.
        os.write(status, ANSWER.pack(BORN, os.getpid()))
        os.close(status)

    def _reap(self) -> None:
        while self._lives:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            pipe = self._lives.pop(pid)
            with suppress(BrokenPipeError):  # the harness has lost interest
                os.write(pipe, ANSWER.pack(ENDED, os.waitstatus_to_exitcode(ended)))
            os.close(pipe)

    def _end(self) -> None:
        """Let nothing outlive the harness; a stopped fork would not notice that it has gone."""
        for pid in self._lives:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in self._lives:
            os.waitpid(pid, 0)


def main() -> int:
    """Import the module named, say so, and serve; in a fork, be that module's process."""
    name, orders = sys.argv[1], socket.socket(fileno=int(sys.argv[2]))
    title([*sys.orig_argv[:3], name])
    with suppress(Exception):  # each fork meets it again, and tells it as its own
        import_module(name)
    # A collection in a fork would write to, and so copy, every page of what it shares.
    gc.collect()
    gc.freeze()
    os.write(1, b"!")
    if Server(orders).serve():
        module = import_module(name)
        sys.argv[0] = module.__file__ or ""
        code: int = module.main()
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
