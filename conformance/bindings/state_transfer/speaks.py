"""The statements in STATE TRANSFER's records about views, members that are gone, and cuts."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.layers.agreements import Agreement, Found, Side, in_turn
from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view

_VIEW_BITS: Final = 44
_COUNT_BITS: Final = 36
"""Above the first so many bits of a cut is the view's number; below the second so many are the
messages that were delivered in the view in the order of all. Between them are the unordered ones,
of which SEQUENCER knows nothing."""


def begins(local: Any) -> Said:
    """Return the view in which a file begins, whose number the layer does not know."""
    if local.members:
        yield VIEW, view(None, local.members)


def _installs(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield VIEW, view(None, event.members)


def _gone(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield "gone", list(event.member)


def _cut(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield "cut", [event.cut >> _VIEW_BITS, event.cut & ((1 << _COUNT_BITS) - 1)]


def within_deliveries(mine: Side, theirs: Side) -> Found:
    """Compare cuts, which count what SEQUENCER has delivered in a view, each no less than the last.

    The view of a cut has at least as many deliveries. A cut at a view's beginning counts none, so
    only those amid a view count as compared.
    """
    before = [0, 0]
    views = {each.value[0] for each in theirs.report.said if each.topic == VIEW}
    compared = 0
    for one in mine.said:
        number, count = one.value
        if number not in views and not theirs.whole:
            break
        most = theirs.report.tally.get(f"delivered {number}", 0)
        if number not in views or one.value < before:
            return mine.clashing(compared, one, before)
        if count > most and (theirs.whole or number != max(views)):
            return mine.clashing(compared, one, [number, most])
        before, compared = one.value, compared + bool(count)
    return Found(compared, [])


SPEAKS: Final = Speaks(
    begins=begins,
    says={
        "InstallView": _installs,
        "Join": _installs,
        "Suspect": _gone,
        "Begin": _cut,
        "ReceiveGo": _cut,
        "Read": _cut,
    },
    agrees=(
        Agreement(
            name="CutIsDelivered",
            topic="cut",
            other="sequencer",
            its="delivered",
            compare=within_deliveries,
            rule="a cut is the number of messages that SEQUENCER has delivered",
        ),
        Agreement(
            name="GoneIsFlush",
            topic="gone",
            other="flush",
            its="gone",
            compare=in_turn,
            rule="a member is gone for STATE TRANSFER when it is for FLUSH",
        ),
    ),
)
