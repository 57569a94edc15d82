"""The members that a member of a ring waits for, and the words of its time-outs."""

from __future__ import annotations

from raincheck.impl.messages import shown
from raincheck.impl.raincore.events import Token

from .engine import RingEngine


def waits_of(engine: RingEngine) -> dict[str, str]:
    """Return whom this member waits for, and for what."""
    core, manager = engine.core, engine.manager
    token = core.last_token
    others = [member for member in token.nodelist if member != core.me]
    waits: dict[str, str] = {}
    if core.up == "new":
        return {shown(place): "to answer as a member" for place in engine.contacts}
    if core.up != "up":
        return {}
    if not token.nodelist:
        waits = {str(member): "to let it into the ring" for member in core.contacts}
    elif core.token_state == "starving":
        asked = [member for member in core.asked() if member != core.me]
        waits = {str(member): "to let its 911 pass" for member in asked}
        for member in asked:
            if manager.peers.has_failed(member):
                waits[str(member)] = "to be heard of again"
    elif core.token_state == "hungry":
        waits[str(token.to)] = "to pass the token on"
    else:
        waits = {
            str(member): "to hold the token with this list"
            for member in others
            if member not in token.seen
        }
        if core.leaving:
            waits = {
                str(member): "to be heard of again: without it there is no majority"
                for member in others
                if manager.peers.has_failed(member)
            }
    for member, message in manager.under_way():
        what = "the token" if isinstance(message, Token) else "a 911"
        waits[str(member)] = f"to acknowledge {what}"
    return waits
