"""The values that members exchange: addresses, views, runs of messages and their payloads.

Law of this file: everything is immutable, and nothing costs Python work per message but
`Payloads.pack` (of what the application sent) and `Payloads.unpack` (of what it is given).
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise, repeat
from operator import add
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta, Struct

Count: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 60)]
"""A non-negative number on the wire."""
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
"""The name of a node."""

Endpoint: TypeAlias = tuple[str, int]
"""The address of a member's transport: (IP address, port)."""


def shown(endpoint: Endpoint) -> str:
    """Return an endpoint as people write it: 10.0.0.5:7001, [2001:db8::5]:7001."""
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Address(NamedTuple):
    """A process: a node's name and incarnation."""

    node: Name
    incarnation: Count

    def __str__(self) -> str:
        return f"{self.node}.{self.incarnation}"


class ViewId(NamedTuple):
    """A view's place in the sequence of views, and the coordinator that installed it."""

    counter: Count
    coordinator: Address


class View(NamedTuple):
    """A membership: the members, oldest first, and those of them that joined with it."""

    id: ViewId
    members: tuple[Address, ...]
    joiners: tuple[Address, ...] = ()

    @property
    def coordinator(self) -> Address:
        """The member that sequences the messages of this view: the first one."""
        return self.members[0]

    def __str__(self) -> str:
        return f"view {self.id.counter} [{' '.join(map(str, self.members))}]"


class MergeView(View):
    """A view in which groups that had gone on apart are one again; nobody is new in it.

    It is equal to a View with the same id and members.
    """

    subgroups: tuple[View, ...]
    """The last view of each group, with those who were there, in the order of coordinators."""
    prevailing: View
    """That one of them whose state counts: it had the latest primary view, or is the largest."""

    @classmethod
    def of(cls, view: View, subgroups: tuple[View, ...], prevailing: View) -> MergeView:
        """Return the merged view."""
        made = cls(view.id, view.members)
        made.subgroups, made.prevailing = subgroups, prevailing
        return made


UNORDERED = -1
"""In the place of a seqno: a message to all without a place in the order of all."""


class Run(NamedTuple):
    """Messages `first` .. `first + size - 1` of one sender.

    Unicasts have no numbers, and `first` is 0; of unordered messages it is `UNORDERED`.
    """

    sender: Address
    first: int
    size: int

    @property
    def last(self) -> int:
        """The seqno of the last message."""
        return self.first + self.size - 1


Table: TypeAlias = tuple[tuple[Address, Count], ...]
"""The highest seqno delivered per sender, sorted."""


class Digest(NamedTuple):
    """The highest delivered place in each member's multicast stream; a joiner reads on at + 1."""

    entries: Table = ()

    def highest(self, sender: Address) -> int:
        """Return the entry of that sender, 0 where there is none."""
        return next((place for who, place in self.entries if who == sender), 0)


class Message(Struct, frozen=True, gc=False):
    """One delivered message. `view` is the counter of the view it was delivered in.

    A struct rather than a named tuple, because making one costs a tenth.
    """

    sender: Address
    seqno: int
    """Its number among the sender's messages in the order of all; 0 for a unicast, -1 for a message
    to all without order."""
    view: int
    payload: bytes

    @property
    def unicast(self) -> bool:
        """Whether it was sent to this member alone, and so has no place in the order of all."""
        return not self.seqno

    @property
    def unordered(self) -> bool:
        """Whether it was sent to all, without a place in the order of all."""
        return self.seqno == UNORDERED


_BIG_ENDIAN = sys.byteorder == "big"
_FEW = 8


@lru_cache(maxsize=32)
def _cuts(length: int, count: int) -> struct.Struct:
    """Return a struct that cuts equal payloads out of an area, three times as fast as slicing."""
    return struct.Struct(f"{length}s" * count)


class Frame(bytes):
    """A content that is not for the application as it is: a layer above SEQUENCER made it."""


_FRAME = 1 << 31
"""Set in the length of a frame; no content is as long as that."""


