"""Pure functions of GMS over the views that the members of a change have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from raincheck.impl.messages import Address, View, ViewId

from .events import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the text's holes, by the spec's constants. Only tests turn any of them off."""

    flush: bool = True
    pending: str = "queue"
    install_when: str = "held"
    view_acks: bool = True
    takeover: bool = True
    readmit: bool = True
    idempotent_join: bool = True
    incarnations: bool = True


def unfinished(
    repairs: Repairs, view: View, held: Sequence[View], answers: Iterable[Answer]
) -> View | None:
    """Return the latest view that any survivor has, unless all have installed it."""
    if not repairs.takeover or not repairs.flush:
        return None
    known = [*held, *(v for a in answers for v in (a.view, *a.held))]
    if all(v.id == view.id for v in known):
        return None
    return max((view, *known), key=lambda v: (v.id.counter, _seniority(view, v)))


def _seniority(view: View, proposed: View) -> int:
    """Order views; of two with one number, due to a wrong suspicion, the later leader's wins."""
    leader = proposed.id.coordinator
    return view.members.index(leader) if leader in view.members else len(view.members)


def replaced(members: Iterable[Address], joining: Iterable[Address]) -> set[Address]:
    """Return the members that a later incarnation of their node asks to replace."""
    latest = {joiner.node: joiner.incarnation for joiner in joining}
    return {m for m in members if m.incarnation < latest.get(m.node, 0)}


def next_view(
    repairs: Repairs,
    me: Address,
    view: View,
    held: Sequence[View],
    gone: Set[Address],
    joining: Iterable[Address],
) -> View | None:
    """Return V2 = M - S - L + J, or None if that is the present view."""
    base = held[-1] if repairs.pending in ("updated", "list") and held else view
    stay = tuple(m for m in base.members if m not in gone)
    new = sorted(joining)
    if repairs.idempotent_join:
        # Who was a member and asks anew is taken out by this view and admitted by the one after
        # it: a joiner is whom the view before lacks, and so everybody can tell who is one.
        new = [j for j in new if j not in base.members]
    joiners = tuple(new if repairs.pending == "queue" else new[:1])
    if stay == base.members and not joiners:
        return None
    return View(ViewId(base.id.counter + 1, me), (*stay, *joiners), joiners)


def prevails(sender: Address, theirs: View, mine: View) -> bool:
    """Whether the sender's view, which is without me, is the one that goes on.

    If I know the sender as a member its view does if it is later than mine. Of two sides of a
    partition that have excluded each other the larger one does; if they are equal, the one with
    more views behind it, then the one whose coordinator has the smaller address.
    """
    if sender in mine.members and theirs.id.counter != mine.id.counter:
        return theirs.id.counter > mine.id.counter
    size, other = len(mine.members), len(theirs.members)
    if (other, theirs.id.counter) != (size, mine.id.counter):
        return (other, theirs.id.counter) > (size, mine.id.counter)
    return theirs.id.coordinator < mine.id.coordinator
