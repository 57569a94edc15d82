"""Lines of a trace as typed records, without what all of one process's events begin with."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from raincheck.conformance.trace.keys import any_twice
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.tracefile import count_lines

from .writing import encode_as_is

_INDEX: Final = b'{"index":'
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Sent(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    id: Raw
    to: Raw
    message: Raw
    content: Raw


class _Event(msgspec.Struct, gc=False, omit_defaults=True):
    """An event with its parts in the order in which the recorder writes them."""

    kind: Literal["event"]
    run: Raw
    node: Raw
    incarnation: Raw
    protocol: Raw
    index: Raw
    action: Raw
    args: Raw
    received: Raw | UnsetType = UNSET
    sent: tuple[_Sent, ...] = ()
    changed: Raw | UnsetType = UNSET
    told: Raw | UnsetType = UNSET
    given: Raw | UnsetType = UNSET
    at: Raw | UnsetType = UNSET


_EVENTS: Final = msgspec.json.Decoder(_Event)
_ENCODER: Final = msgspec.json.Encoder()


class Lines:
    """Reads blocks of lines of one process's file."""

    def __init__(self, header: Header, decoder: msgspec.json.Decoder[Any]) -> None:
        whose = {
            "kind": "event",
            "run": header.run,
            "node": header.node,
            "incarnation": header.incarnation,
            "protocol": header.protocol,
        }
        self._head = encode_as_is(whose)[:-1] + b',"index":'
        self._decode = decoder.decode_lines
        self.otherwise = False
        """Whether the parts of the records are in another order than the recorder's."""

    def records(self, block: bytes) -> list[Any] | None:
        """The records, if all of them are events of this process, and each says one thing."""
        found = self._events(block) if block.endswith(b"\n") else None
        return None if found is None or any_twice(block) else found

    def _events(self, block: bytes) -> list[Any] | None:
        if not self.otherwise:
            with suppress(*_UNREADABLE):
                return self._tails(block)
        with suppress(*_UNREADABLE):
            return self._tails(_ENCODER.encode_lines(_EVENTS.decode_lines(block)))
        return None

    def _tails(self, block: bytes) -> list[Any] | None:
        head = self._head
        if not block.startswith(head):
            raise msgspec.MsgspecError
        str(block, "utf-8")
        # No text in JSON contains a newline, so that only beginnings of lines are taken off.
        tails = block[len(head) :].replace(b"\n" + head, b"\n" + _INDEX)
        records: list[Any] = self._decode(_INDEX + tails)
        return records if len(records) == count_lines(block) else None
