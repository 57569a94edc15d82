"""LOCKS in real runs, beyond what a node of an instance does: one process follows another.

In the specification `Crash` and `Recover` are steps of the ring. The file of a real member goes on
with its next process, so that its records have what these do to the member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from raincheck.model.machine.composed import Handler
from raincheck.model.machine.machine import Accepted, refusal

from .events import Epoch
from .handlers import Answer, Local, Rules


class NewSession(NamedTuple):
    """The member goes on with another session; its copy of the token is of that epoch."""

    session: int
    epoch: Epoch | None


def new_session(_rules: Rules, me: Local, event: NewSession) -> Answer:
    """The ring remembers the member's place, and nobody its locks."""
    refused = refusal(
        (event.session > me.session, "session' > session[n]", {"session": me.session})
    )
    return refused or Accepted(Local(me.me, event.session, event.epoch), ())


INPUTS: Mapping[str, type[Any]] = {"NewSession": NewSession}
HANDLERS: Mapping[str, Handler] = {"NewSession": new_session}
