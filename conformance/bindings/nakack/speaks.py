"""The statements in NAKACK's records about views, and about what other layers called it to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from raincheck.conformance.trace.layers.agreements import Agreement, in_turn
from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view

UNORDERED: Final = "unordered"
"""The topic of what passes FLUSH's latch and NAKACK multicasts, and SEQUENCER does not."""


def begins(local: Any) -> Said:
    """Return the view in which a file begins."""
    if local.view:
        yield VIEW, view(local.view, local.members, ranked=False)


def _installs(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield VIEW, view(event.view, event.members, ranked=False)


def _purges(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield "purge", [list(event.source), event.at]


def _hears(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield "heard", [list(event.source), list(event.holder), event.at]


def _freezes(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield "freeze", list(event.source)


def _fetches(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield "fetch", [list(event.source), event.at, list(event.holder)]


def _one_by_one(value: Any) -> Iterator[Any]:
    holder, received = value
    for source, at in received:
        yield [list(source), list(holder), at]


VIEWS: Final = Speaks(begins=begins, says={"InstallView": _installs, "Join": _installs})
"""Of traces that do not record what has arrived."""
SPEAKS: Final = Speaks(
    begins=begins,
    says={
        **VIEWS.says,
        "Purge": _purges,
        "HeardOf": _hears,
        "Freeze": _freezes,
        "Fetch": _fetches,
    },
    tallies={
        "Multicast": lambda event, after: (
            "multicast" if event.ordered else UNORDERED,
            after.view,
        ),
        "Deliver": lambda event, after: (
            "deliver" if event.ordered else "pass",
            after.view,
            event.source,
        ),
    },
    tracks="stream",
    agrees=(
        Agreement(
            name="PurgedIsStable",
            topic="purge",
            other="stable",
            its="purge",
            compare=in_turn,
            rule="NAKACK forgets what STABLE says is stable (N4)",
        ),
        Agreement(
            name="HeardOfIsHeard",
            topic="heard",
            other="stable",
            its="heard",
            compare=partial(in_turn, parts=_one_by_one),
            rule="NAKACK hears of other members' streams from STABLE (N3)",
        ),
        Agreement(
            name="FrozenIsGone",
            topic="freeze",
            other="flush",
            its="freeze",
            compare=in_turn,
            rule="NAKACK freezes the streams that FLUSH names",
        ),
        Agreement(
            name="FetchedIsReconciled",
            topic="fetch",
            other="flush",
            its="fetch",
            compare=in_turn,
            rule="NAKACK fetches what FLUSH names",
        ),
    ),
)
OF_MERGES: Final = replace(SPEAKS, says={**SPEAKS.says, "Merge": _installs})
"""Of traces of groups that merge."""
