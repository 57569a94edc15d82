"""Part (b), virtual synchrony: a member that goes on to a view has read all of the one before.

It evaluates the guard of `InstallView` on everybody's streams from each file's `Cut`s. A member has
to read all that anybody had read, and all that a coordinator that keeps its role had multicast.
When a coordinator loses its role, `Decide` of the specification may cut off what no survivor had
read. Law of this file: it sees summaries, never events, and shares no rule with `direct.py`, which
it is held against.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import VIOLATED, FalseConjunct, Finding

from .summary import Cut, Summary

Summaries = Mapping[Address, Summary]
GUARD = (
    r"VirtualSynchrony => \A c \in NodesOf(old) : "
    r"\A i \in position[n][c] + 1 .. Len(stream[c]) : stream[c][i].view >= v"
)


@dataclass(slots=True)
class Change:
    """A view change: where everybody stood who left the old view, by going on or by ending."""

    view: int
    old: tuple[Address, ...]
    new: tuple[Address, ...]
    cuts: dict[Address, tuple[Cut, dict[Address, int]]] = field(default_factory=dict)
    whole: int = 0
    """How long the stream of the old coordinator was, as far as its own file tells."""

    @property
    def keeps_role(self) -> bool:
        """Whether the old coordinator is the new one: then its stream is not cut."""
        return self.old[0] == self.new[0]

    def went_on(self) -> list[Address]:
        """Who installed the new view."""
        return [who for who, (cut, _) in self.cuts.items() if cut.index]

    def needed(self, c: Address) -> tuple[int, str]:
        """How far c's stream had to be read, and by whom that is known."""
        # Whoever is in both views was running when the second was decided: what it had read stays.
        # What only those had read who are gone stays too, but in the stream that may be cut.
        head = c == self.old[0]
        far, by = 0, ""
        if head and self.keeps_role:
            far, by = self.whole, f"multicast by {c[0]}.{c[1]}"
        for who, (_, at) in self.cuts.items():
            if at.get(c, 0) > far and (who in self.new or self.keeps_role or not head):
                far, by = at[c], f"read by {who[0]}.{who[1]}"
        return far, by


def changes(summaries: Summaries) -> tuple[list[Change], dict[Address, int]]:
    """Return the changes of virtually synchronous views, in order, and what coordinators lost.

    A coordinator that loses its role and stays a member may have multicasts cut off: their number.
    """
    members: dict[int, tuple[Address, ...]] = {}
    found: dict[int, Change] = {}
    claiming = [(who, each) for who, each in sorted(summaries.items()) if each.synchronous]
    for _, summary in claiming:
        for place in summary.views:
            members.setdefault(place.view, place.members)
    for who, summary in claiming:
        for cut in summary.cuts:
            number = cut.view + 1
            old, new = members.get(cut.view), members.get(number)
            if old and new:
                change = found.setdefault(number, Change(number, old, new))
                change.cuts[who] = cut, {(node, life): at for node, life, at in cut.positions}
    lost: dict[Address, int] = {}
    ordered = [change for _, change in sorted(found.items())]
    for change in ordered:
        c = change.old[0]
        if c in change.cuts:
            multicast = change.cuts[c][0].multicast
            change.whole = multicast - lost.get(c, 0)
            read = [change.cuts[who][1].get(c, 0) for who in change.went_on()]
            # Who is gone from the new view stopped before it was decided, or never did.
            if read and not change.keeps_role and c in change.new:
                lost[c] = max(0, multicast - max(read))
    return ordered, lost


def check_cuts(summaries: Summaries) -> list[Finding]:
    """Return the members that installed a view without having read all of the old one."""
    findings = []
    for change in changes(summaries)[0]:
        needed = [(c, *change.needed(c)) for c in change.old]
        for who in change.went_on():
            cut, at = change.cuts[who]
            unread = [(c, far, by) for c, far, by in needed if at.get(c, 0) < far]
            if unread:
                conjuncts = tuple(
                    FalseConjunct(
                        GUARD,
                        {
                            "v": change.view,
                            "c": list(c),
                            "position[n][c]": at.get(c, 0),
                            "needed": far,
                            "known": by,
                        },
                    )
                    for c, far, by in unread
                )
                findings.append(_unread(summaries[who], cut, change.view, conjuncts))
    return findings


def _unread(mine: Summary, cut: Cut, view: int, conjuncts: tuple[FalseConjunct, ...]) -> Finding:
    return Finding(
        verdict=VIOLATED,
        part="network",
        reason=f"it installed view {view} with messages of an earlier view unread",
        run=mine.run,
        node=mine.node,
        incarnation=mine.incarnation,
        index=cut.index,
        clock=cut.clock,
        action="InstallView",
        path=mine.path,
        conjuncts=conjuncts,
    )
