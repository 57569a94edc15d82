"""One member's multicast stream as NAKACK keeps it: what is missing, waiting, and retained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from raincheck.impl.messages import Address, Payloads
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.timers import NEVER, Backoff
from raincheck.impl.wire.headers import DataHeader, Gaps

_MAX_GAPS = 32  # in one NAK; the rest is asked for by the next one
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Repairs of NAKACK that a test may undo; the names are those of `spec/Nakack.tla`."""

    announcing: bool = True
    vector: bool = True
    ask_holders: bool = True
    freezing: str = "gap"
    keep_departed: bool = True
    keep_undelivered: bool = True
    view_tag: bool = True


class Bundle(NamedTuple):
    """A multicast: its header, its contents, and the datagram to send again."""

    header: DataHeader
    payloads: Payloads
    raw: bytes


class Stream:
    """A stream of bundles 1, 2, 3 …: purged <= delivered <= arrived <= highest."""

    __slots__ = (
        "ack_at",
        "arrived",
        "asked",
        "buffer",
        "delivered",
        "frozen",
        "highest",
        "holder",
        "limit",
        "nak",
        "purged",
        "retained",
        "unacked",
        "unacked_bytes",
    )

    def __init__(self, nak: Backoff) -> None:
        self.purged = 0  # stable, and forgotten here
        self.delivered = 0  # passed up here
        self.arrived = 0  # here without a gap
        self.highest = 0  # the highest number heard of
        self.limit = _NO_LIMIT  # nothing beyond it is taken any more
        self.frozen = False
        self.holder: Address | None = None  # who has more of it than is here
        self.buffer: dict[int, Bundle] = {}  # not delivered yet
        self.retained: dict[int, bytes] = {}  # delivered, in order, and not purged
        self.nak = nak
        self.asked = False  # whom `whom` has named last: its first
        self.ack_at = NEVER
        self.unacked = 0
        self.unacked_bytes = 0

    def begin(self, at: int) -> None:
        """Read on after bundle `at`."""
        self.purged = self.delivered = self.arrived = self.highest = at

    def accept(self, bundle: Bundle) -> None:
        """Keep a bundle that has not arrived before."""
        seqno = bundle.header.seqno
        buffer = self.buffer
        buffer[seqno] = bundle
        self.highest = max(self.highest, seqno)
        while self.arrived + 1 in buffer:
            self.arrived += 1

    def heard(self, highest: int, now: float) -> None:
        """The stream goes up to `highest`: start or stop asking for what is missing."""
        self.highest = max(self.highest, highest)
        if self.highest > self.arrived:
            self.nak.start_if_idle(now)
        else:
            self.nak.stop()

    def next(self, view: int) -> Bundle | None:
        """Take out the next bundle, unless it belongs to a view that is not installed."""
        bundle = self.buffer.get(self.delivered + 1)
        if bundle is None or bundle.header.view > view:
            return None
        self.delivered += 1
        del self.buffer[self.delivered]
        self.retained[self.delivered] = bundle.raw
        return bundle

    def ready(self, view: int) -> bool:
        """Whether the next bundle is here and belongs to this view or an earlier one."""
        bundle = self.buffer.get(self.delivered + 1)
        return bundle is not None and bundle.header.view <= view

    def raw(self, seqno: int) -> bytes | None:
        """The datagram of a bundle that is kept here."""
        waiting = self.buffer.get(seqno)
        return waiting.raw if waiting is not None else self.retained.get(seqno)

    def kept(self, wanted: Gaps, most: int) -> Iterator[bytes]:
        """The datagrams of those bundles that are kept here, so many at most."""
        for low, high in wanted:
            for seqno in range(low, min(high, low + most) + 1):
                raw = self.raw(seqno)
                if raw is not None and most > 0:
                    most -= 1
                    yield raw

    def purge(self, stable: int, *, undelivered: bool = False) -> int:
        """Forget what is stable; return how many bytes that frees.

        What is not delivered here is kept, whatever is said: nobody else may have it any more.
        """
        freed = 0
        if undelivered:
            for seqno in [seqno for seqno in self.buffer if seqno <= stable]:
                freed += len(self.buffer.pop(seqno).raw)
        stable = min(stable, self.delivered)
        while self.purged < stable:
            self.purged += 1
            freed += len(self.retained.pop(self.purged, b""))
        return freed

    def whom(self, sender: Address) -> Address:
        """Whom to ask next: the sender and who has more of it in turn; a frozen one's is gone."""
        if self.holder is None:
            return sender
        self.asked = not self.asked
        return sender if self.asked and not self.frozen else self.holder

    def freeze(self, *, anyway: bool = False) -> None:
        """Take nothing more of it than what has arrived; `anyway` takes it all the same."""
        self.frozen = True
        if anyway:
            return
        self.limit = self.highest = self.arrived
        for seqno in [s for s in self.buffer if s > self.arrived]:
            del self.buffer[seqno]
        self.nak.stop()

    def owe_ack(self, config: StackConfig, now: float) -> None:
        """Something was delivered: acknowledge it, soon or at once."""
        if (
            4 * self.unacked >= config.multicast_window
            or 4 * self.unacked_bytes >= config.multicast_window_bytes
        ):
            self.ack_at = now
        elif self.ack_at == NEVER:
            self.ack_at = now + config.ack_delay

    def acknowledged(self) -> None:
        """An acknowledgement of it leaves now."""
        self.unacked = self.unacked_bytes = 0
        self.ack_at = NEVER

    def gaps(self) -> Gaps:
        """What is missing up to the highest number heard of."""
        gaps: list[tuple[int, int]] = []
        previous = self.arrived
        for seqno in sorted(s for s in self.buffer if s > previous):
            if seqno > previous + 1:
                gaps.append((previous + 1, seqno - 1))
            previous = seqno
        if self.highest > previous:
            gaps.append((previous + 1, self.highest))
        return tuple(gaps[:_MAX_GAPS])
