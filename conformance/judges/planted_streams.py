"""Faults planted for the rules of `trace/streams.py`: both ends of a stream with clocks."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.sequencer.tracegen import Trace

from .planting import Planted
from .sequencer_story import A, C, cut_behind, event, on, plant, sets

_BAD: Final = "compare_stream: bad.append("


def no_sending(trace: Trace) -> None:
    """a's file ends, with a footer, before a has passed on a message of b that others have."""
    cut_behind(trace[A], event(trace, A, "Send"))


NEVER: Final = plant('["DATA","a",0,"b",0,3] was never sent', no_sending, chapter=1)
CONTENTS: Final = plant(
    '["DATA","a",0,"c",0,1] was sent with other contents; contents: "those of event',
    on(C, "ReceiveData", sets(args__crc=1)),
)
EARLY: Final = plant(
    '["DATA","a",0,"c",0,1] was received before it was sent; clock: 1, not "greater than 1"',
    on(C, "ReceiveData", sets(clock=1)),
)

PLANTED: Final[dict[str, Planted]] = {
    "trace.streams": {
        f"{_BAD}Bad(ABSENT, *here))": NEVER,
        f"{_BAD}Bad(CONTENTS, *here, *there))": CONTENTS,
        f"{_BAD}Bad(EARLY, *here, *there))": EARLY,
    },
}
