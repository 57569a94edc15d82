"""The streams that one member reads: when to ask for what is missing, and to acknowledge.

A stream's pauses between two questions grow while nothing of it arrives. Sender and holder of what
is missing are asked in turn.
"""

from __future__ import annotations

from raincheck.impl.messages import Address, View
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.events import Acknowledge, Alive, Ask, Nak
from raincheck.impl.wire import headers

from .config import StackConfig
from .outbox import Outbox
from .timers import NEVER, Backoff


def header_of(core: Nakack, sign: Alive) -> headers.Alive:
    """Return the datagram that a sign of life is."""
    return headers.Alive(core.me, core.view, sign.highest, sign.asking, sign.delivered)


class Reading:
    """The time of one stream that is read: when to ask, and when to acknowledge."""

    __slots__ = ("ack_at", "asked", "nak", "unacked", "unacked_bytes")

    def __init__(self, nak: Backoff) -> None:
        self.nak = nak
        self.asked = False  # its sender was asked last, not another holder
        self.ack_at = NEVER
        self.unacked = 0
        self.unacked_bytes = 0


class Readings:
    """All streams that are read."""

    def __init__(self, core: Nakack, config: StackConfig, outbox: Outbox) -> None:
        self._core = core
        self._config = config
        self._outbox = outbox
        self._of: dict[Address, Reading] = {}

    def __contains__(self, source: Address) -> bool:
        return source in self._of

    def install(self, view: View) -> None:
        """Read the streams of the others in the view; those of joiners begin."""
        known, pauses = self._of, (self._config.nak_delay, self._config.retransmit_max)
        self._of = {
            member: Reading(Backoff(*pauses))
            if member in view.joiners or member not in known
            else known[member]
            for member in self._core.others
        }

    def look(self, source: Address, now: float) -> None:
        """Begin to ask for what is missing of a stream, or stop."""
        stream = self._core.stream[source]
        if stream.heard > stream.arrived:
            self._of[source].nak.start_if_idle(now)
        else:
            self._of[source].nak.stop()

    def stop_asking(self, source: Address) -> None:
        """Do not ask any more; `look` may begin anew."""
        self._of[source].nak.stop()

    def acknowledge_soon(self, source: Address, now: float) -> None:
        """Somebody asks to be acknowledged."""
        self._of[source].ack_at = now

    def delivered(self, source: Address, size: int) -> None:
        """A bundle of so many bytes was passed up: it is to be acknowledged."""
        reading = self._of.get(source)
        if reading is not None:
            reading.unacked += 1
            reading.unacked_bytes += size

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        """When something is due."""
        due = NEVER
        for reading in self._of.values():
            due = min(due, reading.nak.due, reading.ack_at)
        return due

    def ask_where_due(self, now: float) -> None:
        """Ask for what has been missing for long enough."""
        for source, reading in self._of.items():
            if reading.nak.due <= now:
                self.ask(source, now)

    def ask(self, source: Address, now: float) -> None:
        """Ask for what is missing of a stream: its sender, and who has more of it, in turn."""
        core, reading = self._core, self._of[source]
        stream, to = core.stream[source], source
        if not stream.gaps():
            reading.nak.stop()
            return
        if stream.holder is not None and core.repairs.ask_holders:
            reading.asked = not reading.asked
            to = source if reading.asked and not stream.frozen else stream.holder
        for effect in core.handle(Ask(source, to)):
            assert isinstance(effect, Nak)
            self._outbox.send_header(headers.Nak(core.me, source, effect.missing), to)
        self._outbox.counters["naks"] += 1
        reading.nak.again(now)

    def acknowledge(self, now: float) -> None:
        """All that could be delivered was: send the acknowledgements that are due."""
        config = self._config
        for source, reading in self._of.items():
            if reading.unacked:
                if (
                    4 * reading.unacked >= config.multicast_window
                    or 4 * reading.unacked_bytes >= config.multicast_window_bytes
                ):
                    reading.ack_at = now
                elif reading.ack_at == NEVER:
                    reading.ack_at = now + config.ack_delay
            if reading.ack_at <= now:
                reading.unacked = reading.unacked_bytes = 0
                reading.ack_at = NEVER
                for effect in self._core.handle(Acknowledge(source)):
                    assert isinstance(effect, Alive)
                    self._outbox.send_header(header_of(self._core, effect), source)
