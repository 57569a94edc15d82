"""The asking side of a live question, without clock and socket.

asker = Asker(number)                  # a number that nobody can guess
send asker.datagram(), now and again until asker.over
if asker.take(datagram): send asker.datagram() at once
"""

from __future__ import annotations

from raincheck.impl.errors import WireError

from . import wire


class Asker:
    """One question to one member."""

    def __init__(self, question: int) -> None:
        self._question = question
        self._cookie = 0
        self.answer: bytes | None = None
        """The answer, once it is there."""
        self.refusal = ""
        """Why there will be none, as it continues the sentence that names the member."""

    @property
    def over(self) -> bool:
        """Whether there is an answer, or there will be none."""
        return self.answer is not None or bool(self.refusal)

    def datagram(self) -> bytes:
        """Return the question, with the cookie that was given."""
        return wire.made(wire.ASK, self._question, self._cookie)

    def take(self, datagram: bytes) -> bool:
        """Take what has come from the member; return whether to ask again at once."""
        try:
            told = wire.read(datagram)
        except WireError as problem:
            if problem.reason == "wrong_version" and wire.question_of(datagram) == self._question:
                self.refusal = (
                    f"speaks another version of the protocol ({problem.detail}); "
                    f"use the release that it has"
                )
            return False
        if told.question != self._question or self.over:
            return False
        if told.kind == wire.COOKIE and told.number != self._cookie:
            self._cookie = told.number
            return True
        if told.kind == wire.REFUSED:
            self.refusal = "does not allow this process to ask; see ask= there"
        elif told.kind == wire.ANSWER:
            self.answer = told.body
        return False
