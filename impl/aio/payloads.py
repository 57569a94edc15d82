"""The contents of a message: bytes, or anything that can be copied into bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from raincheck.impl.errors import ArgumentError

Payload: TypeAlias = bytes | bytearray | memoryview
"""The content of a message. What can change is copied when it is sent."""


def as_bytes(payload: Payload) -> bytes:
    """Return the content as bytes that nobody can change; raise ArgumentError for anything else."""
    if type(payload) is bytes:
        return payload
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)
    kind = type(payload).__name__
    hint = "; encode it first" if isinstance(payload, str) else ""
    raise ArgumentError(f"a message is bytes, bytearray or memoryview, not {kind}{hint}")


def all_as_bytes(payloads: Sequence[Payload]) -> Sequence[bytes]:
    """Return all contents as bytes; one look for those that are bytes already."""
    if isinstance(payloads, bytes | bytearray | memoryview | str):
        raise ArgumentError(
            f"send_many takes a sequence of messages, not one {type(payloads).__name__}; "
            f"send one message with send"
        )
    if not isinstance(payloads, Sequence):
        raise ArgumentError(
            f"send_many takes a sequence of messages, not {type(payloads).__name__}; "
            f"make a list of it first"
        )
    if set(map(type, payloads)) <= {bytes}:
        return payloads  # type: ignore[return-value]  # as the line above has found
    return [as_bytes(payload) for payload in payloads]
