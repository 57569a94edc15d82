"""The inductive invariant of SEQUENCER, conjunct by conjunct.

Each conjunct has a name, a sentence (docs/proofs.md explains how they fit together) and a formula.
None mentions bounds: v ranges over all views decided so far, i over places in a stream, j over the
deliveries of a process, k over seqnos.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct

from .invariant_order import heard_conjuncts, order_conjuncts
from .invariant_safe import safe_conjuncts
from .invariant_streams import joiners_conjuncts, streams_conjuncts
from .invariant_views import lives_conjuncts, messages_conjuncts, views_conjuncts
from .vocabulary import Basis


def invariant(basis: Basis) -> tuple[Conjunct, ...]:
    """Return the conjuncts, those about views first."""
    return (
        *lives_conjuncts(),
        *views_conjuncts(),
        *messages_conjuncts(),
        *streams_conjuncts(),
        *joiners_conjuncts(),
        *order_conjuncts(basis),
        *heard_conjuncts(),
        *safe_conjuncts(),
    )
