"""Faults planted for the rules of `trace/network.py` and `checker.py`: relations of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.events import Crash, encode_lines
from raincheck.conformance.trace.findings import INCONCLUSIVE, Installed, Summary
from raincheck.conformance.trace.network import check_views
from raincheck.conformance.trace.tracegen import Trace
from raincheck.model.machine.runs import Address

from .planted_promises import NOT_ALL
from .planting import Complaints, Plant, Planted, sentence
from .sequencer_story import A, B, C, D, Story, cut_behind, event, judged, on, plant, sets, unsure
from .sequencer_story import story_plant as story

_CHANNEL: Final = "channel_finding: "
_ADMITTED: Final = "check_admissions: "
_MISSING: Final = "is not among what was recorded: "
_NEVER: Final = "it received a message that was never sent"
_CONTENTS: Final = "it received other contents than were sent"
_FIRST_READ: Final = on(C, "ReceiveData", sets(args__crc=1))


def _no_sending(trace: Trace) -> None:
    """a's file ends, with a footer, before a has passed on a message of b that others have."""
    cut_behind(trace[A], event(trace, A, "Send"))


def _open_end(trace: Trace) -> None:
    """a's file ends there too, without saying that nothing is missing."""
    _no_sending(trace)
    trace[A].pop()


def _killed(folder: Path) -> None:
    crash = Crash(run="r1", node="a", incarnation=0)
    (folder / "faults.jsonl").write_bytes(encode_lines([crash]))


def _without_file(folder: Path) -> None:
    (folder / "r1.a.0.jsonl").unlink()


def _views(second: tuple[Address, ...], other: tuple[Address, ...] | None = None) -> Trace:
    """a, b and c go on to a second view and do nothing else; c perhaps to another one."""
    run = Story()
    run.install(2, A, B, of=second)
    run.install(2, C, of=other or second)
    return run.files()


def _joined(change: Callable[[Trace], Any], bad: bool) -> Trace:
    """a admits d."""
    run = Story()
    run.do(A, "Send", 1)
    run.do(A, "ReceiveData", A)
    run.install(2, A)
    run.do(D, "Join")
    trace = run.files()
    if bad:
        change(trace)
    return trace


def _admission(words: str, change: Callable[[Trace], Any], **more: Any) -> Plant:
    return story(words, lambda bad: _joined(change, bad), **more)


def _uninvited(trace: Trace) -> None:
    """a's file ends before a admits anybody."""
    cut_behind(trace[A], event(trace, A, "ReceiveData"))


def _unknown_if_invited(trace: Trace) -> None:
    """a's file ends there, without saying that it is complete."""
    _uninvited(trace)
    trace[A].pop()


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

    def told(members: tuple[Address, ...]) -> Complaints:
        summaries: dict[tuple[str, int], Summary] = {}
        for who in (A, B, C):
            made = summaries[who.node, who.incarnation] = Summary(
                path="", run="r1", node=who[0], incarnation=0
            )
            made.views.append(Installed(1, (A, B, C), 0, 0))
        summaries[A.node, 0].views.append(Installed(2, members, 1, 1))
        return [sentence(found) for found in check_views(summaries).findings]

    return Plant(
        good=lambda _: told((A, C, D)),
        bad=lambda _: told(new),
        words="view 2 does not follow from view 1",
    )


def _nothing_happened(trace: Trace) -> None:
    """No file has an event."""
    for who, records in trace.items():
        records[1:] = Story().files()[who][1:]


PLANTED: Final[dict[str, Planted]] = {
    "trace.network": {
        f"{_CHANNEL}other is None": unsure(
            f"{_MISSING}there is no file of its sender",
            spoil=_without_file,
            chapter=1,
            breaks=AttributeError,
            why="a file that is not there cannot be asked whether it is complete",
        ),
        f"{_CHANNEL}not other.complete": unsure(
            f"{_MISSING}its sender's file is incomplete",
            _open_end,
            spoil=_killed,
            chapter=1,
            then=_NEVER,
            why="what is in no file was not sent, if the file is whole",
        ),
        f"{_CHANNEL}it received a message that was never sent": plant(
            _NEVER, _no_sending, chapter=1
        ),
        f"{_CHANNEL}it received other contents than were sent": plant(_CONTENTS, _FIRST_READ),
        f"{_CHANNEL}it received a message before it was sent": plant(
            'it received a message before it was sent; clock: 1, not "greater than 1"',
            on(C, "ReceiveData", sets(clock=1)),
        ),
        f"{_CHANNEL}return Finding(verdict=VIOLATED, part='network', reason=reason, run=mine.run, "
        "node=mine.no…": plant(_CONTENTS, _FIRST_READ),
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
        ),
        "check_members: the file has no footer, and no crash is recorded: events may be missing": (
            unsure(
                "the file has no footer, and no crash is recorded: events may be missing",
                lambda trace: trace[C].pop(),
                chapter=1,
            )
        ),
        f"{_ADMITTED}it received a JOIN_RSP that was never sent": _admission(
            "it received a JOIN_RSP that was never sent", _uninvited
        ),
        f"{_ADMITTED}JOIN_RSP for view … is not among what was recorded": Plant(
            good=lambda folder: judged(folder, _joined(_uninvited, False), _killed),
            bad=lambda folder: judged(folder, _joined(_unknown_if_invited, True), _killed),
            verdict=INCONCLUSIVE,
            words=f"JOIN_RSP for view 2 {_MISSING}its sender's file is incomplete",
        ),
        f"{_ADMITTED}given.table != got.table": _admission(
            "it received another table or digest than were sent",
            on(D, "Join", sets(args__table=(("a", 0, 7),), changed__received_table=(("a", 0, 7),))),
        ),
        f"{_ADMITTED}given.digest != got.digest": _admission(
            "it received another table or digest than were sent",
            on(D, "Join", sets(args__digest=(("a", 0, 7),), changed__position=(("a", 0, 7),))),
        ),
        f"{_ADMITTED}it received a JOIN_RSP before it was sent": _admission(
            'it received a JOIN_RSP before it was sent; value: 1, not "a clock above 3"',
            on(D, "Join", sets(clock=1)),
        ),
        "check_drained: it stopped before every member had received all of its stream": story(
            "it stopped before every member had received all of its stream; false: DrainOnLeave",
            _undrained,
        ),
    },
    "trace.checker": {
        "judge: verdict = VIOLATED": plant(
            "r1: violated", _FIRST_READ, then=_CONTENTS, why="what was found is told all the same"
        ),
        "judge: findings": unsure(
            "r1: inconclusive",
            lambda trace: trace[C].pop(),
            chapter=1,
            then="the file has no footer",
            why="what was found is told all the same",
        ),
        "judge: problems": unsure(
            "r1: inconclusive",
            lambda trace: trace[A].insert(3, trace[A][0]),
            then="a second header",
            why="what was put aside is told all the same",
        ),
        "judge: not any((summary.events for summary in summaries.values()))": unsure(
            "r1: inconclusive", _nothing_happened, chapter=1
        ),
        "_as_far_as_checked: not every record was checked": NOT_ALL,
    },
}
