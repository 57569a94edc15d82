"""Who draws Raincore's figures: the model, and the code, each after the same story.

Four founders begin, with a number such that the ring is in agreement when it reaches the paper's
first label. In Figures 13 and 14 B crashes after it has sent the token on; in Figure 14 it comes
back, with the state that it had, while A holds the token again in agreement.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Final

from raincheck.impl.messages import Address
from raincheck.impl.raincore import Raincore, Repairs
from raincheck.impl.raincore_events import (
    Call911,
    EatingTimeout,
    Effect,
    Event,
    Initialise,
    Message,
    Nodelist,
    Recover,
    Token,
    arrival,
    failure,
)
from raincheck.model import raincore_figures
from raincheck.model.raincore_local import Rules

from .ringfigures import Drawing, Figure, Label, shown

BEGIN: Final = 3
"""The number under which A first holds the token: three rounds later it is 11, in agreement."""
CRASH: Final = 15
"""While A holds this number, B crashes."""
BACK: Final = 25
"""While A holds this number, B comes back."""


class CodeRing:
    """Real cores, on a network that loses nothing and reports who is down."""

    def __init__(self, nodes: str, repairs: Repairs, *, core: type[Raincore] = Raincore) -> None:
        self.members = {Address(node, 0): core(Address(node, 0), repairs=repairs) for node in nodes}
        self.down: set[Address] = set()
        self.labels: list[Label] = []
        self._under_way: deque[tuple[Address, Message]] = deque()
        founders = tuple(self.members)
        for member in founders:
            self._handle(member, Initialise("founder", founders, ()))
        for each in self.members.values():  # the text wants a unique number to begin with
            copy = each.last_token
            each.last_token = copy._replace(seq=copy.seq + BEGIN - 1)

    def draw(self, figure: Figure) -> Drawing:
        """Play the figure's story up to its last number."""
        b, a = Address("B", 0), self.members[Address("A", 0)]
        for _ in range(figure.last * 2):  # a ring that has stopped gets no further
            self._settle()
            holding = a.last_token.seq if a.token_state == "eating" else 0
            if figure.number >= 13 and holding == CRASH:
                self.down.add(b)
                self.members[b].up = "down"
            if figure.number >= 14 and holding == BACK and b in self.down:
                self.down.discard(b)
                self._handle(b, Recover())
                self._settle()
            if self.labels and max(label.seq for label in self.labels) >= figure.last:
                break
            for node, member in self.members.items():
                if node not in self.down and member.token_state == "eating":
                    self._handle(node, EatingTimeout())
                    break
        return Drawing(shown(self.labels, figure), self._views())

    def _settle(self) -> None:
        """Deliver what is under way, and what follows from it."""
        while self._under_way:
            sender, message = self._under_way.popleft()
            if message.to not in self.down:
                self._handle(message.to, arrival(message))
            elif sender not in self.down:
                self._handle(sender, failure(message))

    def _handle(self, node: Address, event: Event) -> None:
        member = self.members[node]
        before = _shows(member)
        effects = member.handle(event)
        self._under_way += [(node, each) for each in effects if isinstance(each, Token | Call911)]
        if isinstance(event, Recover):
            self.labels.append(_label(node, *_shows(member)[1:]))
        else:
            self.labels += _labels(node, before, _shows(member), effects)

    def _views(self) -> dict[str, tuple[str, ...]]:
        return {
            node.node: tuple(_letters(view) for view in member.global_view)
            for node, member in self.members.items()
        }


_Shows = tuple[bool, Nodelist, str, int]
"""Whether a member eats, its localView, its view state, and its lastTokenSeq."""


def _shows(member: Raincore) -> _Shows:
    copy = member.last_token
    return member.token_state == "eating", copy.nodelist, member.view_state, copy.seq


def _labels(node: Address, before: _Shows, after: _Shows, effects: list[Effect]) -> Iterator[Label]:
    """A label for a token that is received, changed or made; what is only sent on has none."""
    if after[0] and after != before:
        yield _label(node, *after[1:])
    for each in effects:
        if isinstance(each, Token) and each.nodelist != before[1]:
            # Changed, which takes one number, and sent on, which takes the next, in one step.
            yield _label(node, each.nodelist, after[2], each.seq - 1)


def _label(node: Address, nodelist: Nodelist, view_state: str, seq: int) -> Label:
    return Label(node.node, _letters(nodelist), view_state[0], seq)


def _letters(nodelist: Iterable[Address]) -> str:
    return "".join(each.node for each in nodelist)


def as_written() -> Repairs:
    """No repair but the one founder, without which the text's ring begins with four tokens."""
    undone = {each.name: False for each in fields(Repairs)}
    return Repairs(**undone | {"one_founder": True})


def by_model(figure: Figure, repaired: bool) -> Drawing:
    """The figure as the model draws it."""
    rules = Rules() if repaired else Rules(**{each.name: False for each in fields(Rules)})
    try:
        drawn = raincore_figures.figure(figure.number, rules)
    except RuntimeError:  # it comes to no end
        return Drawing((), {})
    labels = tuple(
        Label(label.node, "".join(label.nodelist), label.view_state[0], label.seq)
        for label in drawn.labels
    )
    views = {
        node: tuple("".join(view or ()) for view in views) for node, views in drawn.views.items()
    }
    return Drawing(shown(labels, figure), views)


def by_code(figure: Figure, repaired: bool) -> Drawing:
    """The figure as the code draws it."""
    return CodeRing(figure.nodes, Repairs() if repaired else as_written()).draw(figure)
