"""One view change as its leader sees it: who has answered, and what follows from the answers."""

from __future__ import annotations

from collections.abc import Iterable

from .headers import Fetch, PlacedView, Prepared
from .messages import Address, View, ViewId


class Change:
    """A view change that this member leads. `waiting`: who has still to answer."""

    def __init__(self, attempt: int, gone: set[Address], waiting: Iterable[Address]) -> None:
        self.attempt = attempt
        self.counter = 0  # of the view, once that is decided
        self.gone = gone
        self.waiting = set(waiting)
        self.answers: dict[Address, Prepared] = {}
        self.preparing = True

    def survey(self, view: View) -> tuple[list[PlacedView], tuple[Fetch, ...]]:
        """From all answers: the views that only others have, and what is to be fetched."""
        missed: dict[int, PlacedView] = {}
        furthest: dict[Address, Fetch] = {}
        for holder in sorted(self.answers):
            answer = self.answers[holder]
            missed |= {placed.view.id.counter: placed for placed in answer.views}
            for sender, at in answer.received.entries:
                if sender not in furthest or at > furthest[sender].at:
                    furthest[sender] = Fetch(sender, at, holder)
        before = [missed[counter] for counter in sorted(missed) if counter > view.id.counter]
        return before, tuple(furthest.values())

    def decide(
        self, me: Address, view: View, before: list[PlacedView], joining: Iterable[Address]
    ) -> View:
        """Decide the next view: survivors in order, then joiners. It waits for the survivors."""
        last = before[-1].view if before else view
        # Who joined with a view that not all survivors have cannot have got its JOIN_RSP.
        gone = self.gone | {joiner for placed in before for joiner in placed.view.joiners}
        stay = tuple(member for member in last.members if member not in gone)
        # Who was a member and asks anew is taken out by this view and admitted by the one after
        # it: a joiner is whom the view before lacks, and so everybody can tell who is one.
        joiners = tuple(sorted(joiner for joiner in joining if joiner not in last.members))
        self.counter = last.id.counter + 1
        self.preparing = False
        self.waiting = {member for member in stay if member != me}
        return View(ViewId(self.counter, me), (*stay, *joiners), joiners)
