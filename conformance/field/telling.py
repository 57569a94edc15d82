"""The common part of all members of a run: exit codes, the contents of messages, reports.

The law of this file: it knows nothing of the system under test, so that every member starts
quickly.
"""

import contextlib
import json
from random import Random

LEFT, STUCK, SETUP, EXCLUDED = 0, 2, 3, 4
"""Exit codes: after leaving; a wait was too long; not able to start; excluded."""
ORPHAN = 5
"""The exit code when the harness has gone."""
PROGRESS = 0.05
"""Seconds between two reports of progress."""
SMALLEST = 16
"""The smallest message in bytes: it carries its number, and something to compare."""


def content(sender: str, number: int, size: int) -> bytes:
    """Return the contents of a sender's message of that number: any two differ, verifiably."""
    block = _block(sender, size)
    at = number % 251
    return number.to_bytes(8) + block[at : at + size - 8]


_blocks: dict[tuple[str, int], bytes] = {}


def _block(sender: str, size: int) -> bytes:
    found = _blocks.get((sender, size))
    if found is None:
        found = _blocks[sender, size] = Random(sender).randbytes(size + 251)
    return found


def tell(event: str, **facts: object) -> None:
    """Write one line for the harness."""
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"event": event, **facts}, separators=(",", ":")), flush=True)
