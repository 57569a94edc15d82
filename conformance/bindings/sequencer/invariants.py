"""The points of a trace at which SEQUENCER's invariants are evaluated."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.invariants.asked import Followed, Invariants, Promised
from raincheck.conformance.trace.sequencer.unbroken import HOW

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
        **{name: (Promised(how=how),) for name, how in HOW.items()},
    }
)

OF_MERGES: Final = Invariants(of={name: INVARIANTS.of[name] for name in ("TypeOK", "NoCreation")})
"""Across merges the promises are those of `trace/sequencer/across.py`."""
