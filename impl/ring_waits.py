"""Whom a member of a ring waits for at a moment, and for what: the words of time-outs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .raincore_events import Token

if TYPE_CHECKING:
    from .raincore_node import RingNode


def waits_of(node: RingNode, now: float) -> dict[str, str]:  # noqa: ARG001 (the shells' face)
    """Return whom the node waits for, each with what it waits for."""
    core, me = node.core, node.address
    token = core.last_token
    others = [member for member in token.nodelist if member != me]
    waits: dict[str, str] = {}
    if core.up == "new":
        return {f"{host}:{port}": "to answer as a member" for host, port in node.contacts}
    if core.up != "up":
        return {}
    if not token.nodelist:
        waits = {str(member): "to let it into the ring" for member in core.contacts}
    elif core.token_state == "starving":
        waits = {str(member): "to let its 911 pass" for member in others}
        for member in others:
            if node.manager.peers.has_failed(member):
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
                if node.manager.peers.has_failed(member)
            }
    for member, message in node.manager.under_way():
        what = "the token" if isinstance(message, Token) else "a 911"
        waits[str(member)] = f"to acknowledge {what}"
    return waits
