"""The next life of a member that was excluded: when it begins, and with which settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from raincheck.impl.messages import Endpoint
from raincheck.impl.stack.stack import Stack

from .connect import ChannelConfig

_FIRST, _LONGEST = 0.5, 30.0


class Backoff:
    """The pauses before attempts: each twice as long as the one before, up to a bound.

    After a life that was longer than the longest pause they begin anew.
    """

    def __init__(self) -> None:
        self._pause = _FIRST
        self._began = float("-inf")

    def next(self, now: float) -> float:
        """Return how long to wait before the next attempt."""
        if now - self._began > 2 * _LONGEST:
            self._pause = _FIRST
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST)
        self._began = now + pause
        return pause


def next_life(config: ChannelConfig, stack: Stack, hosts: Sequence[Endpoint]) -> ChannelConfig:
    """Return the settings of the life after that stack's; `hosts` are the initial ones, resolved.

    It asks the members of its last view too. It founds a group only if nobody answers for as long
    as connecting may take: those who excluded it were there a moment ago. What an operator has said
    of the first life (`found`) does not hold for this one.
    """
    clock = time.time_ns() // 1_000_000 if config.incarnation is None else 0
    return replace(
        config,
        name=stack.address.node,
        incarnation=max(clock, stack.address.incarnation + 1),
        initial_hosts=tuple(dict.fromkeys((*hosts, *stack.endpoints))),
        found=None if stack.config.primary is None else False,
        stack=replace(
            config.stack,
            found=False,
            join_timeout=max(config.stack.join_timeout, config.timeout),
        ),
    )
