"""The messages to NAKACK's outbox, noted as the model's datagrams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.recording.core import DATAGRAM, Parcel
from raincheck.impl.recording.sequencer import Record
from raincheck.impl.stack.timers import Outbox
from raincheck.impl.wire.headers import Alive, DataHeader, Nak

_MOST = 4096  # of the gaps in a NAK: one that asks for more than any window holds


class Noting(Outbox):
    """An outbox that notes what passes through it to another one."""

    def __init__(self, inner: Outbox) -> None:
        self._inner = inner
        self.codec, self.endpoints, self.counters = inner.codec, inner.endpoints, inner.counters
        self.noted: list[Parcel] = []

    def send(self, data: bytes, to: Address) -> None:
        """Note what the bytes contain: they are what leaves."""
        self._note(self.codec.decode(data).header, [to])
        self._inner.send(data, to)

    def send_header(self, header: Any, to: Address) -> None:
        """Note the header."""
        self._note(header, [to])
        self._inner.send_header(header, to)

    def multicast(self, data: bytes, to: Iterable[Address]) -> None:
        """Note what the bytes contain, once for each receiver."""
        to = list(to)
        self._note(self.codec.decode(data).header, sorted(to))
        self._inner.multicast(data, to)

    def send_to(self, header: Any, endpoint: Endpoint) -> None:
        """Do not note it: the caller notes the receiver."""
        self._inner.send_to(header, endpoint)

    def _note(self, header: Any, to: list[Address]) -> None:
        self.noted += [made for each in to if (made := parcel_of(header, each)) is not None]


def parcel_of(header: Any, to: Address) -> Parcel | None:
    """Return the model's form of a datagram; None if it is not NAKACK's."""
    content: Record
    if isinstance(header, DataHeader):
        content = {"source": list(header.source), "seqno": header.seqno, "view": header.view}
        return Parcel("Data", to, content, DATAGRAM)
    if isinstance(header, Alive):
        delivered = header.delivered.highest(to)
        content = {"highest": header.highest, "asking": header.asking, "delivered": delivered}
        return Parcel("Alive", to, content, DATAGRAM)
    if isinstance(header, Nak):
        missing = [
            k for low, high in header.missing for k in range(low, min(high, low + _MOST) + 1)
        ]
        return Parcel("Nak", to, {"source": list(header.sender), "missing": missing}, DATAGRAM)
    return None
