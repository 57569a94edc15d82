"""Arguments of `Channel.connect` that another one leaves without effect: each is refused.

Nobody gives an argument that is to do nothing. One that is taken in silence is believed in: votes
without `primary=` leave both sides of a partition going on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from raincheck.impl.errors import ConfigError
from raincheck.impl.stack.config import StackConfig

OF_PRIMARY = ("expected_votes", "votes", "tie_breaker", "found", "primary_timeout")
"""What is for groups with `primary=` alone."""
CHECKED = ("transport", "group", "primary", *OF_PRIMARY)
"""The arguments that `check_given` looks at."""
_FILLED_IN = ("cluster", "initial_hosts", "discovery", "sums")
"""The settings of a stack that `connect` fills in, from its own arguments and the transport."""


def check_stack(stack: object) -> None:
    """Raise ConfigError for what are no settings of a stack, or settings that are replaced."""
    if not isinstance(stack, StackConfig):
        raise ConfigError(
            f"stack is {stack!r}; give a StackConfig, as in stack=StackConfig(max_bundle=9000)"
        )
    defaults = {each.name: each.default for each in fields(StackConfig)}
    for name in _FILLED_IN:
        if getattr(stack, name) != defaults[name]:
            raise ConfigError(
                f"stack= has {name}={getattr(stack, name)!r}, which connect fills in from its "
                f"other arguments; leave it out of the StackConfig"
            )


def check_given(given: Mapping[str, Any], stack: StackConfig) -> None:
    """Raise ConfigError for the first of these arguments that has no effect beside the others.

    None stands for one that is not given.
    """
    found = _idle({name: value for name, value in given.items() if value is not None}, stack)
    problem = next(found, "")
    if problem:
        raise ConfigError(problem)


def _idle(given: Mapping[str, Any], stack: StackConfig) -> Iterator[str]:
    if "primary" not in given and stack.primary is None:
        for name in OF_PRIMARY:
            if name in given:
                yield (
                    f"{name} is {given[name]!r}, and only groups with primary='majority' go by it; "
                    f"give primary=, or leave {name}= out"
                )
    if "group" in given and given["transport"] != "multicast":
        yield (
            f"group is {given['group']!r}, and transport {given['transport']!r} has no IP group; "
            f"give transport='multicast', or leave group= out"
        )
