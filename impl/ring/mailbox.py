"""The multicasts of one member of a ring: those that wait for the token, and those that are on it.

The core orders batches by (origin, k) and knows no payload. They are kept here: at each visit the
messages that wait become one batch, and a batch that came is handed on as it is. Nothing is done
for a single message but to queue it.

All mail of a round shares one datagram. A member takes at most half of the room that is left, so
that members who all have much get equal shares in the end. Who has more to say than it could put
onto the token says so on the token, which then does not rest anywhere; who has a message that did
not fit has room reserved, which the others leave free until it is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from raincheck.impl.errors import WouldBlock
from raincheck.impl.messages import Address, Payloads
from raincheck.impl.raincore.events import Mail

from .bodies import LETTER_OVERHEAD, NO_RESERVE, Letter, Letters, Reserve
from .config import RingConfig
from .reports import TooLargeForToken

_LENGTH = 4  # bytes beside each payload


class Mailbox:
    """The messages of one member that wait for the token, and the batches on the last token."""

    def __init__(self, me: Address, config: RingConfig) -> None:
        self.me = me
        self.config = config
        self.letters: dict[tuple[Address, int], Letter] = {}
        self.reserve = NO_RESERVE
        self.first = 1
        """The number of this member's next message that goes onto a token."""
        self._queue: deque[bytes] = deque()
        self._bytes = 0

    @property
    def waiting(self) -> int:
        """How many messages wait for the token."""
        return len(self._queue)

    @property
    def writable(self) -> bool:
        """Whether `put` takes a message of any size."""
        return self._bytes < self.config.send_buffer

    def put(self, payload: bytes) -> None:
        """Queue a message; raises TooLargeForToken or WouldBlock."""
        size = len(payload)
        if size > self.config.max_message:
            raise TooLargeForToken(size, self.config.max_message, self.config.max_datagram)
        if self._bytes >= self.config.send_buffer:
            raise WouldBlock(
                f"{len(self._queue)} messages of {self._bytes} bytes wait for the token; "
                f"wait until the member is writable again"
            )
        self._queue.append(payload)
        self._bytes += size + _LENGTH

    @property
    def _free(self) -> int:
        return self.config.mail - sum(letter.size for letter in self.letters.values())

    @property
    def room(self) -> int:
        """Bytes of a message that the token has room for."""
        return self._free - LETTER_OVERHEAD - _LENGTH

    def post(self, k: int, data: bytes) -> None:
        """Make batch k of a post of LOCKS, which `room` suffices for."""
        self.letters[self.me, k] = Letter(self.first, Payloads.pack([data]), post=True)

    def pack(self, k: int, nodelist: Collection[Address], kept: int = 0) -> bool:
        """Make batch k of the waiting messages that fit on the token; return whether any do.

        So many bytes are kept free for posts.
        """
        reserve = self.reserve
        if reserve.member == self.me or reserve.member not in nodelist:
            self.reserve = reserve = NO_RESERVE
        if not self._queue:
            return False
        free = self._free - kept
        room = min(free // 2, free - reserve.size)
        taken, left = [], room - LETTER_OVERHEAD
        queue = self._queue
        while queue and (left := left - len(queue[0]) - _LENGTH) >= 0:
            taken.append(queue.popleft())
        if not taken:
            need = len(queue[0]) + _LENGTH + LETTER_OVERHEAD
            if need > free - reserve.size:
                if not reserve.size:
                    self.reserve = Reserve(self.me, need)
                return False
            taken.append(queue.popleft())
        if queue and reserve == NO_RESERVE:
            self.reserve = Reserve(self.me)
        payloads = Payloads.pack(taken)
        self._bytes -= payloads.size
        self.letters[self.me, k] = Letter(self.first, payloads)
        self.first += len(taken)
        return True

    def take(self, letters: Letters) -> None:
        """Take the batches of a token that has arrived."""
        self.letters.update(letters)

    def keep(self, mail: Iterable[Mail]) -> None:
        """Forget the batches that are not on the token any more."""
        if self.letters:
            letters = self.letters
            keys = [(each.origin, each.k) for each in mail]
            if len(keys) != len(letters):
                self.letters = {key: letters[key] for key in keys}
