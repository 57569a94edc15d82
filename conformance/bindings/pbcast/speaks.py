"""The statements in PBCAST's records about views, and about what NAKACK may forget."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.layers.agreements import Agreement, in_turn, on_the_way
from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view
from raincheck.model.pbcast.vectors import arrived


def begins(local: Any) -> Said:
    """Return the view in which a file begins."""
    if local.view:
        yield VIEW, view(local.view, local.members, ranked=False)


def _installs(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield VIEW, view(event.view, event.members, ranked=False)


def _gossips(before: Any, _event: Any, after: Any, _outputs: Any) -> Said:
    """Return what the member has of the streams, and what NAKACK may forget."""
    delivered, held = dict(after.delivered), dict(after.held)
    members = sorted(after.members)
    has = tuple((who, delivered.get(who, 0)) for who in members)
    received = tuple((who, arrived(at, held.get(who, frozenset()))) for who, at in has)
    yield "digest", [after.view, has, received]
    if before.held != after.held:
        known, kept = dict(before.purged), dict(before.held)
        for who, at in after.purged:
            if known.get(who) != at and min(kept.get(who, ()), default=at + 1) <= at:
                yield "purge", [list(who), at]


SPEAKS: Final = Speaks(
    begins=begins,
    says={"InstallView": _installs, "ReceiveGossip": _gossips, "SendGossip": _gossips},
    agrees=(
        Agreement(
            name="CollectedIsPurged",
            topic="purge",
            other="nakack",
            its="purge",
            compare=in_turn,
            rule="NAKACK forgets what a gossip that has been round has gathered (G6)",
        ),
        Agreement(
            name="GossipIsOfTheStreams",
            topic="digest",
            other="nakack",
            its="",
            compare=on_the_way,
            rule="what PBCAST has of the streams, NAKACK has delivered and received (G1)",
        ),
    ),
)
