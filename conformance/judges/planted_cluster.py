"""Faults planted for the rules of `field/stack/checks.py`: what traces and logs say of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.damage import copy
from raincheck.conformance.trace.events import Crash, encode_lines

from . import pingpong_talk as pingpong
from .cluster_run import SAID, SENT, WHOLE, Run, by_logs, found, plant, verdict_plant
from .planting import Plant, Planted
from .sequencer_story import C, on, sets, trace_of

_LOGS: Final = "_judge_logs: "
_VERDICT: Final = "Judged.verdict: "
_VERDICT_IS: Final = "the verdict is the same"
_REASON: Final = "the reason is told all the same"


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
    run.logs = {name: [] for name in SENT}
    for member in run.record.lives:
        member.sent = 0


def _later_sender(run: Run) -> None:
    """c has only b's second message, although it was there from the beginning."""
    run.logs["c"] = [("a", 1), ("a", 2), ("b", 2)]


def _wrong(run: Run) -> None:
    run.member("a").wrong = "other contents"


def _two_views(run: Run) -> None:
    """Return the traces of a run in which a message is delivered in two views."""
    run.trace = copy(trace_of(2))


def _nobody_went_on(run: Run) -> None:
    """Return the traces of a run that ends in its first view."""
    run.trace = copy(trace_of(1))


def _contents(run: Run) -> None:
    on(C, "ReceiveData", sets(args__crc=1))(run.trace)


_LOST: Final = "_lost: "
_VALIDITY: Final = (
    "add(judged.verdicts, 'Validity', VIOLATED if lost else INCONCLUSIVE if undecided"
)
_UP_TO: Final = "Validity is violated: c.0 has b.0's messages up to "

