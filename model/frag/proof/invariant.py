"""The inductive invariant of FRAG: what is true of every state, and enough for the promises."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct

from .invariant_logs import logs, once
from .invariant_readers import READERS, deliveries
from .invariant_views import SENT, views
from .words import Basis


def invariant(basis: Basis) -> tuple[Conjunct, ...]:
    """Return the invariant over that basis, which says what a reader drops."""
    return (*views(basis), *SENT, *logs(basis), *once(basis), *READERS, *deliveries(basis))
