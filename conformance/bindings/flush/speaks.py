"""The statements in FLUSH's records about views, NAKACK's streams, and what GMS asked of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from raincheck.conformance.bindings.nakack.speaks import UNORDERED
from raincheck.conformance.trace.layers.agreements import (
    Agreement,
    counted,
    in_turn,
    on_the_way,
    same,
)
from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view
from raincheck.model.flush.events import INPUTS, FetchStreams, Freeze, Suspended


def begins(local: Any) -> Said:
    """Return the view in which a file begins."""
    if local.view:
        yield VIEW, view(local.view, local.members)


def _calls(before: Any, event: Any, _after: Any, outputs: tuple[Any, ...]) -> Said:
    match type(event).__name__:
        case "InstallView":
            yield VIEW, view(event.view, event.members)
        case "BlockOk":
            yield "digest", [before.view, None, event.digest]
        case "Suspend":
            yield "suspend", [list(who) for who in event.participants]
        case "Resume":
            yield "resume", True
        case "Suspect":
            yield "gone", list(event.member)
        case "ReceiveStart" if event.sender != before.me:
            yield "start", [list(event.sender), event.fid.view]
    for output in outputs:
        if isinstance(output, Freeze):
            yield from (("freeze", list(who)) for who in output.gone)
        elif isinstance(output, FetchStreams):
            for sender, at, holder in output.fetches:
                yield "fetch", [list(sender), at, list(holder)]
        elif isinstance(output, Suspended):
            yield "suspended", sorted(list(who) for who in output.participants)


SPEAKS: Final = Speaks(
    begins=begins,
    says={name: _calls for name in INPUTS if name != "Multicast"},
    tallies={"Multicast": lambda _, after: ("multicast", after.view)},
    agrees=(
        Agreement(
            name="FlushedIsReceived",
            topic="digest",
            other="nakack",
            its="",
            compare=on_the_way,
            rule="the digest of FLUSH_COMPLETED says what NAKACK has received",
        ),
        Agreement(
            name="MulticastThroughTheLatch",
            topic="multicast",
            other="nakack",
            its="multicast",
            compare=partial(counted, also=UNORDERED),
            rule="what passes the latch is what NAKACK multicasts",
        ),
        Agreement(
            name="SuspendIsGms",
            topic="suspend",
            other="gms",
            its="suspend",
            compare=same,
            rule="FLUSH suspends whom GMS names",
        ),
        Agreement(
            name="ResumeIsGms",
            topic="resume",
            other="gms",
            its="resume",
            compare=same,
            rule="FLUSH resumes when GMS says so",
        ),
        Agreement(
            name="StartIsPrepared",
            topic="start",
            other="gms",
            its="start",
            compare=same,
            rule="FLUSH takes part in the flushes for which GMS is prepared",
        ),
        Agreement(
            name="GoneIsGms",
            topic="gone",
            other="gms",
            its="gone",
            compare=in_turn,
            rule="FLUSH takes for gone whom GMS does",
        ),
    ),
)

ACROSS_MERGES: Final = replace(
    SPEAKS,
    agrees=tuple(
        replace(each, compare=in_turn) if each.name == "ResumeIsGms" else each
        for each in SPEAKS.agrees
    ),
)
"""In groups that merge GMS's Resume waits for MERGE2's, and the next flush may take its place."""
