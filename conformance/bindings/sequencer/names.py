"""How SEQUENCER's messages, addresses and views are called in stories."""

from collections.abc import Mapping
from typing import Any, TypeAlias

State: TypeAlias = Mapping[str, Any]
"""The variables of `spec/Sequencer.tla`; their shapes are its TypeOK."""


def running(status: str) -> bool:
    """Whether a node with that status takes part, as Running in the spec."""
    return status in ("member", "leaving")


def message_name(message: Any) -> str:
    """b2 is the second message of b's application."""
    return f"{message['from'][0]}{message['payload']}"


def members_name(view: Any) -> str:
    """The members of a view, the coordinator first."""
    return ", ".join(address_name(address) for address in view["members"])


def address_name(address: Any) -> str:
    """The node, and which of its lives if it is not the first."""
    node, incarnation = address
    return f"{node} (life {incarnation + 1})" if incarnation else str(node)
