"""FLUSH in groups that merge, beyond the spec: numbers that are skipped, a flush without an end.

`spec/Flush.tla` has one group. A merged view is the next one of each side, with a number above
those of all. A side is suspended for it by its own leader. Where the merged view is flushed before
all go on, by whichever leader, that flush ends the one before: its leader yields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address

from . import events, handlers
from .handlers import Answer, Local, Rules, without_answers


class InstallView(NamedTuple):
    """The member installs the next view; `merged`: a merge has made it."""

    view: int
    members: tuple[Address, ...]
    merged: bool


class Yield(NamedTuple):
    """The member's own flush is over, and another one has begun."""


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """A merged view has a higher number, which need not be the next one."""
    number, members, merged = event
    if not merged:
        return handlers.install_view(rules, me, events.InstallView(number, members))
    refused = refusal((number > me.view, "v > view[n]", {"v": number, "view": me.view}))
    at = me._replace(view=number - 1)
    return refused or handlers.install_view(rules, at, events.InstallView(number, members))


def yields(_rules: Rules, me: Local, _event: Yield) -> Answer:
    """Its questions are not answered any more."""
    refused = refusal((me.asked is not None, "asked[n] # <<>>", {"suspended": me.suspended}))
    return refused or Accepted(without_answers(me)._replace(asked=None, participants=()))


INPUTS: Final[Mapping[str, type[Any]]] = {"Yield": Yield}
HANDLERS: Final[Mapping[str, Callable[[Rules, Local, Any], Answer]]] = {"Yield": yields}
