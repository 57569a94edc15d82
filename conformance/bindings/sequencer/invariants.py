"""The points of a trace at which SEQUENCER's invariants are evaluated."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.invariants.asked import Followed, Invariants, Promised, Unshown

_BY_HANDLERS: Final = "each delivery is what the model's handler does with the coordinator's stream"

INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            Followed(
                how="a value of another type puts its record into quarantine, and a view without "
                "the member is no step of the model"
            ),
        ),
        **{
            name: (Promised(),)
            for name in (
                "TotalOrder",
                "UniformTotalOrder",
                "Agreement",
                "UniformAgreement",
                "Integrity",
                "Fifo",
                "InView",
            )
        },
        "NoCreation": (
            Followed(
                how="a DATA is the model's step for a FORWARD that arrived, or for the "
                "coordinator's own message, and every FORWARD that arrived was sent, before"
            ),
        ),
        "GapFree": (
            Unshown(
                why=f"{_BY_HANDLERS}, which are read without a gap; that the stream itself lacks "
                "no message of a sender is not asked yet"
            ),
        ),
        "Fresh": (
            Unshown(
                why=f"{_BY_HANDLERS}, which a joiner reads from its coordinator's cut on; that it "
                "delivers nothing older is not asked yet"
            ),
        ),
    }
)
