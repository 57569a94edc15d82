"""Why a damage of a checker may survive all planted inputs without being a gap."""

from __future__ import annotations

import re
from typing import Final

_REASONS: Final = (
    (
        r"\.events \+= |counts\[|_counts\b|\bactions\b.*count|actions\.items",
        "it only counts what the page shows; tests of the verb and the bench compare the counts",
    ),
    (
        r"\bFEW\b|_fast is |len\(parts\) == 1|== ROWS",
        "it chooses between two equal ways, of which one is fast; test_fastpath.py compares them",
    ),
    (
        r"trace\.judged _order: |\bturns\b",
        "it only says which finding is shown first, or how often something is tidied up",
    ),
)


def reason_of(key: str) -> str:
    """Return why the damage of that key may survive, or ""."""
    return next((words for pattern, words in _REASONS if re.search(pattern, key)), "")
