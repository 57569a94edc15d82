"""The proof of safe delivery rests on what its actions wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from raincheck.model.proof.induction import Transition, attempt, obligations
from raincheck.model.proof.logic import And, World
from raincheck.model.sequencer.proof.theory import theory
from raincheck.model.sequencer.proof.vocabulary import is_coordinator, is_heard, running


def hasty_announce(s: World, n: Any, i: Any) -> Any:
    """It announces what it has received itself."""
    mine = And(i > s.announced(n), i <= s.position(n, n))
    return And(running(s, n), is_coordinator(s, n), mine)


def hasty_release(s: World, n: Any, c: Any, r: Any) -> Any:
    """It delivers what it holds, announced or not."""
    held = And(is_heard(s, n, r), r > s.released(n))
    return And(running(s, n), running(s, c), s.coordinator(s.view(n)) == c, held)


def kept_at_the_view(transition: Transition) -> Transition:
    """It installs a view, and still holds what it held."""

    def updates(s: World, *values: Any) -> Any:
        found = dict(transition.updates(s, *values))
        del found["released"]
        return found

    return replace(transition, updates=updates)


@pytest.mark.parametrize(
    ("name", "change", "claim"),
    [
        ("Announce", lambda each: replace(each, guard=hasty_announce), "AnnouncedIsRead"),
        ("ReceiveSafe", lambda each: replace(each, guard=hasty_release), "ReleasedIsRead"),
        ("InstallView", kept_at_the_view, "OldViewsAreReleased"),
    ],
)
def test_the_proof_fails_where_an_action_does_not_wait(
    name: str, change: Callable[[Transition], Transition], claim: str
) -> None:
    whole = theory()
    changed = tuple(change(t) if t.name == name else t for t in whole.transitions)

    def proved(subject: Any) -> bool:
        found = obligations(subject, claims={claim}, transitions={name})
        kept = [each for each in found if each.kind == "kept"]
        assert kept
        return all(attempt(each, 1, 2000).proved for each in kept)

    assert proved(whole)
    assert not proved(replace(whole, transitions=changed))
