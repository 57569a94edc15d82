"""Traces that recorders send to a socket, written to files as they come.

Each connection has the records of one life of a node, in one protocol, and begins with its header.
A life that connects again goes on in its file; what was lost between is missing there. So whatever
is said of the run can be repeated with the files.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final

import msgspec

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.events import Absent, Crash
from raincheck.conformance.trace.run import FIRST, First
from raincheck.conformance.trace.tracefile import MAX_LINE
from raincheck.impl.recording.sending import Place

TURN: Final = 0.1
"""Seconds between two looks whether it is to end."""
PIECE: Final = 1 << 18


class _Connection:
    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.carry = b""
        self.file: IO[bytes] | None = None
        self.key: Any = None


class Receiver:
    """Listens at some sockets, and writes what comes into files of a folder."""

    def __init__(self, places: list[Place], folder: Path, problem: Callable[[str], None]) -> None:
        """`problem` is told in a sentence, in another thread, what no trace can be made of."""
        self.folder = folder
        self._problem = problem
        self._selector = selectors.DefaultSelector()
        self._headers: dict[Any, tuple[bytes, Path]] = {}
        self._of: dict[Any, socket.socket] = {}
        self._ends = False
        folder.mkdir(parents=True, exist_ok=True)
        self._go_on()
        self.places: list[Place] = []
        try:
            for place in places:
                self.places.append(self._listen(place))
        except UsageError:
            self._end()  # of those that had it listens at none
            raise
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what has come, and listen no more."""
        self._ends = True
        self._thread.join()
        self._unlink()

    def _unlink(self) -> None:
        """Remove the Unix sockets at which it has listened."""
        for place in self.places:
            if place.path:
                with suppress(OSError):
                    Path(place.path).unlink()

    def _end(self) -> None:
        """Close all listeners, of which none has been heard."""
        for each in list(self._selector.get_map().values()):
            assert isinstance(each.fileobj, socket.socket)
            each.fileobj.close()
        self._selector.close()
        self._unlink()

    def _go_on(self) -> None:
        """Go on with the files of a reader that has ended: lives that connect again are in them."""
        for path in sorted(self.folder.glob("*.jsonl")):
            with path.open("rb+") as file:
                head = file.readline(MAX_LINE)
                if (key := self._key_of(head)) is not None:
                    self._headers[key] = head, path
                if (
                    file.seek(0, os.SEEK_END)
                    and file.seek(-1, os.SEEK_END)
                    and file.read() != b"\n"
                ):
                    file.write(b"\n")  # a line that was not written to its end is nobody's

    def _key_of(self, head: bytes) -> tuple[Any, ...] | None:
        """Return whose trace begins like that; None if it is no trace's beginning."""
        try:
            record = FIRST.decode(head)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if isinstance(record, First):
            who = (str(record.node), str(record.incarnation), record.protocol)
            return (type(record), record.run, *who)
        if isinstance(record, Crash | Absent):
            return (type(record), record.run, "faults", str(len(self._headers)))
        return None

    def _listen(self, place: Place) -> Place:
        """Listen at that place, and return where that is: port 0 is any that is free."""
        listener = socket.socket(place.family, socket.SOCK_STREAM)
        try:
            if place.host:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            elif _left_behind(place):
                Path(place.path).unlink()
            listener.bind(place.address)
            listener.listen(128)
        except OSError as error:
            listener.close()
            reason = error.strerror or str(error)
            if place.path and Path(place.path).exists() and not Path(place.path).is_socket():
                reason = "something that is no socket is there"
            raise UsageError(f"Nobody can listen at {place} ({reason}): name another.") from error
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        return place._replace(port=listener.getsockname()[1]) if place.host else place

    def _run(self) -> None:
        ends = False
        while not ends:
            ends = self._ends  # a last turn takes what has come
            for key, _ in self._selector.select(0 if ends else TURN):
                of = key.fileobj
                assert isinstance(of, socket.socket)
                if of.fileno() < 0:
                    continue  # its life has connected again meanwhile
                if key.data is None:
                    self._accept(of)
                else:
                    self._read(of, key.data, to_end=ends)
        for each in list(self._selector.get_map().values()):
            assert isinstance(each.fileobj, socket.socket)
            if each.data is not None:
                self._read(each.fileobj, each.data, to_end=True)
                if each.fileobj.fileno() >= 0:
                    self._close(each.fileobj, each.data)
            else:
                each.fileobj.close()
        self._selector.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # among them that there is none any more
            while True:
                made, peer = listener.accept()
                made.setblocking(False)
                self._selector.register(made, selectors.EVENT_READ, _Connection(str(peer or "?")))

    def _read(self, of: socket.socket, connection: _Connection, *, to_end: bool = False) -> None:
        try:
            while piece := of.recv(PIECE):
                self._take(connection, of, piece)
                if not to_end or of.fileno() < 0:
                    return
        except BlockingIOError:
            return
        except OSError as error:
            # Half a line is nobody's record: its index will be missing.
            self._problem(f"a trace from {connection.peer} has broken off ({error})")
        if of.fileno() >= 0:
            self._close(of, connection)

    def _take(self, connection: _Connection, of: socket.socket, piece: bytes) -> None:
        lines, newline, rest = (connection.carry + piece).rpartition(b"\n")
        connection.carry = rest
        lines += newline
        if lines and connection.file is None:
            head, _, lines = lines.partition(b"\n")
            if not self._begin(connection, of, head + b"\n"):
                self._refuse(of, connection, "it does not begin with the header of a trace")
                return
        if lines and connection.file is not None:
            connection.file.write(lines)
        if len(rest) > MAX_LINE:
            self._refuse(of, connection, f"a line is longer than {MAX_LINE} bytes")

    def _begin(self, connection: _Connection, of: socket.socket, head: bytes) -> bool:
        """Find the file of this header; return whether it is one."""
        key = self._key_of(head)
        if key is None:
            return False
        _, *parts = key
        known = self._headers.get(key)
        again = known is not None and known[0] == head
        if known is not None and again:
            path = known[1]
        else:
            # Two names that look alike here are two files all the same.
            name = "".join(c if c.isalnum() or c in "-_." else "_" for c in ".".join(parts))
            path = self.folder / f"{len(self._headers):04}.{name}.jsonl"
            self._headers[key if known is None else (*key, path)] = head, path
        if (before := self._of.get(key)) is not None and again:
            earlier = self._selector.get_key(before).data
            self._read(before, earlier, to_end=True)
            if before.fileno() >= 0:
                self._close(before, earlier)
        self._of[key], connection.key = of, key
        connection.file = path.open("ab", buffering=0)
        if not again:
            connection.file.write(head)
        return True

    def _refuse(self, of: socket.socket, connection: _Connection, why: str) -> None:
        self._problem(f"what comes from {connection.peer} is not read: {why}")
        self._close(of, connection)

    def _close(self, of: socket.socket, connection: _Connection) -> None:
        if self._of.get(connection.key) is of:
            del self._of[connection.key]
        self._selector.unregister(of)
        of.close()
        if connection.file is not None:
            connection.file.close()
            connection.file = None


def _left_behind(place: Place) -> bool:
    """Tell whether a reader that was killed has left its Unix socket there."""
    if not Path(place.path).is_socket():
        return False  # connecting to another kind of file is refused as well
    with socket.socket(place.family, socket.SOCK_STREAM) as caller:
        caller.setblocking(False)
        return caller.connect_ex(place.address) == errno.ECONNREFUSED
