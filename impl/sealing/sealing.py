"""Sealing: what one life of a process makes of its datagrams under a key, and takes of others'.

Each life draws a salt, and seals with a subkey made of key, salt and group; its counter is the
nonce and is never used twice. So lives, restarts and groups need not agree on anything.

A life takes nothing of another one that has not answered its question. The question is made from
a secret of this life, so no recorded answer fits; what was sealed before the answer is older than
its counter, and what is heard twice is in the window. A GREETING has both, question and answer:

    a                             b
    |-- DATA -------------------->|  of a salt that b does not know: dropped
    |<------- GREETING question b-|
    |-- GREETING answer, qu. a -->|  b takes what a seals from now on
    |<----------- GREETING answer-|  a takes what b seals from now on

A REFUSAL is a head alone, not sealed: the answer to what cannot be opened, because its key is
another one or it has none. It is a hint for people; nothing is decided by it but to give up.

No clock, no socket, no randomness: time and the seed of a life are arguments.
"""

from __future__ import annotations

import struct
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING
from zlib import crc32

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.stack.reports import Dropped, Pace

from .head import (
    AUTHENTICATED,
    DATA,
    GREETING,
    HEAD,
    MAGIC,
    NO_KEY,
    REFUSAL,
    SALT,
    TAG,
    VERSION,
    refusal,
)
from .keys import Keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEED = 32
"""Bytes of the seed of a life."""
WINDOW = 4096
"""Counters of one life that are remembered, so that none is taken twice."""
LIVES = 1024
"""Lives that are known at a time; the earliest are forgotten."""

_NONE = bytes(16)  # no question, or no answer
_GREETING = struct.Struct(">16s16sH")
_MASK = (1 << WINDOW) - 1
_PAUSE = 0.02  # seconds between two greetings for one salt
_AGAIN = 1.0  # seconds for which a datagram that may have been dropped is worth repeating
_REFUSED_PAUSE = 1.0  # seconds between two refusals to one endpoint
_NOTED = 1024  # salts and endpoints for which these times are kept
_WITHOUT = "has no key, this process has one"
_SILENT = ("replayed", "unproved", "own")
"""Reasons that are counted without a report: they belong to an ordinary day."""


class _Life:
    """A life of another process that has answered."""

    __slots__ = ("aeads", "endpoint", "highest", "mask")

    def __init__(self, aeads: dict[bytes, AESGCM], endpoint: Endpoint, highest: int) -> None:
        self.aeads = aeads
        self.endpoint = endpoint
        self.highest = highest
        self.mask = _MASK  # bit i: counter highest - i was taken, or is older than the answer

    def take(self, counter: int) -> bool:
        """Take a counter; return False if it was taken before, or is too old to tell."""
        ahead = counter - self.highest
        if ahead > 0:
            self.mask = (self.mask << ahead | 1) & _MASK if ahead < WINDOW else 1
            self.highest = counter
            return True
        bit = 1 << -ahead
        if -ahead >= WINDOW or self.mask & bit:
            return False
        self.mask |= bit
        return True


