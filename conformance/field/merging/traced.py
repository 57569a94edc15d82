"""The protocols whose traces of groups that merge are recorded, and judged."""

from typing import Final

TRACED: Final = (
    *("sequencer", "merge2", "gms", "flush", "stable", "state_transfer"),
    *("nakack", "unicast"),
)
