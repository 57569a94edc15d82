"""The points of a trace at which STATE TRANSFER's invariants are evaluated."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.invariants.asked import Invariants, OfMembers, OfState
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.impl.recording.canonical import plain
from raincheck.model.state_transfer.events import HandUp
from raincheck.model.state_transfer.handlers import Local, Rules
from raincheck.model.state_transfer.promises import waits_within, well_formed


def _reads(before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    serving = dict(before.serving).get(event.requester)
    if serving is not None and outputs:
        about = [list(event.requester), serving.transfer, event.number]
        yield "read", [*about, plain(event.payload), event.last]


def _hands_up(_before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, HandUp):
            about = [list(event.sender), event.transfer, event.number]
            yield "handed", [*about, plain(output.payload), output.last]


def _within(rules: Rules, _before: Local | None, me: Local) -> bool:
    return waits_within(rules.window, me)


def handed_up_was_read(moments: Moments) -> Asking:
    """A state handed up is the chunks 1, 2, 3 … that one provider read for it, in one reading."""
    read: dict[tuple[Any, ...], Any] = {}
    for who, note in moments.noted("read"):
        requester, transfer, number, *chunk = note.value
        read[name(who), name(requester), transfer, number] = chunk
    known = {name(who) for who in moments.reports} - {name(who) for who in moments.crashed}
    count = 0
    for who in moments.reports:
        of: Any = None
        expected = 1
        for note in moments.noted_by(who, "handed"):
            provider, transfer, number, *chunk = note.value
            if of != [provider, transfer]:
                of, expected = [provider, transfer], 1
            if number != expected:
                but = f"chunk {expected} is next"
                return Asking(count, broken(who, note.index, note.value, but))
            expected += 1
            there = read.get((name(provider), name(who), transfer, number))
            if there is not None or name(provider) in known:
                count += 1
                if there != chunk:
                    but = f"{name(provider)} has read {there} for it"
                    return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=("phase", "provider", "serving"),
                alone=well_formed,
                how="a phase is one of six, and who fetches has a provider",
            ),
        ),
        "SameCut": (
            OfMembers(
                judge=handed_up_was_read,
                how="a state is the chunks of one reading of one provider, in order; which "
                "messages are in it is the application's, and CutIsDelivered compares the cut "
                "with SEQUENCER",
            ),
        ),
        "Bounded": (
            OfState(
                reads=("phase", "next", "taken"),
                holds=_within,
                asked=lambda _, me: me.phase == "fetching",
                how="chunks that wait for the application; with those under way it speaks of "
                "messages that nobody has yet",
            ),
        ),
    },
    says={"Read": _reads, "ReceiveChunk": _hands_up},
)
