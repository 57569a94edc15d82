"""The choice of the layer that gives messages one order."""

from __future__ import annotations

from .layer import Ground
from .order_layer import OrderLayer
from .safe_layer import SafeLayer
from .sequencer_layer import SequencerLayer
from .total_layer import TotalLayer


def order_layer(ground: Ground) -> OrderLayer:
    """Return the layer of the group's order and kind of delivery."""
    if ground.config.order == "total":
        return TotalLayer(ground)
    return SafeLayer(ground) if ground.config.delivery == "safe" else SequencerLayer(ground)
