"""Faults planted for the rules of `field/clusterchecks.py`: what traces and logs say of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.field.clusterchecks import Judged, judge
from raincheck.conformance.field.clustermembers import Member
from raincheck.conformance.field.clusterrecord import Record
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.traces.damage import copy
from raincheck.conformance.traces.events import Crash, encode_lines
from raincheck.conformance.traces.tracegen import Trace, write_trace

from . import pingpong
from .planting import Ask, Plant, Planted, Told
from .sequencer_story import C, on, sets, trace_of

_LOGS: Final = "_judge_logs: "
_VERDICT: Final = "Judged.verdict: "
_WHOLE: Final = "the run: "
_VERDICT_IS: Final = "the verdict is the same"
_REASON: Final = "the reason is told all the same"
_SENT: Final = {"a": 2, "b": 2, "c": 0}
_SAID: Final = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


@dataclass
class Run:
    """A good run of three members, before anybody judges it."""

    record: Record
    trace: Trace
    logs: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """What each member delivered: of whom, and which message."""
    check: bool = True
    """Whether traces are judged too."""

    def member(self, name: str) -> Member:
        """One of them."""
        return next(each for each in self.record.lives if each.name == name)


def _run() -> Run:
    nobody: Any = None
    members = [
        Member(name, 0, nobody, Path(), sent=sent, joined_in=1, view=1, state=(4, 7))
        for name, sent in _SENT.items()
    ]
    plan: Any = None
    record = Record("r1", 1, plan, lives=members, survivors=list(members))
    return Run(record, copy(trace_of(1)), {name: list(_SAID) for name in _SENT})


def _told(folder: Path, run: Run, spoil: Callable[[Path], Any] | None = None) -> Told:
    """What does not hold of the run, and why."""
    (folder / "deliveries").mkdir()
    for name, log in run.logs.items():
        rows: list[dict[str, Any]] = [
            {"member": f"{name}.0", "view": 1, "position": place, "sender": f"{who}.0"}
            | {"message": str(number), "event": "deliver"}
            for place, (who, number) in enumerate(log, 1)
        ]
        rows.append({"member": f"{name}.0", "position": len(log), "event": "end"})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "deliveries" / f"r1.{name}.0.jsonl").write_text(text)
    write_trace(folder / "traces", run.trace)
    if spoil is not None:
        spoil(folder)
    with pingpong.known():
        return _all_of(judge(run.record, folder, run.check))


def _all_of(judged: Judged) -> Told:
    told = [f"{name}: {verdict}" for name, verdict in judged.verdicts.items() if verdict != HOLDS]
    told += judged.reasons
    return told if judged.verdict == HOLDS else [*told, f"{_WHOLE}{judged.verdict}"]


def _good(folder: Path) -> Told:
    return _told(folder, _run())


def _plant(
    words: str,
    change: Callable[[Run], Any] | None = None,
    *,
    spoil: Callable[[Path], Any] | None = None,
    **more: Any,
) -> Plant:
    """A fault in a run, or in its files."""

    def bad(folder: Path) -> Told:
        run = _run()
        if change is not None:
            change(run)
        return _told(folder, run, spoil)

    return Plant(good=_good, bad=bad, words=words, **more)


def _by_logs(words: str, change: Callable[[Run], Any] | None = None, **more: Any) -> Plant:
    """A fault of a run of which only the applications' logs are looked at."""

    def changed(run: Run) -> None:
        run.check = False
        if change is not None:
            change(run)

    return _plant(words, changed, **more)


def _judged(**values: Any) -> Ask:
    """A run that nobody has found anything wrong with, but for these values."""

    def ask(_: Path) -> Told:
        judged = Judged(_run().record)
        for name, value in values.items():
            if name == "Trace":
                judged.verdicts[name] = value
            else:
                setattr(judged.record, name, value)
        return [] if judged.verdict == HOLDS else [f"{_WHOLE}{judged.verdict}"]

    return ask


def _verdict(words: str, **values: Any) -> Plant:
    return Plant(good=_judged(), bad=_judged(**values), words=f"{_WHOLE}{words}")


def _other_logs(**logs: list[tuple[str, int]]) -> Callable[[Run], None]:
    return lambda run: run.logs.update(logs)


def _no_traces(folder: Path) -> None:
    for path in (folder / "traces").iterdir():
        path.unlink()


