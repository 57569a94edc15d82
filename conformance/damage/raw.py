"""Raw damage: one change to a run's files, made without regard for what the rest says.

Each kind changes the files in place and returns whether it could. A kind that only takes something
away leaves files that a good run could have left if more had been lost: such a run is incomplete,
and nobody may be accused.
"""

from . import changed, lost, moved
from .kinds import KINDS

__all__ = ["KINDS", "changed", "lost", "moved"]
