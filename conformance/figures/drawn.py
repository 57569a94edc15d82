"""The sources of Raincore's figures: the model and the implementation, each playing the same story.

Four founders begin, with a number such that the ring is in agreement when it reaches the paper's
first label. In Figures 13 and 14 B crashes after it has sent the token on; in Figure 14 it comes
back with its former state while A holds the token again in agreement.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from typing import Final

from raincheck.impl.raincore.core import Raincore, Repairs
from raincheck.impl.raincore.events import Event, Initialise, Recover
from raincheck.impl.simulation.ring import Link, RingSimulator
from raincheck.model.raincore import figures as raincore_figures
from raincheck.model.raincore.local import Rules

from .figures import Drawing, Figure, Label, shown

BEGIN: Final = 3
"""The number under which A first holds the token: two rounds later it is 11, in agreement."""
CRASH: Final = 15
"""While A holds this number, B crashes."""
BACK: Final = 25
"""While A holds this number, B comes back."""
_LONG_ENOUGH: Final = 30.0
"""Seconds of virtual time."""


def by_model(figure: Figure, repaired: bool) -> Drawing:
    """Return the figure that the model draws."""
    rules = Rules() if repaired else Rules(**{each.name: False for each in fields(Rules)})
    try:
        drawn = raincore_figures.figure(figure.number, rules)
    except RuntimeError:  # it does not terminate
        return Drawing((), {})
    labels = tuple(
        Label(label.node, "".join(label.nodelist), label.view_state[0], label.seq)
        for label in drawn.labels
    )
    views = {
        node: tuple("".join(view or ()) for view in views) for node, views in drawn.views.items()
    }
    return Drawing(shown(labels, figure), views)


def by_code(figure: Figure, repaired: bool, link: Link | None = None) -> Drawing:
    """Return the figure that the code draws: members with Transport Manager and timers."""
    return _Story(figure, Repairs() if repaired else as_written(), link).drawing()


def as_written() -> Repairs:
    """Return only the repair OneFounder; without it the text's ring begins with four tokens."""
    undone = {each.name: False for each in fields(Repairs)}
    return Repairs(**undone | {"one_founder": True})


class _Story:
    """A ring in virtual time, and the labels that its nodes show."""

    def __init__(self, figure: Figure, repairs: Repairs, link: Link | None) -> None:
        self.figure = figure
        self.labels: list[Label] = []
        self.last = 0
        self._shown = dict.fromkeys(figure.nodes, (False, "", "", 0))
        self.ring = RingSimulator(repairs=repairs, link=link)
        self.ring.on_event = self._seen

    def drawing(self) -> Drawing:
        """Play the figure's story up to its last number, or until nothing moves."""
        self.ring.found(*self.figure.nodes)
        with suppress(TimeoutError):
            self.ring.run_until(lambda: self.last >= self.figure.last, _LONG_ENOUGH)
        views = {
            node: tuple(_letters(each.node for each in view) for view in member.core.global_view)
            for node, member in self.ring.members.items()
        }
        return Drawing(shown(self.labels, self.figure), views)

    def _seen(self, node: str, core: Raincore, event: Event) -> None:
        """Note an event of a node, and show a token that it received, changed or made."""
        if isinstance(event, Initialise):  # the text wants a unique number to begin with
            core.last_token = core.last_token._replace(seq=core.last_token.seq + BEGIN - 1)
        copy = core.last_token
        nodelist = _letters(each.node for each in copy.nodelist)
        eats = core.token_state == "eating"
        before, self._shown[node] = self._shown[node], (eats, nodelist, core.view_state, copy.seq)
        if isinstance(event, Recover) or (eats and before != self._shown[node]):
            self._show(Label(node, nodelist, core.view_state[0], copy.seq))
        elif not eats and before[1] and nodelist != before[1]:
            # Changing the list takes one number, and sending on takes the next, in one step.
            self._show(Label(node, nodelist, core.view_state[0], copy.seq - 1))
        number = self.figure.number
        if number >= 13 and (node, eats, copy.seq) == ("A", True, CRASH) and self.ring["B"].up:
            self.ring.crash("B")
        if number >= 14 and (node, eats, copy.seq) == ("A", True, BACK) and not self.ring["B"].up:
            self.ring.after(0.0, lambda: self.ring.recover("B"))

    def _show(self, label: Label) -> None:
        self.labels.append(label)
        self.last = max(self.last, label.seq)


def _letters(names: Iterable[str]) -> str:
    return "".join(names)
