"""Whether the states that members took and what they delivered fit: `state_cut`."""

from typing import Final

from .properties import Message, Witness
from .sortedlog import SortedLog

TWICE: Final = "in the state, and delivered behind it"
LOST: Final = "delivered before the state, and not in it"
NEITHER: Final = "neither in the state nor delivered"
FOUND: Final = (TWICE, LOST, NEITHER)
"""Of several witnesses the first kind is named."""


def cut_witness(what: str, member: str, key: Message, position: int, at: int) -> Witness:
    """Return the witness that a message does not fit the state that a member took at `at`.

    `position` is the delivery's, in the log of the member, or where it has none of the provider.
    """
    return {
        "members": [member],
        "messages": [list(key)],
        "positions": [at, position],
        "found": what,
    }


def wrong_cut(log: SortedLog) -> Witness | None:
    """Return a message that is in a state and delivered behind it, or one that is in neither."""
    found: list[tuple[str, int, str, Message, int]] = []
    for state, inside in log.contents.items():
        me, at = state.member, state.position
        mine = log.delivered[me]
        for position, _, key in mine:
            if position > at and key in inside:
                found.append((TWICE, position, me, key, at))
            if position < at and key not in inside:
                found.append((LOST, position, me, key, at))
        behind = {key for position, _, key in mine if position > at}
        gone_on = me in log.ended or any(
            position > at and view >= state.view for position, view, _ in mine
        )
        for position, view, key in log.delivered[state.provider] if gone_on else ():
            if position > state.after and view < state.view and key not in behind:
                found.append((NEITHER, position, me, key, at))
    if not found:
        return None
    what, position, me, key, at = min(found, key=lambda each: (FOUND.index(each[0]), *each[1:]))
    return cut_witness(what, me, key, position, at)
