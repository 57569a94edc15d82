"""The settings of a ring, with their defaults and the combinations that cannot work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from raincheck.impl.arguments import (
    FLAG,
    SECONDS,
    STRING,
    TEXT,
    check,
    check_settings,
    choice,
    count,
)
from raincheck.impl.errors import ConfigError

HEADROOM = 16_384
"""Bytes of a datagram kept free for all of a token but its mail."""
_DATAGRAM = count(2 * HEADROOM, 65_507, ", the most that UDP carries")

RECOVERIES: Mapping[str, Mapping[str, float]] = {
    "lan": {},
    "fast": {
        "eating": 0.01,
        "hungry": 0.12,
        "starving": 0.1,
        "retransmit_after": 0.015,
        "retransmit_max": 0.04,
        "give_up": 0.08,
        "give_up_again": 0.04,
        "hello": 0.03,
    },
    "wan": {
        "eating": 0.2,
        "hungry": 8.0,
        "starving": 4.0,
        "retransmit_after": 0.3,
        "retransmit_max": 1.0,
        "give_up": 3.0,
        "give_up_again": 1.0,
        "hello": 0.5,
    },
}
"""Times that go together; all members of a ring should have those of one name.

The defaults are "lan". "fast" recovers from a crash in about 0.3 s, and takes a pause of 0.08 s for
one. "wan" bears pauses of three seconds and long ways.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RingConfig:
    """Settings of one member of a ring. Times are in seconds, sizes in bytes."""

    ring: Annotated[str, TEXT] = "raincheck"
    """Name of the ring; datagrams of other rings are counted and dropped."""
    identity: Annotated[str, STRING] = ""
    """What its founding has made of the name; datagrams of a ring of another identity are those of
    another ring. Set by whoever connects."""

    eating: Annotated[float, SECONDS] = 0.05
    """The longest time that an idle token rests at each member; it goes on at once where somebody
    wants it, or with mail."""
    hungry: Annotated[float, SECONDS] = 2.0
    """A member that has not had the token for so long, and for the rests of the others, suspects
    that it is lost."""
    starving: Annotated[float, SECONDS] = 1.0
    """Time after which an unanswered 911 is repeated; doubles, with jitter, up to eightfold."""

    retransmit_after: Annotated[float, SECONDS] = 0.05
    """First retransmission when nothing is acknowledged, and later where round trips are measured
    to be longer; doubles each time, up to `retransmit_max`."""
    retransmit_max: Annotated[float, SECONDS] = 0.2
    """The longest pause between retransmissions."""
    give_up: Annotated[float, SECONDS] = 0.8
    """A message that is not acknowledged within this time is reported as undelivered."""
    give_up_again: Annotated[float, SECONDS] = 0.2
    """The same for a member that has failed and has not been heard since."""
    hello: Annotated[float, SECONDS] = 0.1
    """Time between two questions of a joiner to possible members."""

    max_members: Annotated[int, count(2, 256)] = 64
    """The most members of a ring; further ones are not admitted."""
    sums: Annotated[bool, FLAG] = True
    """Whether datagrams have a checksum. Those that a transport seals under a key need none."""
    joins_per_minute: Annotated[int, count(1)] = 30
    """Guests of one endpoint in a minute at a member, and ten times as many of all; more of them
    wait."""
    max_datagram: Annotated[int, _DATAGRAM] = 60_000
    """The most bytes of one datagram, which the token shares with all mail of a round."""
    send_buffer: Annotated[int, count(1)] = 1 << 20
    """Bytes of messages that `multicast` accepts before the token comes."""

    @classmethod
    def preset(cls, name: str, **settings: Any) -> RingConfig:
        """Return the settings of one of `RECOVERIES`, but for those that are given here."""
        check("preset", name, choice(*RECOVERIES))
        return cls(**{**RECOVERIES[name], **settings})

    @property
    def mail(self) -> int:
        """Bytes of mail that a token carries."""
        return self.max_datagram - HEADROOM

    @property
    def locks(self) -> int:
        """Bytes of mail that the table of all named locks may take."""
        return self.mail // 3

    @property
    def max_message(self) -> int:
        """The most bytes of one message: the token has room for one of each member in turn."""
        return self.mail // 2 - 64

    def __post_init__(self) -> None:
        """Reject settings that cannot work."""
        check_settings(self, RingConfig)
        if self.hungry <= self.eating:
            raise ConfigError(
                f"hungry ({self.hungry}) must be above eating ({self.eating}), "
                f"or a token that rests is taken for lost"
            )
        if self.give_up >= self.hungry:
            raise ConfigError(
                f"give_up ({self.give_up}) must be below hungry ({self.hungry}), or the others "
                f"take the token for lost before its sender knows that a member has failed"
            )
        if self.give_up_again > self.give_up:
            raise ConfigError(
                f"give_up_again ({self.give_up_again}) must be at most give_up ({self.give_up}): "
                f"it is for members that have failed before"
            )
        if self.retransmit_after > self.retransmit_max:
            raise ConfigError(
                f"retransmit_after ({self.retransmit_after}) must be at most retransmit_max "
                f"({self.retransmit_max})"
            )
        if 2 * self.retransmit_after > self.give_up_again:
            raise ConfigError(
                f"give_up_again ({self.give_up_again}) must be at least twice retransmit_after "
                f"({self.retransmit_after}), or one lost datagram is taken for a failed member"
            )
        if self.starving <= self.give_up:
            raise ConfigError(
                f"starving ({self.starving}) must be above give_up ({self.give_up}), "
                f"or a 911 is begun anew before it can pass a failed member"
            )
        if self.send_buffer < self.max_message:
            raise ConfigError(
                f"send_buffer ({self.send_buffer}) must hold at least one message of "
                f"{self.max_message} bytes"
            )
