"""The bounds of what a token or a 911 says: beyond them nothing is allocated for it or believed.

Types and lengths are bounded in `bodies.py`, what contradicts itself is refused in `wire.py`; here
are the jumps from what this member knows. The epochs that a 911 claims, the passes of a token and
the views of a ring take time, so no member can be so far behind as these.
"""

from __future__ import annotations

from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import Message, Token

INDEX_JUMP = 1 << 16
"""The most views that a member can have missed."""
FIRST_INDEX = 1 << 20
"""The highest index of the first view that a joiner can have."""
EPOCH_JUMP = 1 << 20
"""The most epochs that a member can have missed."""
COUNT_JUMP = 1 << 40
"""The most passes, or multicasts, that a member can have missed."""


def beyond(message: Message, core: Raincore) -> str:
    """Return which number of a message is beyond the bounds, "" if none is."""
    copy = core.last_token
    if not copy.nodelist:  # a joiner knows nothing that it could compare
        index = message.global_view_number if isinstance(message, Token) else 0
        return f"index {index} of a first view" if index > FIRST_INDEX else ""
    if message.seq > copy.seq + COUNT_JUMP:
        return f"number {message.seq} after {copy.seq}"
    epoch = max(core.heard, core.promised.n, copy.epoch.n)
    if isinstance(message, Token):
        epochs = [message.epoch.n]
        if message.global_view_number > core.global_view_number + INDEX_JUMP:
            return f"index {message.global_view_number} after {core.global_view_number}"
        if message.top > copy.top + COUNT_JUMP:
            return f"multicast {message.top} after {copy.top}"
    else:
        epochs = [message.epoch.n, message.claim.n, message.promised.n]
    if max(epochs) > epoch + EPOCH_JUMP:
        return f"epoch {max(epochs)} after {epoch}"
    return ""
