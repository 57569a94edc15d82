"""TOTAL as real processes run it: the part that `spec/Total.tla` omits and traces show.

A sequencer forgets what all others have acknowledged; one that is alone in its view has nobody to
wait for. In the specification it keeps all of that view then, which the instances bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal

from .handlers import Answer, Local, Rules, is_sequencer


class Forget(NamedTuple):
    """A sequencer that is alone forgets its broadcasts."""


def forget(_rules: Rules, me: Local, _event: Forget) -> Answer:
    """Forget all broadcasts: nobody else is in the view."""
    alone = is_sequencer(me) and me.members == (me.me,)
    return refusal(
        (alone, "Members(CurrentView(n)) = {Address(n)}", {"members": me.members})
    ) or Accepted(me._replace(history=frozenset()))


INPUTS: Final[Mapping[str, type[Any]]] = {"Forget": Forget}
HANDLERS: Final[Mapping[str, Callable[[Any, Local, Any], Answer]]] = {"Forget": forget}
