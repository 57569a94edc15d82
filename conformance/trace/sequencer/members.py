"""Part (b) for SEQUENCER: what holds between files that are each checked already.

There is one sequence of views; who stopped was drained. Under virtual synchrony, who goes on to a
view left nothing of the one before unread: that is in `cuts.py`. That every received message was
sent, before, with the same contents, is checked as in any trace (`streams.py`); that each channel
is read in order and each message at most once was checked by its reader alone, in part (a).
Law of this file: it sees summaries, never events.
And it shares no rule with `direct.py`, which it is held against: only records and findings.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import (
    INCONCLUSIVE,
    VIOLATED,
    Difference,
    FalseConjunct,
    Finding,
)

from .cuts import changes
from .summary import Summary

Summaries = Mapping[Address, Summary]


@dataclass(slots=True)
class Views:
    """The one sequence of views, as far as the files tell it."""

    members: dict[int, tuple[Address, ...]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def check_views(summaries: Summaries) -> Views:
    """The same counter means the same members everywhere, and each view follows from the last."""
    views = Views()
    installed = sorted(
        (
            (place.clock, who, place)
            for who, summary in summaries.items()
            for place in summary.views
        ),
        key=lambda found: found[:2],
    )
    for _, who, place in installed:
        known = views.members.setdefault(place.view, place.members)
        if known != place.members:
            reason = f"view {place.view} has other members here than elsewhere"
            views.findings.append(
                _found(summaries[who], place.index, place.clock, reason, known, place.members)
            )
    for number in sorted(views.members):
        old, new = views.members.get(number - 1), views.members[number]
        were = {who for _, who, place in installed if place.view == number - 1}
        if old is not None and not follows(old, new, were):
            who, place = next((w, p) for _, w, p in installed if p.view == number)
            reason = f"view {number} does not follow from view {number - 1}"
            wanted = f"survivors of {list(old)} in their order, then joiners; or its rotation"
            views.findings.append(
                _found(summaries[who], place.index, place.clock, reason, wanted, new)
            )
    return views


def follows(old: tuple[Address, ...], new: tuple[Address, ...], installed: set[Address]) -> bool:
    """Successor or Demoted of `spec/Views.tla`; joiners in any order among themselves.

    A joiner of the old view that was never admitted may have left and joined anew; who has
    `installed` the old view has not.
    """
    if new == (*old[1:], old[0]):
        return True
    staying = 0
    for member in old:
        if staying < len(new) and member == new[staying]:
            staying += 1
    joiners = new[staying:]
    distinct = len({node for node, _ in new}) == len(new)
    return staying > 0 and distinct and not any(j in installed for j in joiners)


def check_members(summaries: Summaries, views: Views, crashed: Iterable[Address]) -> list[Finding]:
    """Whose records are missing altogether."""
    run = next(iter(summaries.values())).run
    killed = set(crashed)
    everybody = {member for members in views.members.values() for member in members}
    # A process that was killed before it wrote a line has sent nothing: traces are written ahead.
    findings = [
        _missing(run, who, "a member of a view has no file")
        for who in sorted(everybody - set(summaries) - killed)
    ]
    return findings  # noqa: RET504 - what is assigned is a rule that can be taken out


def check_drained(summaries: Summaries) -> list[Finding]:
    """A stopped member was drained: nobody lost it from its view with messages of it unread."""
    findings = []
    _, lost = changes(summaries)
    for who, summary in sorted(summaries.items()):
        if not summary.stopped or summary.constants.get("DrainOnLeave", True) is False:
            continue
        length = summary.multicast - lost.get(who, 0)
        first = summary.views[0].view if summary.views else 0
        for reader in (other for _, other in sorted(summaries.items())):
            for left in reader.departures:
                if left.member != who or left.position >= length:
                    continue
                if left.index == 0 and not reader.complete:
                    continue  # The rest of what it read may be missing, and that is said already.
                if left.index and any(
                    left.index < view.index and who in view.members for view in reader.views
                ):
                    continue  # It was admitted again; where it was lost last is what counts.
                if left.index and any(
                    left.index == view.index and view.view < first for view in reader.views
                ):
                    continue  # That view lost a joiner that never learnt of its admission.
                values = {
                    "p": list(reader.who),
                    "position[p][n]": left.position,
                    "Len(stream[n])": length,
                }
                text = "DrainOnLeave => position[p][n] = Len(stream[n])"
                findings.append(
                    Finding(
                        verdict=VIOLATED,
                        part="network",
                        reason="it stopped before every member had received all of its stream",
                        run=summary.run,
                        node=summary.node,
                        incarnation=summary.incarnation,
                        index=summary.conforming,
                        clock=left.clock,
                        action="Stop",
                        path=summary.path,
                        conjuncts=(FalseConjunct(text, values),),
                    )
                )
    return findings


def _found(
    mine: Summary,
    index: int,
    clock: int,
    reason: str,
    expected: Any,
    recorded: Any,
    action: str = "InstallView",
) -> Finding:
    return Finding(
        verdict=VIOLATED,
        part="network",
        reason=reason,
        run=mine.run,
        node=mine.node,
        incarnation=mine.incarnation,
        index=index,
        clock=clock,
        action=action,
        path=mine.path,
        differences=(Difference("value", expected, recorded),),
    )


def _missing(run: str, who: Address, reason: str) -> Finding:
    return Finding(
        verdict=INCONCLUSIVE,
        part="records",
        reason=reason,
        run=run,
        node=who[0],
        incarnation=who[1],
    )