def _only_crashes(folder: Path) -> None:
    _no_traces(folder)
    crash = Crash(run="r1", node="a", incarnation=0)
    (folder / "traces" / "r1.faults.jsonl").write_bytes(encode_lines([crash]))


def _other_protocol(folder: Path) -> None:
    """A layer's traces are there too, and do not conform."""
    records = pingpong.talk()
    records["b"][5]["changed"]["said"] = 7
    for node, lines in records.items():
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / "traces" / f"r1.{node}.0.pingpong.jsonl").write_text(text)


def _no_logs(folder: Path) -> None:
    for path in (folder / "deliveries").iterdir():
        path.unlink()


def _nonsense(folder: Path) -> None:
    with (folder / "deliveries" / "r1.a.0.jsonl").open("a") as file:
        file.write("nonsense\n")


def _nothing_delivered(run: Run) -> None:
    run.logs = {name: [] for name in _SENT}
    for member in run.record.lives:
        member.sent = 0


def _later_sender(run: Run) -> None:
    """c has only b's second message, and was there from the beginning."""
    run.logs["c"] = [("a", 1), ("a", 2), ("b", 2)]


def _wrong(run: Run) -> None:
    run.member("a").wrong = "other contents"


def _two_views(run: Run) -> None:
    """The traces of a run in which a message is delivered in two views."""
    run.trace = copy(trace_of(2))


def _contents(run: Run) -> None:
    on(C, "ReceiveData", sets(args__crc=1))(run.trace)


_LOST: Final = "_lost: "
_VALIDITY: Final = (
    "add(judged.verdicts, 'Validity', VIOLATED if lost else INCONCLUSIVE if undecided"
)
_UP_TO: Final = "Validity is violated: c.0 has b.0's messages up to "

