"""Faults planted for `trace/sequencer/cuts.py`: members that go on leave nothing unread."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.sequencer.cuts import check_cuts
from raincheck.conformance.trace.sequencer.summary import Cut, Installed, Summary
from raincheck.conformance.trace.sequencer.tracegen import Trace
from raincheck.model.machine.runs import Address

from .planting import Ask, Plant, Planted, sentence
from .sequencer_story import A, B, C, Story
from .sequencer_story import story_plant as story

_NEEDED: Final = "Change.needed: "
_UNREAD: Final = "it installed view 2 with messages of an earlier view unread; false: VirtualSync"


def _unread(bad: bool, new: tuple[Address, ...], *readers: Address) -> Trace:
    """a multicasts; these members read it, or all of them do, and then all go on."""
    run = Story(synchronous=True)
    run.do(A, "Send", 1)
    run.all_receive(A, *(readers if bad else (A, B, C)))
    run.install(2, A, B, C, of=new)
    return run.files()


def _gone(new: tuple[Address, ...], stream: Address, at: int) -> Ask:
    """c had read that far in a stream when it ended; b, which goes on, had not."""
    old = (A, B, C)

    def summary(who: Address, cut: Cut, *views: Installed) -> Summary:
        made = Summary(path="", run="r1", node=who.node, incarnation=0)
        made.views, made.cuts = [Installed(1, old, 0, 0), *views], [cut]
        return made

    def ask(_: Any) -> list[str]:
        summaries = {
            (B.node, 0): summary(B, Cut(1, 1, 1, (), 0), Installed(2, new, 1, 1)),
            (C.node, 0): summary(C, Cut(1, 0, 0, ((stream.node, 0, at),), 0)),
        }
        return [sentence(found) for found in check_cuts(summaries)]

    return ask


PLANTED: Final[dict[str, Planted]] = {
    "trace.sequencer.cuts": {
        "check_cuts: findings.append(_unread(summaries[who], cut, change.view, conjuncts))": story(
            _UNREAD, lambda bad: _unread(bad, (A, B, C), A)
        ),
        f"{_NEEDED}multicast by ….…": story(_UNREAD, lambda bad: _unread(bad, (A, B, C))),
        f"{_NEEDED}who in self.new": story(_UNREAD, lambda bad: _unread(bad, (B, C, A), B)),
        f"{_NEEDED}self.keeps_role": Plant(
            good=_gone((A, B), A, 0), bad=_gone((A, B), A, 1), words=_UNREAD
        ),
        f"{_NEEDED}not head": Plant(
            good=_gone((B, A), B, 0), bad=_gone((B, A), B, 1), words=_UNREAD
        ),
    },
}
