"""Records of traces that are sent to a reader at a socket, beside or instead of files.

The member is never kept waiting: what its socket does not take stays in a buffer, and what does not
fit into that is lost, counted, and seen by every reader, since its indices are missing. A reader
that is gone is called again now and then, and begins with the header.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeAlias

import msgspec

from raincheck.impl.messages import Address

from .writer import BUFFER, Record, TraceWriter

ROOM: Final = 4 << 20
"""Bytes of records that wait for the reader before records are lost."""
AGAIN: Final = 1.0
"""Seconds between two attempts to reach the reader."""
LINGER: Final = 0.2
"""Seconds that the end of a trace may take where the reader is slow."""
LONGEST: Final = 107
"""Bytes that the path of a Unix socket may have."""
_AT_ONCE: Final = 1 << 18
_WAITS: Final = frozenset({errno.EINPROGRESS, errno.EALREADY, errno.EAGAIN, errno.EWOULDBLOCK})


class Place(NamedTuple):
    """A reader's socket: `host` and `port`, or the `path` of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        """Return it as it is written in settings."""
        if self.path:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp:{host}:{self.port}"

    @property
    def family(self) -> socket.AddressFamily:
        """The kind of its socket."""
        if self.path:
            return socket.AF_UNIX
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    @property
    def address(self) -> str | tuple[str, int]:
        """The address, as sockets take it."""
        return self.path or (self.host, self.port)


def place_of(text: str) -> Place | None:
    """Return the socket that a text such as `tcp:127.0.0.1:7400` or `unix:/run/trace` names.

    None if it names none, and so a folder. Raises ValueError for one that cannot be.
    """
    kind, _, rest = text.partition(":")
    if kind == "unix":
        if not rest:
            raise ValueError(f"{text!r} lacks the path of the socket")
        if len(os.fsencode(rest)) > LONGEST:
            raise ValueError(f"{text!r} has a path of more than {LONGEST} bytes")
        return Place(path=rest)
    if kind != "tcp":
        return None
    host, _, port = rest.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        # A name would have to be looked up, which takes its time.
        ip_address(host)
        number = int(port)
    except ValueError:
        raise ValueError(f"{text!r} is not tcp:ADDRESS:PORT, with an IP address") from None
    if not 0 <= number < 1 << 16:
        raise ValueError(f"{text!r} has no port that can be")
    return Place(host, number)


def reader_at(text: str) -> Place | None:
    """Return the socket that a text names, for who calls a reader there; the rest as `place_of`.

    Port 0 is for who listens: nobody can be called there.
    """
    place = place_of(text)
    if place is not None and place.host and not place.port:
        raise ValueError(f"{text!r} has port 0; name the port at which the reader listens")
    return place


