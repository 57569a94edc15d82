"""The agreements of SEQUENCER's records with other layers'; its own follower collects them."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.layers.agreements import Agreement, counted
from raincheck.conformance.trace.layers.speaks import Speaks

SPEAKS: Final = Speaks(
    agrees=(
        Agreement(
            name="ReceivedIsDelivered",
            topic="deliver",
            other="nakack",
            its="deliver",
            compare=counted,
            rule="a DATA arrives when NAKACK delivers it",
        ),
        Agreement(
            name="SequencedIsMulticast",
            topic="multicast",
            other="nakack",
            its="multicast",
            compare=counted,
            rule="what SEQUENCER multicasts is multicast by NAKACK",
        ),
    ),
)
