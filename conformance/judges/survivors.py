"""Damages of the checkers that nothing notices, each with the reason why that is no gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SURVIVORS: Final[Mapping[str, str]] = {}
"""By the key of the damage."""