class TraceSender:
    """Sends the records of one life of a node, as `TraceWriter` writes them.

    The first one, which is the header, comes first again where the reader is called again.
    """

    def __init__(
        self,
        place: Place,
        *,
        room: int = ROOM,
        problem: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`problem` is told in one sentence when the reader is gone, or slow."""
        self.place = place
        self.lost = 0
        """Records that were not sent; of what was, a reader that went away may have read less."""
        self._room, self._problem, self._clock = room, problem, clock
        self._encode = msgspec.json.Encoder().encode
        self._header = b""
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._rest = b""
        """What the socket has not taken of lines that are under way."""
        self._socket: socket.socket | None = None
        self._connected = self._greeting = False
        self._next = 0.0
        self._told = False

    def __call__(self, record: Record) -> None:
        """Send the record soon, or count it as lost."""
        line = self._encode(record) + b"\n"
        if not self._header:
            self._header = line
            return
        # A footer is short, and says how much there was.
        if self._bytes + len(line) > self._room and record.get("kind") != "footer":
            self.lost += 1
            self._tell(f"{self.place} takes the trace too slowly: records are lost")
            return
        self._lines.append(line)
        self._bytes += len(line)

    @property
    def pending(self) -> bool:
        """Whether there is something to send."""
        return bool(self._lines or self._rest or (self._header and not self._connected))

    def flush(self) -> None:
        """Give the socket what it takes now."""
        try:
            if self._socket is None and not self._call():
                return
            while self._fill():
                assert self._socket is not None
                self._rest = self._rest[self._socket.send(self._rest) :]
        except BlockingIOError:
            return
        except OSError as error:
            self._gone(error)

    def close(self) -> None:
        """Give it what is left, as far as it takes that in a moment, and close."""
        until = self._clock() + LINGER
        self._next = 0.0
        self.flush()
        while self.pending and self._socket is not None and (left := until - self._clock()) > 0:
            select.select([], [self._socket], [], left)
            self.flush()
        self.lost += len(self._lines) + (0 if self._greeting else self._rest.count(b"\n"))
        self._lines.clear()
        self._rest, self._bytes, self._header = b"", 0, b""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _call(self) -> bool:
        """Call the reader, if it is time; return whether there is a socket."""
        now = self._clock()
        if now < self._next or not self._header:
            return False
        self._next = now + AGAIN
        self._socket = socket.socket(self.place.family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        code = self._socket.connect_ex(self.place.address)
        if code and code not in _WAITS:
            raise OSError(code, errno.errorcode.get(code, "cannot be reached"))
        return True

    def _fill(self) -> bool:
        """Have something under way; return whether there is anything to send."""
        if not self._connected:
            assert self._socket is not None
            _, ready, _ = select.select([], [self._socket], [], 0)
            if not ready:
                return False
            if code := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, errno.errorcode.get(code, "cannot be reached"))
            self._connected, self._rest, self._told = True, self._header, False
            self._greeting = True
        if not self._rest:
            self._greeting = False
            taken: list[bytes] = []
            size = 0
            while self._lines and size < _AT_ONCE:
                taken.append(self._lines.popleft())
                size += len(taken[-1])
            self._bytes -= size
            self._rest = b"".join(taken)
        return bool(self._rest)

    def _gone(self, error: OSError) -> None:
        """Note that the reader is gone, and with it what was under way."""
        self._tell(
            f"the trace cannot be sent to {self.place} ({error.strerror or error}); "
            f"the member goes on without it"
        )
        if not self._greeting:
            self.lost += self._rest.count(b"\n")
        self._rest, self._connected, self._greeting = b"", False, False
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None

    def _tell(self, sentence: str) -> None:
        if not self._told:
            self._told = True
            self._problem(sentence)


class Both:
    """Writes records to a file and sends them to a reader; what waits for the socket is not lost
    before the file has it.
    """

    def __init__(self, file: TraceWriter, sender: TraceSender) -> None:
        self.file, self.sender = file, sender

    def __call__(self, record: Record) -> None:
        """Take a record."""
        self.file(record)
        self.sender(record)

    @property
    def lost(self) -> int:
        """Records that were not written, and that were not sent."""
        return self.file.lost + self.sender.lost

    @property
    def pending(self) -> bool:
        """Whether one of them has something left."""
        return self.file.pending or self.sender.pending

    def flush(self) -> None:
        """Write, then send."""
        self.file.flush()
        self.sender.flush()

    def close(self) -> None:
        """End both."""
        self.file.close()
        self.sender.close()


Writer: TypeAlias = TraceWriter | TraceSender | Both
"""Takes the records of one life of a node."""


def writer_to(
    trace: str | Path,
    run: str,
    me: Address,
    *,
    problem: Callable[[str], None],
    protocol: str = "",
    buffer: int = BUFFER,
    beside: str = "",
    open_file: Callable[[Path], IO[bytes]] | None = None,
) -> Writer:
    """Return what writes a trace into this folder, or sends it to the reader's socket that is named
    in the folder's place.

    `beside` names a socket to which a folder's trace is sent as well: what it does not take is
    counted, and told to nobody. The rest is `TraceWriter`'s. Raises ValueError for a socket that
    cannot be.
    """
    if (place := place_of(str(trace))) is not None:
        return TraceSender(place, problem=problem)
    file = TraceWriter(
        Path(trace), run, me, buffer=buffer, problem=problem, open_file=open_file, protocol=protocol
    )
    reader = place_of(beside)
    return file if reader is None else Both(file, TraceSender(reader))
