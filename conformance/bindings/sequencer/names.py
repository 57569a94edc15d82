"""The names of SEQUENCER's messages, addresses and views in stories."""

from collections.abc import Mapping
from typing import Any, TypeAlias

State: TypeAlias = Mapping[str, Any]
"""The variables of `spec/Sequencer.tla`; their shapes are its TypeOK."""


def running(status: str) -> bool:
    """Return whether a node with that status takes part, as Running in the spec."""
    return status in ("member", "leaving")


def message_name(message: Any) -> str:
    """Return a message's name: b2 is the second message of b's application."""
    return f"{message['from'][0]}{message['payload']}"


def members_name(view: Any) -> str:
    """Return the members of a view, the coordinator first."""
    return ", ".join(address_name(address) for address in view["members"])


def address_name(address: Any) -> str:
    """Return the node, with the number of its life unless it is the first."""
    node, incarnation = address
    return f"{node} (life {incarnation + 1})" if incarnation else str(node)