class Sealing:
    """One life: it seals what it sends, and opens what others have sealed."""

    def __init__(
        self,
        keys: Keys,
        group: str,
        here: Endpoint,
        seed: bytes,
        *,
        encrypt: bool = True,
        counters: Counter[str] | None = None,
    ) -> None:
        """`group` names what the datagrams belong to; `seed`, of `SEED` random bytes, is for one
        life only; `here` is where others see this process's datagrams come from.
        """
        from cryptography.exceptions import InvalidTag

        self._invalid = InvalidTag
        self.counters: Counter[str] = Counter() if counters is None else counters
        self.refused: dict[Endpoint, str] = {}
        """Endpoints whose datagrams cannot be opened because of the keys, and why."""
        self._group = group
        self._group_id = crc32(group.encode())
        self.group_id = self._group_id.to_bytes(4, "big")
        """The same, as a datagram has it."""
        self._here = here
        self._salt, self._secret = seed[:SALT], seed[SALT:]
        self._encrypt = encrypt
        self._counter = 0
        self._lives: dict[bytes, _Life] = {}
        self._forgotten = 0
        self._question = self._ask()
        self._places: set[Endpoint] = set()  # where lives are that have answered
        self._again: dict[Endpoint, tuple[bytes, float]] = {}  # sent last to other places, and when
        self._greeted: dict[bytes, float] = {}
        self._refusals: dict[Endpoint, float] = {}
        self._answers: list[tuple[bytes, Endpoint]] = []
        self._dropped: list[Dropped] = []
        self._pace = Pace(1.0)
        self.change(keys)

    def change(self, keys: Keys) -> None:
        """Seal with the first of these keys from now on, and open with any of them.

        Salt and counter go on: those who know this life know it under its new key.
        """
        self._keys = {key.id: key for key in keys}
        self._key_id = keys[0].id
        self._aead = keys[0].subkey(self._salt, self._group)
        self._heads = {kind: self._head(kind) for kind in (DATA, AUTHENTICATED, GREETING)}
        for life in self._lives.values():
            life.aeads.clear()

    def _head(self, kind: int) -> bytes:
        """Return a head without its counter."""
        return HEAD.pack(MAGIC, VERSION, kind, self._key_id, self._group_id, self._salt, 0)[:-8]

    # ------------------------------------------------------------------ sealing

    def seal(self, datagram: bytes) -> bytes:
        """Return the datagram under this life's subkey."""
        if self._encrypt:
            return self._sealed(DATA, datagram)
        self._counter = counter = self._counter + 1
        end = counter.to_bytes(8, "big")
        readable = b"".join((self._heads[AUTHENTICATED], end, datagram))
        return readable + self._aead.encrypt(b"\0\0\0\0" + end, b"", readable)

    def _sealed(self, kind: int, content: bytes) -> bytes:
        self._counter = counter = self._counter + 1
        end = counter.to_bytes(8, "big")
        head = self._heads[kind] + end
        return head + self._aead.encrypt(b"\0\0\0\0" + end, content, head)

    def seal_to(self, datagram: bytes, to: Endpoint, now: float) -> bytes:
        """The same for one receiver. One that does not know this life yet drops it and asks; then
        the last one is sent again, lest whoever sent it wait for its timer.
        """
        if to not in self._places:
            if len(self._again) >= _NOTED:
                self._again.clear()
            self._again[to] = datagram, now
        return self.seal(datagram)

    # ------------------------------------------------------------------ opening

    def open(self, datagram: bytes, source: Endpoint, now: float) -> bytes | None:
        """Return what another life has sealed; None if it is dropped, or is not for the group."""
        try:
            kind, salt, counter, content = self._opened(datagram, source, now)
            life = self._lives.get(salt)
            if kind == GREETING:
                self._greeting(salt, counter, content, source, now)
                return None
            if life is None:
                self._greet(salt, _NONE, source, now)
                raise WireError("unproved")
            if source != life.endpoint:
                raise WireError("moved", f"of a process at {shown(life.endpoint)}")
            if not life.take(counter):
                raise WireError("replayed")
        except WireError as problem:
            self._drop(problem, source, now)
            return None
        return content

    def poll_answers(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent as they are, once."""
        if not self._answers:
            return []
        answers, self._answers = self._answers, []
        return answers

    def poll_dropped(self) -> list[Dropped]:
        """Return the reports of dropped datagrams, once."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def _opened(
        self, datagram: bytes, source: Endpoint, now: float
    ) -> tuple[int, bytes, int, bytes]:
        """Return kind, salt, counter and content of what is authentic; raises WireError."""
        size = len(datagram)
        if datagram[:2] != MAGIC:
            raise self._refuse("without_key", source, now, _WITHOUT, size)
        if size < HEAD.size:
            raise WireError("truncated", f"{size} bytes")
        _, version, kind, key_id, group, salt, counter = HEAD.unpack_from(datagram)
        if version != VERSION:
            raise WireError("wrong_version", f"seal {version}, this is {VERSION}")
        if kind == REFUSAL and key_id == NO_KEY:
            raise self._refuse("without_key", source, now, _WITHOUT, 0)
        if kind == REFUSAL:
            raise self._refuse("wrong_key", source, now, "refuses this key", 0)
        key = self._keys.get(key_id)
        if key is None:
            raise self._refuse("wrong_key", source, now, "has another key", size)
        if group != self._group_id:
            raise WireError("other_group", f"group {group:08x}, this is {self._group_id:08x}")
        if kind not in self._heads:
            raise WireError("unauthentic", f"kind {kind}")
        if salt == self._salt:
            raise WireError("own")
        life = self._lives.get(salt)
        aead = life.aeads.get(key_id) if life is not None else None
        if aead is None:
            aead = key.subkey(salt, self._group)
            if life is not None:
                life.aeads[key_id] = aead
        nonce = b"\0\0\0\0" + datagram[HEAD.size - 8 : HEAD.size]
        try:
            if kind == AUTHENTICATED:
                aead.decrypt(nonce, datagram[-TAG:], memoryview(datagram)[:-TAG])
                return kind, salt, counter, datagram[HEAD.size : -TAG]
            head, sealed = datagram[: HEAD.size], memoryview(datagram)[HEAD.size :]
            return kind, salt, counter, aead.decrypt(nonce, sealed, head)
        except self._invalid:
            raise WireError("unauthentic", "damaged, or forged") from None

    def _refuse(self, reason: str, source: Endpoint, now: float, why: str, size: int) -> WireError:
        """Note what cannot be opened because of the keys; answer it, if the answer is shorter."""
        if len(self.refused) < _NOTED:
            self.refused[source] = f"{shown(source)} {why}"
        shorter = size > HEAD.size
        if shorter and now - self._refusals.get(source, float("-inf")) >= _REFUSED_PAUSE:
            if len(self._refusals) >= _NOTED:
                self._refusals.clear()
            self._refusals[source] = now
            self._answers.append((refusal(self._key_id), source))
        return WireError(reason, f"{why}; one group has one key")

    def _drop(self, problem: WireError, source: Endpoint, now: float) -> None:
        reason = problem.reason
        self.counters[reason] += 1
        if reason not in _SILENT and (times := self._pace.count(reason, now)):
            self._dropped.append(Dropped(reason, source, problem.detail, times))

    # ------------------------------------------------------------------ greetings

    def _greeting(
        self, salt: bytes, counter: int, content: bytes, source: Endpoint, now: float
    ) -> None:
        """Handle a question, an answer, or both."""
        if len(content) < _GREETING.size:
            raise WireError("unauthentic", "a greeting that is too short")
        question, answer, port = _GREETING.unpack_from(content)
        place = content[_GREETING.size :].decode(errors="replace"), port
        if place != source:
            raise WireError("moved", f"of a process at {shown(place)}")
        life = self._lives.get(salt)
        if life is not None:
            if not life.take(counter):
                raise WireError("replayed")
        elif answer == self._question:
            life = self._meet(salt, _Life({}, source, counter))
        if question != _NONE:
            self._greet(salt, question, source, now, known=life is not None)
        elif life is None:
            raise WireError("unproved")
        if life is not None and source in self._again:
            datagram, sent = self._again.pop(source)
            if now - sent < _AGAIN:
                self._answers.append((self.seal(datagram), source))

    def _greet(
        self, salt: bytes, question: bytes, to: Endpoint, now: float, *, known: bool = False
    ) -> None:
        """Answer a question, and ask one's own unless the other life has answered it."""
        if not known:
            if now - self._greeted.get(salt, float("-inf")) < _PAUSE:
                return
            if len(self._greeted) >= _NOTED:
                self._greeted.clear()
            self._greeted[salt] = now
        host, port = self._here
        mine = _NONE if known else self._question
        content = _GREETING.pack(mine, question, port) + host.encode()
        self._answers.append((self._sealed(GREETING, content), to))

    def _meet(self, salt: bytes, life: _Life) -> _Life:
        """Know a life. When an earlier one is forgotten its answers are no good any more."""
        if len(self._lives) >= LIVES:
            forgotten = self._lives.pop(next(iter(self._lives)))
            self._places.discard(forgotten.endpoint)
            self._forgotten += 1
            self._question = self._ask()
        self._lives[salt] = life
        self._places.add(life.endpoint)
        self._greeted.pop(salt, None)
        return life

    def _ask(self) -> bytes:
        """Return this life's question."""
        count = self._forgotten.to_bytes(8, "big")
        return blake2b(count, key=self._secret, digest_size=len(_NONE)).digest()

    @property
    def proved(self) -> bool:
        """Whether any other life has shown that it has the key."""
        return bool(self._lives)