class Payloads:
    """The contents of a run: `count` u32 lengths (little endian), then the bytes, end to end.

    The highest bit of a length says that the content is a `Frame`.

    It keeps the datagram that it came in and where it stands there, so relaying copies nothing
    that it need not, and single messages are not touched before the application asks for them.
    """

    __slots__ = ("_crc", "_even", "_frames", "_lengths", "count", "data", "start", "stop")

    def __init__(self, data: bytes, start: int, stop: int, count: int) -> None:
        """Read an area out of a datagram; raises ValueError if the lengths do not add up."""
        blob = start + 4 * count
        if blob > stop:
            raise ValueError(f"{count} lengths do not fit into {stop - start} bytes")
        area = data[start:blob]
        lengths = array("I")
        lengths.frombytes(area)
        if _BIG_ENDIAN:
            lengths.byteswap()
        even = area == area[:4] * count  # the usual case, quickly detected and unpacked
        total = lengths[0] * count if even and count else sum(lengths)
        frames: frozenset[int] = frozenset()
        if total != stop - blob:
            frames = frozenset(at for at, length in enumerate(lengths) if length & _FRAME)
            total -= _FRAME * len(frames)
            if total != stop - blob:
                raise ValueError(f"the lengths add up to {total}, not to {stop - blob}")
            lengths = array("I", [length & ~_FRAME for length in lengths])
        self.data = data
        self.start = start
        self.stop = stop
        self.count = count
        self._lengths = lengths
        self._frames = frames
        self._even = even and not frames
        self._crc: int | None = None

    @classmethod
    def pack(cls, payloads: Sequence[bytes], *, framed: bool = False) -> Payloads:
        """Make the area of these payloads; `framed`: there may be frames among them."""
        made = cls.__new__(cls)
        made._lengths = lengths = array("I", map(len, payloads))
        made._frames = frozenset()
        if framed:
            made._frames = frozenset(at for at, each in enumerate(payloads) if type(each) is Frame)
            marks = [_FRAME * (at in made._frames) for at in range(len(payloads))]
            lengths = array("I", map(add, lengths, marks))
        if _BIG_ENDIAN:
            lengths = array("I", lengths)
            lengths.byteswap()
        made.data = b"".join((lengths.tobytes(), *payloads))
        made.start = 0
        made.stop = len(made.data)
        made.count = len(payloads)
        made._even = False
        made._crc = None
        return made

    @classmethod
    def joined(cls, parts: Sequence[bytes], *, framed: bool = False) -> Payloads:
        """Make the area of one payload, given in parts; `framed`: it is a frame.

        It may be large, and is hardly ever sent on: so its length is not written in front of it
        unless the area is asked for, and who unpacks it has it without another copy.
        """
        made = cls.pack((b"",))
        made.data = b"".join(parts)
        made.start, made.stop = -4, len(made.data)
        made._lengths[0] = made.stop
        made._frames = frozenset({0} if framed else ())
        return made

    @property
    def size(self) -> int:
        """Bytes of the whole area."""
        return self.stop - self.start

    def area(self) -> memoryview:
        """The area as it stands on the wire."""
        if self.start < 0:  # `joined`
            length = self._lengths[0] + _FRAME * self.framed
            return memoryview(length.to_bytes(4, "little") + self.data)
        return memoryview(self.data)[self.start : self.stop]

    @property
    def framed(self) -> bool:
        """Whether there are frames among the payloads."""
        return bool(self._frames)

    def unpack(self) -> list[bytes]:
        """Return the payloads one by one; those that are frames as `Frame`."""
        data = self.data
        if self._even and self.count >= _FEW:
            cut = _cuts(self._lengths[0], self.count)
            return list(cut.unpack_from(data, self.start + 4 * self.count))
        ends = accumulate(self._lengths, initial=self.start + 4 * self.count)
        found = [data[begin:end] for begin, end in pairwise(ends)]
        for at in self._frames:
            found[at] = Frame(found[at])
        return found

    def part(self, skip: int, count: int) -> Payloads:
        """Return `count` payloads after the first `skip` ones."""
        if skip == 0 and count == self.count:
            return self
        return Payloads.pack(self.unpack()[skip : skip + count], framed=self.framed)

    def crc(self) -> int:
        """CRC-32 of the payload bytes, one after the other; computed once."""
        crc = self._crc
        if crc is None:
            blob = memoryview(self.data)[self.start + 4 * self.count : self.stop]
            crc = self._crc = zlib.crc32(blob)
        return crc

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Payloads):
            return NotImplemented
        return self.count == other.count and self.area() == other.area()

    def __hash__(self) -> int:
        return hash((self.count, self.crc()))

    def __repr__(self) -> str:
        return f"<{self.count} payloads, {self.size} bytes>"


class Batch:
    """A run of delivered messages of one sender; `first` is 0 if they are unicasts.

    Iterating makes a `Message` of each; `payloads` is the cheaper way where only those matter.
    """

    def __init__(self, run: Run, view: int, payloads: Payloads) -> None:
        self.sender = run.sender
        self.first = run.first
        self.count = run.size
        self.view = view
        self._payloads = payloads

    @cached_property
    def payloads(self) -> list[bytes]:
        """The contents of the messages, sliced when first asked for."""
        return self._payloads.unpack()

    @property
    def size(self) -> int:
        """About how many bytes the batch holds."""
        return self._payloads.size

    @property
    def unicast(self) -> bool:
        """Whether the messages were sent to this member alone."""
        return not self.first

    @property
    def unordered(self) -> bool:
        """Whether the messages were sent to all, without places in the order of all."""
        return self.first == UNORDERED

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Message]:
        first = self.first
        seqnos = range(first, first + self.count) if first > 0 else repeat(first)
        return map(Message, repeat(self.sender), seqnos, repeat(self.view), self.payloads)

    def __repr__(self) -> str:
        if self.unicast:
            return f"<Batch {self.sender}, {self.count} unicasts, in view {self.view}>"
        if self.unordered:
            return f"<Batch {self.sender}, {self.count} unordered, in view {self.view}>"
        last = self.first + self.count - 1
        return f"<Batch {self.sender} {self.first}..{last} in view {self.view}>"
