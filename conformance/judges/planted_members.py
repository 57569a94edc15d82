"""Faults planted for SEQUENCER's `members.py` and `promised.py`: relations of files."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.findings import INCONCLUSIVE
from raincheck.conformance.trace.sequencer.members import check_views
from raincheck.conformance.trace.sequencer.summary import Installed, Summary
from raincheck.conformance.trace.sequencer.tracegen import Trace
from raincheck.model.machine.runs import Address

from .planted_promises import NOT_ALL
from .planting import Complaints, Plant, Planted, sentence
from .sequencer_story import A, B, C, D, Story
from .sequencer_story import story_plant as story


def _views(second: tuple[Address, ...], other: tuple[Address, ...] | None = None) -> Trace:
    """a, b and c go on to a second view and do nothing else; c perhaps to another one."""
    run = Story()
    run.install(2, A, B, of=second)
    run.install(2, C, of=other or second)
    return run.files()


def _undrained(bad: bool) -> Trace:
    """a stops; b and c have read its messages, or b has not."""
    run = Story()
    run.do(A, "Send", 1)
    run.all_receive(A, A, *((C,) if bad else (B, C)))
    run.do(A, "Leave")
    run.do(A, "Stop")
    run.install(2, B, C, of=(B, C))
    return run.files()


def _without_d(bad: bool) -> Trace:
    """b has installed a view with d, which has recorded nothing yet."""
    run = Story()
    run.install(2, B)
    trace = run.files()
    if bad:
        del trace[D]
    return trace


def _follows(new: tuple[Address, ...]) -> Plant:
    """Plant a view that follows one of a, b and c."""

    def complaints(members: tuple[Address, ...]) -> Complaints:
        summaries: dict[tuple[str, int], Summary] = {}
        for who in (A, B, C):
            made = summaries[who.node, who.incarnation] = Summary(
                path="", run="r1", node=who[0], incarnation=0
            )
            made.views.append(Installed(1, (A, B, C), 0, 0))
        summaries[A.node, 0].views.append(Installed(2, members, 1, 1))
        return [sentence(found) for found in check_views(summaries).findings]

    return Plant(
        good=lambda _: complaints((A, C, D)),
        bad=lambda _: complaints(new),
        words="view 2 does not follow from view 1",
    )


PLANTED: Final[dict[str, Planted]] = {
    "trace.sequencer.members": {
        "check_views: view … has other members here than elsewhere": story(
            "view 2 has other members here than elsewhere",
            lambda bad: _views((A, B, C), (A, C, B) if bad else None),
        ),
        "check_views: view … does not follow from view …": story(
            "view 2 does not follow from view 1",
            lambda bad: _views((B, A, C) if bad else (B, C, A)),
        ),
        "follows: not staying > 0": _follows((D, Address("e", 0))),
        "follows: not distinct": _follows((A, B, Address("a", 1))),
        "follows: any((j in installed for j in joiners))": _follows((A, C, B)),
        "check_members: a member of a view has no file": story(
            "inconclusive records, d.0 event 0: a member of a view has no file",
            _without_d,
            verdict=INCONCLUSIVE,
            then="there is no file of node d",
            why="no life of that node has a file, which is looked at in every protocol",
        ),
        "check_drained: it stopped before every member had received all of its stream": story(
            "it stopped before every member had received all of its stream; false: DrainOnLeave",
            _undrained,
        ),
    },
    "bindings.sequencer.promised": {
        "_as_far_as_checked: not every record was checked": NOT_ALL,
    },
}
