"""Both ends of messages that another layer carries to all (`Relayed`): the ends have no ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import plain
from raincheck.conformance.trace.columns import Channel, Columns
from raincheck.conformance.trace.records import Address

_text = msgspec.json.encode


class Relays:
    """The ends of such messages at one process."""

    def __init__(self, binding: Binding, me: Address, columns: Columns) -> None:
        self._relayed, self._me, self._columns = binding.relayed, me, columns
        self._readers: dict[Any, Channel] = {}

    def take(self, index: int, event: Any, outputs: Iterable[Any]) -> None:
        """Note what an event has read, and what it has sent."""
        relayed = self._relayed
        if relayed is None:
            return
        for message in relayed.news(event):
            self._reader(relayed.sender(message)).add(self._digest(message), index, 0)
        for output in outputs:
            if type(output).__name__ == relayed.message:
                self._writer().add(self._digest(output), index, 0)

    def _writer(self) -> Channel:
        return self._columns.channel(self._called(self._me), incoming=False, fifo=False)

    def _reader(self, sender: Any) -> Channel:
        found = self._readers.get(sender)
        if found is None:
            who = (sender, 0) if isinstance(sender, str) else tuple(sender)
            found = self._readers[sender] = self._columns.channel(
                self._called((*who, *self._me)),
                incoming=True,
                fifo=False,
                sent_as=self._called(who),
            )
        return found

    def _called(self, ends: tuple[Any, ...]) -> str:
        assert self._relayed is not None
        return _text([self._relayed.message, *ends]).decode()

    def _digest(self, message: Any) -> int:
        assert self._relayed is not None
        return self._columns.digest(self._relayed.message.encode() + _text(plain(message)))
