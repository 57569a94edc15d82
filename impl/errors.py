"""The errors: each says in one clear sentence what failed, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class RaincheckError(Exception):
    """The root of all errors that an application can catch."""


class ConfigError(RaincheckError):
    """The configuration cannot work."""


class ArgumentError(RaincheckError, TypeError, ValueError):
    """An argument of a call of a member is none that the call takes; nothing was done."""


class MessageTooLarge(RaincheckError, ValueError):
    """A message has more bytes than `max_message`, or than fit into one bundle if it must."""

    def __init__(
        self,
        size: int,
        most: int,
        what_to_do: str = "raise max_message in all members, or split the message",
    ) -> None:
        super().__init__(
            f"a message of {size} bytes is too large: at most {most} bytes; {what_to_do}"
        )


class WouldBlock(RaincheckError):
    """The send buffer is full; wait until the stack is writable again."""


class NotInView(RaincheckError):
    """A message or call is for a process that is not a member of the view."""


class NotPrimary(RaincheckError):
    """Nothing can be sent to the group now: this member's view is not primary, and why."""


class Misused(RaincheckError, RuntimeError):
    """A call that could only wait for ever, or that another task or event loop has to make."""


class LockMisused(Misused):
    """A call of a lock that could only wait for itself, or of one that its task does not have."""


class LocksFull(RaincheckError):
    """The ring's table of named locks has no room for one more request."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"lock {name!r} cannot be asked for: {why}")


class CallFailed(RaincheckError):
    """A call of one member has no answer; the message says why."""


class NotMember(RaincheckError):
    """The member has left, or was excluded: nothing can be sent any more."""


class AskRefused(RaincheckError):
    """A member does not tell a process its status; the message says why."""


class NotEnabled(RaincheckError):
    """The guard of a handler is false; `conjuncts` names what is false in it, with the values."""

    def __init__(self, action: str, conjuncts: Mapping[str, object]) -> None:
        self.action = action
        self.conjuncts = dict(conjuncts)
        false = "; ".join(f"{text} (is {value!r})" for text, value in conjuncts.items())
        super().__init__(f"{action} is not enabled: {false}")


class WireError(RaincheckError):
    """A datagram cannot be read; `reason` is the counter's name."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


class WaitTimeout(RaincheckError, TimeoutError):
    """A wait took too long; `missing` names whom it waited for, and for what."""

    def __init__(self, what: str, seconds: float, missing: Sequence[str] = ()) -> None:
        self.missing = list(missing)
        for_whom = f"; missing={self.missing}" if self.missing else ""
        super().__init__(f"{what} took longer than {seconds:g} s{for_whom}")