PLANTED: Final[dict[str, Planted]] = {
    "field.stack.checks": {
        f"{_VERDICT}return VIOLATED": verdict_plant("violated", Trace=VIOLATED),
        f"{_VERDICT}INCONCLUSIVE in found": verdict_plant("inconclusive", Trace=INCONCLUSIVE),
        f"{_VERDICT}self.record.failure": verdict_plant("inconclusive", failure="nobody came"),
        f"{_VERDICT}self.record.defects": verdict_plant(
            "inconclusive", defects=["a trace stopped"]
        ),
        f"{_VERDICT}return INCONCLUSIVE if undecided else HOLDS": Plant(
            good=found(),
            bad=found(failure="nobody came"),
            words=f"{WHOLE}inconclusive",
            then=f"{WHOLE}None",
            why="without it there is no verdict at all",
        ),
        "judge: Incomplete: …": plant(
            "Incomplete: nobody came",
            lambda run: setattr(run.record, "failure", "nobody came"),
            then=f"{WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        "judge: judged.reasons += record.defects": plant(
            "a trace stopped",
            lambda run: run.record.defects.append("a trace stopped"),
            then=f"{WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        "judge: judged.verdicts['Integrity'] = VIOLATED": plant("Integrity: violated", _wrong),
        "_judge_states: add(judged.verdicts, 'SameCut', VIOLATED)": plant(
            "SameCut: violated",
            lambda run: setattr(run.member("c"), "state", (4, 8)),
            then="SameCut is violated",
            why=_REASON,
        ),
        "_judge_states: SameCut is violated: messages and their checksum: …": plant(
            "SameCut is violated: messages and their checksum: a.0 4 00000007",
            lambda run: setattr(run.member("c"), "state", (4, 8)),
            then="SameCut: violated",
            why=_VERDICT_IS,
        ),
        "_judge_by_logs_alone: add(judged.verdicts, 'Logs', INCONCLUSIVE)": plant(
            "Logs: inconclusive",
            spoil=_no_logs,
            then="GapFree: inconclusive",
            why="nothing was delivered either",
        ),
        "_judge_by_logs_alone: add(judged.verdicts, 'Logs', promise.verdict)": plant(
            "Logs: violated",
            _other_logs(c=[("b", 1), ("b", 2), ("a", 1), ("a", 2)]),
            then="the delivery logs: total_order violated",
            why=_REASON,
        ),
        "_judge_by_logs_alone: the delivery logs: … …: …": plant(
            "the delivery logs: total_order violated",
            _other_logs(c=[("b", 1), ("b", 2), ("a", 1), ("a", 2)]),
            then="Logs: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: no member has written a trace": plant(
            "no member has written a trace",
            spoil=_no_traces,
            then="Trace: inconclusive",
            why=_VERDICT_IS,
        ),
        "_judge_traces: no member has written a trace #2": plant(
            "no member has written a trace",
            spoil=_only_crashes,
            then="Trace: inconclusive",
            why=_VERDICT_IS,
        ),
        "_judge_traces: judged.reasons += explained(verdict)": plant(
            "violated: not what the model does (b.0, event 5 Say)",
            spoil=_other_protocol,
            then="Trace: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: …: …": plant(
            "Agreement: no two members went on together from a view",
            _nobody_went_on,
            then="Agreement: inconclusive",
            why=_VERDICT_IS,
        ),
        "_judge_traces: … is violated: …": plant(
            "VirtualSynchrony is violated",
            _two_views,
            then="VirtualSynchrony: violated",
            why=_VERDICT_IS,
        ),
        "_judge_traces: judged.verdicts['Trace'] = INCONCLUSIVE": plant(
            "Trace: inconclusive",
            spoil=_no_traces,
            then="no member has written a trace",
            why=_REASON,
        ),
        "_judge_traces: add(judged.verdicts, 'Trace', verdict.verdict)": plant(
            "Trace: violated",
            spoil=_other_protocol,
            then="not what the model does",
            why=_REASON,
        ),
        "_judge_traces: add(judged.verdicts, promise.name, promise.verdict)": plant(
            "VirtualSynchrony: violated",
            _two_views,
            then="VirtualSynchrony is violated",
            why=_REASON,
        ),
        "_judge_traces: judged.verdicts['Trace'] = INCONCLUSIVE #2": plant(
            "Trace: inconclusive",
            spoil=_only_crashes,
            then="no member has written a trace",
            why=_REASON,
        ),
        f"{_LOGS}… delivered … … after …": by_logs(
            "GapFree is violated: c.0 delivered b.0 4 after 2",
            _other_logs(c=[*SAID, ("b", 4)]),
        ),
        f"{_LOGS}add(judged.verdicts, 'GapFree', VIOLATED if gaps else HOLDS)": by_logs(
            "GapFree: violated",
            _other_logs(c=[*SAID, ("b", 4)]),
            then="GapFree is violated",
            why=_REASON,
        ),
        f"{_LOGS}GapFree is violated: …": by_logs(
            "GapFree is violated: c.0 delivered b.0 4 after 2",
            _other_logs(c=[*SAID, ("b", 4)]),
            then="GapFree: violated",
            why=_VERDICT_IS,
        ),
        f"{_LOGS}bad": by_logs("GapFree: inconclusive", spoil=_nonsense),
        f"{_LOGS}not judged.messages": by_logs("GapFree: inconclusive", _nothing_delivered),
        f"{_LOGS}bool(record.failure)": by_logs(
            "Validity: inconclusive",
            lambda run: setattr(run.record, "failure", "nobody came"),
            then=f"{WHOLE}inconclusive",
            why="a run that failed is inconclusive whatever was delivered",
        ),
        f"{_LOGS}not record.survivors": by_logs(
            "Validity: inconclusive", lambda run: run.record.survivors.clear()
        ),
        f"{_LOGS}{_VALIDITY} else HOLD…": by_logs(
            "Validity: violated",
            _other_logs(c=SAID[:3]),
            then="Validity is violated",
            why=_REASON,
        ),
        f"{_LOGS}Validity is violated: …": by_logs(
            f"{_UP_TO}1 of 2",
            _other_logs(c=SAID[:3]),
            then="Validity: violated",
            why=_VERDICT_IS,
        ),
        f"{_LOST}found is None": by_logs(
            f"{_UP_TO}0 of 2",
            _other_logs(c=SAID[:2]),
            breaks=AttributeError,
            why="of a sender that was never heard there is no last message",
        ),
        f"{_LOST}found.last < sender.sent": by_logs(f"{_UP_TO}1 of 2", _other_logs(c=SAID[:3])),
        f"{_LOST}… lacks …'s messages before …": by_logs(
            "Validity is violated: c.0 lacks b.0's messages before 2", _later_sender
        ),
    },
}