PLANTED: Final[dict[str, Planted]] = {
    "field.clusterchecks": {
        f"{_VERDICT}return VIOLATED": _verdict("violated", Trace=VIOLATED),
        f"{_VERDICT}INCONCLUSIVE in found": _verdict("inconclusive", Trace=INCONCLUSIVE),
        f"{_VERDICT}self.record.failure": _verdict("inconclusive", failure="nobody came"),
        f"{_VERDICT}self.record.defects": _verdict("inconclusive", defects=["a trace stopped"]),
        f"{_VERDICT}return INCONCLUSIVE if undecided else HOLDS": Plant(
            good=_judged(),
            bad=_judged(failure="nobody came"),
            words=f"{_WHOLE}inconclusive",
            then=f"{_WHOLE}None",
            why="without it there is no verdict at all",
        ),
        "judge: Incomplete: …": _plant(
            "Incomplete: nobody came",
            lambda run: setattr(run.record, "failure", "nobody came"),
            then=f"{_WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        "judge: judged.reasons += record.defects": _plant(
            "a trace stopped",
            lambda run: run.record.defects.append("a trace stopped"),
            then=f"{_WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        "judge: judged.verdicts['Integrity'] = VIOLATED": _plant("Integrity: violated", _wrong),
        "_judge_states: add(judged.verdicts, 'SameCut', VIOLATED)": _plant(
            "SameCut: violated",
            lambda run: setattr(run.member("c"), "state", (4, 8)),
            then="SameCut is violated",
            why=_REASON,
        ),
        "_judge_states: SameCut is violated: messages and their checksum: …": _plant(
            "SameCut is violated: messages and their checksum: a.0 4 00000007",
            lambda run: setattr(run.member("c"), "state", (4, 8)),
            then="SameCut: violated",
            why=_VERDICT_IS,
        ),
        "_judge_by_logs_alone: add(judged.verdicts, 'Logs', INCONCLUSIVE)": _plant(
            "Logs: inconclusive",
            spoil=_no_logs,
            then="GapFree: inconclusive",
            why="nothing was delivered either",
        ),
        "_judge_by_logs_alone: add(judged.verdicts, 'Logs', promise.verdict)": _plant(
            "Logs: violated",
            _other_logs(c=[("b", 1), ("b", 2), ("a", 1), ("a", 2)]),
            then="the delivery logs: total_order violated",
            why=_REASON,
        ),
        "_judge_by_logs_alone: the delivery logs: … …: …": _plant(
            "the delivery logs: total_order violated",
            _other_logs(c=[("b", 1), ("b", 2), ("a", 1), ("a", 2)]),
            then="Logs: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: no member has written a trace": _plant(
            "no member has written a trace",
            spoil=_no_traces,
            then="Trace: inconclusive",
            why=_VERDICT_IS,
        ),
        "_judge_traces: no member has written a trace #2": _plant(
            "no member has written a trace",
            spoil=_only_crashes,
            then="Trace: inconclusive",
            why=_VERDICT_IS,
        ),
        "_judge_traces: judged.reasons += explained(verdict)": _plant(
            "violated: not what the model does (b.0, event 5 Say)",
            spoil=_other_protocol,
            then="Trace: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: judged.reasons += explained(verdict) #2": _plant(
            "violated: it received other contents than were sent (c.0, event 1 ReceiveData)",
            _contents,
            then="Trace: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: … is violated: …": _plant(
            "VirtualSynchrony is violated",
            _two_views,
            then="VirtualSynchrony: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: judged.verdicts['Trace'] = INCONCLUSIVE": _plant(
            "Trace: inconclusive",
            spoil=_no_traces,
            then="no member has written a trace",
            why=_REASON,
        ),
        "_judge_traces: add(judged.verdicts, 'Trace', verdict.verdict)": _plant(
            "Trace: violated",
            spoil=_other_protocol,
            then="not what the model does",
            why=_REASON,
        ),
        "_judge_traces: add(judged.verdicts, 'Trace', verdict.verdict) #2": _plant(
            "Trace: violated",
            _contents,
            then="it received other contents than were sent",
            why=_REASON,
        ),
        "_judge_traces: add(judged.verdicts, promise.name, promise.verdict)": _plant(
            "VirtualSynchrony: violated",
            _two_views,
            then="VirtualSynchrony is violated",
            why=_REASON,
        ),
        "_judge_traces: judged.verdicts['Trace'] = INCONCLUSIVE #2": _plant(
            "Trace: inconclusive",
            spoil=_only_crashes,
            then="no member has written a trace",
            why=_REASON,
        ),
        f"{_LOGS}… delivered … … after …": _by_logs(
            "GapFree is violated: c.0 delivered b.0 4 after 2",
            _other_logs(c=[*_SAID, ("b", 4)]),
        ),
        f"{_LOGS}add(judged.verdicts, 'GapFree', VIOLATED if gaps else HOLDS)": _by_logs(
            "GapFree: violated",
            _other_logs(c=[*_SAID, ("b", 4)]),
            then="GapFree is violated",
            why=_REASON,
        ),
        f"{_LOGS}GapFree is violated: …": _by_logs(
            "GapFree is violated: c.0 delivered b.0 4 after 2",
            _other_logs(c=[*_SAID, ("b", 4)]),
            then="GapFree: violated",
            why=_VERDICT_IS,
        ),
        f"{_LOGS}bad": _by_logs("GapFree: inconclusive", spoil=_nonsense),
        f"{_LOGS}not judged.messages": _by_logs("GapFree: inconclusive", _nothing_delivered),
        f"{_LOGS}bool(record.failure)": _by_logs(
            "Validity: inconclusive",
            lambda run: setattr(run.record, "failure", "nobody came"),
            then=f"{_WHOLE}inconclusive",
            why="a run that failed is inconclusive whatever was delivered",
        ),
        f"{_LOGS}not record.survivors": _by_logs(
            "Validity: inconclusive", lambda run: run.record.survivors.clear()
        ),
        f"{_LOGS}{_VALIDITY} else HOLD…": _by_logs(
            "Validity: violated",
            _other_logs(c=_SAID[:3]),
            then="Validity is violated",
            why=_REASON,
        ),
        f"{_LOGS}Validity is violated: …": _by_logs(
            f"{_UP_TO}1 of 2",
            _other_logs(c=_SAID[:3]),
            then="Validity: violated",
            why=_VERDICT_IS,
        ),
        f"{_LOST}found is None": _by_logs(
            f"{_UP_TO}0 of 2",
            _other_logs(c=_SAID[:2]),
            breaks=AttributeError,
            why="of a sender that was never heard there is no last message",
        ),
        f"{_LOST}found.last < sender.sent": _by_logs(f"{_UP_TO}1 of 2", _other_logs(c=_SAID[:3])),
        f"{_LOST}… lacks …'s messages before …": _by_logs(
            "Validity is violated: c.0 lacks b.0's messages before 2", _later_sender
        ),
    },
}
