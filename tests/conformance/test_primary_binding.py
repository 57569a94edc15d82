"""PRIMARY's traces: its invariants are evaluated on them, and what breaks one is noticed."""

from __future__ import annotations

from typing import Any

import pytest

from raincheck.conformance.bindings.primary.invariants import INVARIANTS
from raincheck.conformance.judges.planted_invariants import Said, reported
from raincheck.conformance.trace.invariants.asked import OfState, Unshown
from raincheck.model.machine.runs import Address
from raincheck.model.primary.events import Session, ViewId
from raincheck.model.primary.handlers import Local

A, B, C = ["a", 0], ["b", 0], ["c", 0]
FIRST, SECOND, OTHER = [1, A], [2, A], [2, B]
ALL = [1, FIRST, FIRST, [A, B, C]]


def formed(who: str, event: int, session: Any) -> list[Said]:
    """The notes of a member that attempts a primary view and forms it."""
    return [(who, "tried", event, session), (who, "formed", event + 1, session)]


GOOD = [*formed("a", 2, ALL), *formed("b", 2, ALL), *formed("b", 5, [2, OTHER, FIRST, [B, C]])]


def test_a_chain_holds() -> None:
    assert reported("primary", GOOD) == []


@pytest.mark.parametrize(
    ("notes", "broken"),
    [
        (formed("a", 5, [2, SECOND, FIRST, [A, C]]), "OneAtANumber"),
        (formed("a", 5, [3, SECOND, FIRST, [A]]), "OneChain"),
        ([("a", "formed", 5, [3, SECOND, FIRST, [A, B]])], "Recorded"),
        ([("a", "formed", 5, [3, SECOND, FIRST, [B, C]])], "Recorded"),
    ],
)
def test_what_breaks_an_invariant_between_members_is_noticed(
    notes: list[Said], broken: str
) -> None:
    complaints = reported("primary", [*GOOD, *notes])

    assert [each.split(" is ")[0] for each in complaints] == [f"primary.{broken}"]


def test_a_state_that_is_not_well_formed_is_noticed() -> None:
    (part,) = INVARIANTS.of["TypeOK"]
    assert isinstance(part, OfState)
    me, view = Address("a", 0), ViewId(1, Address("a", 0))
    session = Session(1, view, view, ((me, 1),))
    good = Local(me, 1, False, view, frozenset((me,)), "primary", session)

    assert part.evaluate(None, None, good)
    assert not part.evaluate(None, None, good._replace(last=None))
    assert not part.evaluate(None, None, good._replace(attempts=frozenset((session,))))


def test_what_a_trace_cannot_show_is_named() -> None:
    unshown = {name for name, parts in INVARIANTS.of.items() if isinstance(parts[0], Unshown)}

    assert unshown == {"OneActive", "OneHistory", "GoesOn"}
