"""The file in which a member of a ring keeps its state, so that it can come back as the same one.

One file, replaced as a whole whenever the state has changed and before anything that depends on it
is sent. A member that came back with less than it had promised could make a second token; so a
file that is damaged, of another ring or in use by another process is refused, never ignored.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from raincheck.impl.errors import ConfigError, RaincheckError
from raincheck.impl.messages import Address
from raincheck.impl.ring_start.events import Founders, Stage

_PREFIX = struct.Struct(">4sBII")  # magic, version, CRC-32 and length of the content
_MAGIC = b"RNGS"
_VERSION = 3
_READ = (2, _VERSION)  # version 2 does not say what was lent


class _OtherVersion(ValueError):
    """The file is of another version of the format."""


class StateNotKept(RaincheckError):
    """The state file cannot be written: the member stops, as it could break a promise later."""


class Kept(NamedTuple):
    """The content of the file."""

    ring: str
    life: Address
    """Who this process is to others that start: another life for each memory of the name."""
    stage: Stage = "asking"
    """What it knows of a ring of this name; "left": it has given its place up."""
    founders: Founders = frozenset()
    """The founding that it has recorded, or the identity of the ring that it is in."""
    address: Address | None = None
    """Its address in the ring, if it has one."""
    state: bytes = b""
    """The node's encoded state, if it has one."""
    lent: float | None = None
    """For how many seconds after its end clients may believe that they have locks by this life; 0
    if none has any, None if nobody knows."""


class StateFile:
    """One member's file, locked as long as it is open."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        """Open and lock it; with `sync` a machine that loses its power loses nothing of it.

        Raises ConfigError when another process has it, or when it cannot be written there.
        """
        self.path = path
        self._sync = sync
        # The process may go to another folder; and a link is not replaced, but what it leads to.
        self._real = Path(os.path.realpath(path))
        self._next = self._real.with_name(f"{self._real.name}.next")
        self._lock = -1
        lock = self._real.with_name(f"{self._real.name}.lock")
        try:
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for there in (self._real, self._next):
                # Opening a pipe would wait for ever, and stop the whole loop.
                if there.exists() and not (there.is_file() or there.is_dir()):
                    self.close()
                    raise ConfigError(
                        f"state file {path} cannot be used: {there} is no file, but a pipe or a "
                        f"device; name a file, which may not be there yet"
                    )
        except BlockingIOError:
            self.close()
            raise ConfigError(
                f"state file {path} is in use by another member; give each one a file of its own"
            ) from None
        except OSError as problem:
            self.close()
            raise ConfigError(
                f"state file {path} cannot be opened: {problem.strerror}; "
                f"name a file in a folder that can be written to"
            ) from None

    def load(self, ring: str, name: str | None) -> Kept | None:
        """Return the content, or None if there is no file yet.

        Raises ConfigError when it is damaged, or another ring's or another member's.
        """
        try:
            kept = _read(self._real.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise ConfigError(
                f"state file {self.path} cannot be read: {problem.strerror}; name a file that can "
                f"be read and written"
            ) from None
        except _OtherVersion as problem:
            raise ConfigError(
                f"state file {self.path} is {problem}: start this member with the release that "
                f"has written it; or remove the file, and it comes as a new life"
            ) from None
        except (ValueError, msgspec.MsgspecError) as problem:
            raise ConfigError(
                f"state file {self.path} is damaged ({problem}); the member cannot come back as "
                f"the one it was: remove the file, and it comes as a new life"
            ) from None
        if kept.ring != ring:
            raise ConfigError(
                f"state file {self.path} belongs to ring {kept.ring!r}, not to {ring!r}; "
                f"give each ring a file of its own"
            )
        if name is not None and kept.life.node != name:
            raise ConfigError(
                f"state file {self.path} belongs to member {kept.life.node!r}, not to {name!r}; "
                f"give each member a file of its own"
            )
        return kept

    def save(self, kept: Kept) -> None:
        """Replace the content atomically.

        Raises StateNotKept.
        """
        try:
            self._write(msgspec.msgpack.encode(kept))
        except OSError as problem:
            raise StateNotKept(
                f"state file {self.path} cannot be written: {problem.strerror or problem}"
            ) from None

    def _write(self, body: bytes) -> None:
        with self._next.open("wb") as file:
            file.write(_PREFIX.pack(_MAGIC, _VERSION, zlib.crc32(body), len(body)))
            file.write(body)
            if self._sync:
                file.flush()
                os.fsync(file.fileno())
        self._next.replace(self._real)
        if self._sync:
            folder = os.open(self._real.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def close(self) -> None:
        """Unlock the file; it stays."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _read(data: bytes) -> Kept:
    if len(data) < _PREFIX.size:
        raise ValueError(f"it has {len(data)} bytes")
    magic, version, crc, length = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {data[:4]!r}")
    if version not in _READ:
        raise _OtherVersion(f"of version {version} of the format, not of {_VERSION}")
    body = data[_PREFIX.size :]
    if len(body) != length:
        raise ValueError(f"it has {len(body)} of {length} bytes")
    if zlib.crc32(body) != crc:
        raise ValueError("its checksum does not match")
    return msgspec.msgpack.decode(body, type=Kept)
