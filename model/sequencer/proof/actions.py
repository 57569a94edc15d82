"""The actions of `spec/Sequencer.tla` as guards and updates.

An action has the spec's name. Where the spec has CASE or IF, each branch is a transition of its
own. The history variables, which no guard reads, follow a comment "history".
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition

from .adversary import adversary
from .lives import lives
from .receiving import receiving
from .safe import held_by, safe
from .sending import sending
from .views import views
from .vocabulary import Basis


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return every action of the spec, under the given assumptions and repairs."""
    return (
        *held_by((*sending(basis), *receiving(basis), *lives(basis), *views(basis))),
        *safe(),
        *adversary(basis),
    )
