"""A transport under a key: it seals what leaves, once for all receivers, and opens what arrives.

Live questions and their answers are sealed under subkeys of their own, so that who asks needs not
know what the member is a member of, and takes up nothing that the group's own lives need.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from secrets import token_bytes

from raincheck.impl.asking.wire import is_of_a_question
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.sealing.head import OVERHEAD, group_id_of
from raincheck.impl.sealing.keys import Keys
from raincheck.impl.sealing.sealing import SEED, Sealing

from .contract import Datagrams, Receiver, Transport

_log = logging.getLogger("raincheck")
_ASKING = "live questions"
"""What questions and answers are sealed for, as others are for a group or a ring."""


class SealedTransport(Transport):
    """Another transport, all of whose datagrams are sealed."""

    sealed = True

    def __init__(self, inner: Transport, keys: Keys, group: str, *, encrypt: bool = True) -> None:
        """`group` names what the datagrams belong to: those of another one are not taken."""
        super().__init__()
        self.name = inner.name
        self.multicasts = inner.multicasts
        self.endpoint = inner.endpoint
        self.max_datagram = inner.max_datagram - OVERHEAD
        self.counters = inner.counters
        self._inner = inner

        def sealing(what: str) -> Sealing:
            return Sealing(
                keys, what, inner.endpoint, token_bytes(SEED),
                encrypt=encrypt, counters=inner.counters,
            )  # fmt: skip

        self._sealing, self._asking = sealing(group), sealing(_ASKING)
        self._loop = asyncio.get_running_loop()

    @property
    def refused(self) -> Mapping[Endpoint, str]:
        return {} if self._sealing.proved else self._sealing.refused

    def change_keys(self, keys: Keys) -> None:
        self._sealing.change(keys)
        self._asking.change(keys)

    def start(self, receive: Receiver) -> None:
        super().start(receive)
        self._inner.start(self._arrived)

    def send(self, data: bytes, to: Endpoint) -> None:
        sealing = self._asking if is_of_a_question(data) else self._sealing
        self._inner.send(sealing.seal_to(data, to, self._loop.time()), to)

    def multicast(self, data: bytes, to: Iterable[Endpoint]) -> None:
        self._inner.multicast(self._sealing.seal(data), to)

    def broadcast(self, data: bytes) -> None:
        self._inner.broadcast(self._sealing.seal(data))

    def pending(self) -> int:
        return self._inner.pending()

    async def close(self) -> None:
        await self._inner.close()

    def _arrived(self, batch: Datagrams) -> bool:
        """Open what has arrived; who has not shown yet that it has the key is asked to.

        Returns whether anything could be opened.
        """
        now, group, asking = self._loop.time(), self._sealing, self._asking
        of_questions = asking.group_id
        opened: Datagrams = []
        for datagram, source in batch:
            sealing = asking if group_id_of(datagram) == of_questions else group
            content = sealing.open(datagram, source, now)
            if content is None:
                continue
            if is_of_a_question(content) == (sealing is asking):
                opened.append((content, source))
            else:
                self.counters["misplaced"] += 1
        for sealing in (group, asking):
            for answer, to in sealing.poll_answers():
                self._inner.send(answer, to)
            for reason, endpoint, detail, times in sealing.poll_dropped():
                _log.warning(
                    "dropped %d datagrams, the last from %s: %s %s",
                    times, shown(endpoint), reason, detail,
                )  # fmt: skip
        if opened and self._receive is not None:
            self._receive(opened)
        return bool(opened)
