"""A good run of a cluster, with its traces and its applications' logs, to plant faults in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from raincheck.conformance.field.stack.checks import FIRM, ClusterJudged, judge
from raincheck.conformance.field.stack.members import Member
from raincheck.conformance.field.stack.record import Record
from raincheck.conformance.field.stack.unordered import FOLDER
from raincheck.conformance.outcome import HOLDS
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace

from . import pingpong_talk as pingpong
from .planting import Ask, Complaints, Plant
from .sequencer_story import A, B, C, D, story_until

Logs: TypeAlias = dict[str, list[tuple[str, int]]]

WHOLE: Final = "the run: "
SENT: Final = {"a": 2, "b": 2, "c": 0}
SAID: Final = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


@dataclass
class Run:
    """A good run of three members, before it is judged."""

    record: Record
    trace: Trace
    logs: Logs = field(default_factory=dict)
    """The deliveries of each member: the sender, and the message's number."""
    unordered: Logs = field(default_factory=dict)
    """The same of unordered messages."""
    check: bool = True
    """Whether traces are judged too."""
    says_safe: bool = False
    """Whether the logs say that the group has safe delivery."""

    def member(self, name: str) -> Member:
        """Return one of the members."""
        return next(each for each in self.record.lives if each.name == name)


@cache
def _trace() -> Trace:
    """Return a trace whose members go on to a second view, where d joins them."""
    story = story_until(1)
    story.install(2, B, A)
    story.do(D, "Join")
    story.install(2, C)
    return story.files()


def good_run() -> Run:
    """Return the run without a fault, which may be changed."""
    nobody: Any = None
    members = [
        Member(name, 0, nobody, Path(), sent=sent, joined_in=1, view=1, state=(4, 7))
        for name, sent in SENT.items()
    ]
    plan: Any = None
    record = Record("r1", 1, plan, lives=members, survivors=list(members))
    logs, unordered = ({name: list(SAID) for name in SENT} for _ in range(2))
    unordered["c"] = [*SAID[2:], *SAID[:2]]
    return Run(record, copy(_trace()), logs, unordered)


def judged_run(folder: Path, run: Run, spoil: Callable[[Path], Any] | None = None) -> ClusterJudged:
    """Write the files of the run, and judge them."""
    _write_logs(folder / "deliveries", run.logs, safe=run.says_safe)
    _write_logs(folder / FOLDER, run.unordered, sends=2)
    write_trace(folder / "traces", run.trace)
    if spoil is not None:
        spoil(folder)
    with pingpong.known():
        return judge(run.record, folder, run.check)


def _write_logs(folder: Path, logs: Logs, sends: int = 0, *, safe: bool = False) -> None:
    """Write what each member has sent and delivered in view 1, from which it went on to 2."""
    folder.mkdir()
    for name, log in logs.items():
        rows: list[dict[str, Any]] = [
            {"member": f"{name}.0", "view": 1, "position": n, "message": str(n), "event": "send"}
            for n in range(1, sends + 1)
        ]
        rows += [
            {"member": f"{name}.0", "view": 1, "position": place, "sender": f"{who}.0"}
            | {"message": str(number), "event": "deliver"}
            for place, (who, number) in enumerate(log, 1)
        ]
        rows.append({"member": f"{name}.0", "view": 2, "event": "view"})
        rows += [{"member": f"{name}.0", "event": "safe"}] if safe else []
        rows.append({"member": f"{name}.0", "position": len(log), "event": "end"})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"r1.{name}.0.jsonl").write_text(text)


def _complaints(folder: Path, run: Run, spoil: Callable[[Path], Any] | None = None) -> Complaints:
    """Return what does not hold of the run, and why."""
    return _all_of(judged_run(folder, run, spoil))


def _all_of(judged: ClusterJudged) -> Complaints:
    told = [f"{name}: {verdict}" for name, verdict in judged.verdicts.items() if verdict != HOLDS]
    told += judged.reasons
    return told if judged.verdict == HOLDS else [*told, f"{WHOLE}{judged.verdict}"]


def _good(folder: Path) -> Complaints:
    return _complaints(folder, good_run())


def plant(
    words: str,
    change: Callable[[Run], Any] | None = None,
    *,
    spoil: Callable[[Path], Any] | None = None,
    **more: Any,
) -> Plant:
    """Plant a fault in a run, or in its files."""

    def bad(folder: Path) -> Complaints:
        run = good_run()
        if change is not None:
            change(run)
        return _complaints(folder, run, spoil)

    return Plant(good=_good, bad=bad, words=words, **more)


def by_logs(words: str, change: Callable[[Run], Any] | None = None, **more: Any) -> Plant:
    """Plant a fault in a run of which only the applications' logs are judged."""

    def changed(run: Run) -> None:
        run.check = False
        if change is not None:
            change(run)

    return plant(words, changed, **more)


def found(**values: Any) -> Ask:
    """Return a run without any finding, except for these values."""

    def ask(_: Path) -> Complaints:
        judged = ClusterJudged(good_run().record, verdicts=dict.fromkeys(FIRM, HOLDS))
        for name, value in values.items():
            if name == "Trace":
                judged.verdicts[name] = value
            else:
                setattr(judged.record, name, value)
        return [] if judged.verdict == HOLDS else [f"{WHOLE}{judged.verdict}"]

    return ask


def verdict_plant(words: str, **values: Any) -> Plant:
    return Plant(good=found(), bad=found(**values), words=f"{WHOLE}{words}")
