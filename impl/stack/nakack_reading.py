"""The streams that one member reads: when to ask for what is missing, and to acknowledge.

A stream's pauses between two questions grow while nothing of it arrives. Sender and holder of what
is missing are asked in turn.
"""

from __future__ import annotations

from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.events import Acknowledge, Alive, Ask, Nak
from raincheck.impl.wire import headers

from .layer import Ground
from .timers import NEVER, Backoff


def header_of(core: Nakack, view: ViewId, sign: Alive) -> headers.Alive:
    """Return the header of a sign of life in that view."""
    return headers.Alive(core.me, view, sign.highest, sign.asking, sign.delivered)


class Reading:
    """The timers of one stream: when to ask, and when to acknowledge."""

    __slots__ = ("ack_at", "asked", "nak", "unacked", "unacked_bytes")

    def __init__(self, nak: Backoff) -> None:
        self.nak = nak
        self.asked = False  # whether the last NAK went to the source, not to another holder
        self.ack_at = NEVER
        self.unacked = 0
        self.unacked_bytes = 0


class Readings:
    """The timers of all streams that this member reads."""

    def __init__(self, core: Nakack, ground: Ground) -> None:
        self._core = core
        self._config = ground.config
        self._outbox = ground.outbox
        self._lineage = ground.lineage
        self._of: dict[Address, Reading] = {}

    def __contains__(self, source: Address) -> bool:
        return source in self._of

    def install(self, view: View) -> None:
        """Read the streams of the others in the view; start anew for joiners."""
        known, pauses = self._of, (self._config.nak_delay, self._config.retransmit_max)
        self._of = {
            member: Reading(Backoff(*pauses))
            if member in view.joiners or member not in known
            else known[member]
            for member in self._core.others
        }

    def look(self, source: Address, now: float) -> None:
        """Start to ask for what is missing of a stream, or stop if nothing is."""
        stream = self._core.stream[source]
        if stream.heard > stream.arrived:
            self._of[source].nak.start_if_idle(now)
        else:
            self._of[source].nak.stop()

    def stop_asking(self, source: Address) -> None:
        """Stop asking; `look` may start again."""
        self._of[source].nak.stop()

    def acknowledge_soon(self, source: Address, now: float) -> None:
        """Acknowledge a stream as soon as nothing more can be delivered."""
        self._of[source].ack_at = now

    def delivered(self, source: Address, size: int) -> None:
        """Note that a bundle of so many bytes was passed up, and is to be acknowledged."""
        reading = self._of.get(source)
        if reading is not None:
            reading.unacked += 1
            reading.unacked_bytes += size

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        """Return when the next timer is due."""
        due = NEVER
        for reading in self._of.values():
            due = min(due, reading.nak.due, reading.ack_at)
        return due

    def ask_where_due(self, now: float) -> None:
        """Ask for the gaps whose timers are due."""
        for source, reading in self._of.items():
            if reading.nak.due <= now:
                self.ask(source, now)

    def ask(self, source: Address, now: float) -> None:
        """Ask the source of a stream for its gaps, and another holder, in turn."""
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
        """Send the acknowledgements that are due."""
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
                    sign = header_of(self._core, self._lineage.latest, effect)
                    self._outbox.send_header(sign, source)
