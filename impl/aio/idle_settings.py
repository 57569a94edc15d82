"""Arguments of `connect` that another one leaves without effect: each is refused.

Nobody gives an argument that is to do nothing. One that is taken in silence is believed in: votes
without `primary=` leave both sides of a partition going on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from raincheck.impl.arguments import defaults_of, shown_value, without_effect
from raincheck.impl.errors import ConfigError
from raincheck.impl.recording.sending import reader_at
from raincheck.impl.stack.config import StackConfig

OF_PRIMARY = ("expected_votes", "votes", "tie_breaker", "found", "primary_timeout")
"""What is for groups with `primary=` alone."""
BESIDE = (
    "admit",
    "on_merge",
    "order",
    "delivery",
    "stability",
    "repair",
    "primary",
    "expected_votes",
    "votes",
    "tie_breaker",
    "found",
)
"""The arguments that are settings of the stack too."""
FILLED_IN = ("cluster", "initial_hosts", "discovery", "sums")
"""The settings of a stack that `connect` fills in, from its own arguments and the transport."""


def check_filled_in(argument: str, settings: object, names: Collection[str]) -> None:
    """Raise ConfigError for settings that are replaced by what `connect` fills in."""
    defaults = defaults_of(type(settings))
    for name in names:
        if getattr(settings, name) != defaults[name]:
            raise ConfigError(
                f"{argument}= has {name}={shown_value(getattr(settings, name))}, which connect "
                f"fills in from its other arguments; leave it out of the "
                f"{type(settings).__name__}"
            )


def check_given(config: Any, stack: StackConfig) -> None:
    """Raise ConfigError for the first argument of a channel that has no effect beside the others.

    None stands for one that is not given.
    """
    problem = next(_idle(config, stack), "")
    if problem:
        raise ConfigError(problem)


def check_trace(config: Any) -> None:
    """Raise ConfigError for a trace's socket that cannot be, and for what only a trace has."""
    try:
        reader_at(str(config.trace))
    except ValueError as error:
        raise ConfigError(f"trace={error}") from error
    if config.recorded:
        return
    for name in ("run", "nodes"):
        value = getattr(config, name)
        if value != defaults_of(type(config))[name]:
            raise ConfigError(
                f"{name} is {shown_value(value)}, and only a trace has it; give trace=, or "
                f"leave {name}= out"
            )


def _idle(config: Any, stack: StackConfig) -> Iterator[str]:
    if config.primary is None and stack.primary is None:
        for name in OF_PRIMARY:
            value = getattr(config, name)
            if value is not None:
                yield without_effect(name, value, "primary='majority'", "give primary=")
    for name in BESIDE:
        value, set_there = getattr(config, name), getattr(stack, name)
        if value is not None and set_there not in (value, defaults_of(StackConfig)[name]):
            yield (
                f"{name} is {shown_value(value)}, and stack= has {name}={shown_value(set_there)}; "
                f"say it in one of the two places"
            )
    if config.group is not None and config.transport != "multicast":
        yield (
            f"group is {shown_value(config.group)}, and transport {config.transport!r} has no IP "
            f"group; give transport='multicast', or leave group= out"
        )
    if config.advertise is not None and config.transport == "multicast":
        yield "advertise= is for the transports udp and tcp, not for multicast; leave it out"
