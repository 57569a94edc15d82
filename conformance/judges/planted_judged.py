"""Faults planted for the rules of `field/judged.py`: what the traces of any group say of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.events import Crash, encode_lines
from raincheck.conformance.trace.sequencer.damage import copy

from . import pingpong_talk as pingpong
from .cluster_run import WHOLE, Run, found, plant, verdict_plant
from .pingpong import LOUD, UNLUCKY
from .planting import Plant, Planted
from .sequencer_story import C, on, sets, trace_of

_VERDICT: Final = "Judged.verdict: "
_BEGIN: Final = "Judged.begin: "
_TRACES: Final = "Judged.judge_traces: "
_VERDICT_IS: Final = "the verdict is the same"
_REASON: Final = "the reason is given all the same"


def _only_crashes(folder: Path) -> None:
    for path in (folder / "traces").iterdir():
        path.unlink()
    crash = Crash(run="r1", node="a", incarnation=0)
    (folder / "traces" / "r1.faults.jsonl").write_bytes(encode_lines([crash]))


def _other_protocol(folder: Path) -> None:
    """A layer's traces are there too, and do not conform."""
    records = pingpong.talk()
    records["b"][5]["changed"]["said"] = 7
    for node, lines in records.items():
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / "traces" / f"r1.{node}.0.pingpong.jsonl").write_text(text)


def _says(number: int) -> Callable[[Path], None]:
    """Add the traces of a layer by which b says that number at last."""

    def spoil(folder: Path) -> None:
        records = pingpong.talk()
        pingpong.insert("b", pingpong.note("b", number, 3))(records)
        for node, lines in records.items():
            text = "".join(json.dumps(each) + "\n" for each in lines)
            (folder / "traces" / f"r1.{node}.0.pingpong.jsonl").write_text(text)

    return spoil


def _two_views(run: Run) -> None:
    """Return the traces of a run in which a message is delivered in two views."""
    run.trace = copy(trace_of(2))


def _nobody_went_on(run: Run) -> None:
    """Return the traces of a run that ends in its first view."""
    run.trace = copy(trace_of(1))


def _contents(run: Run) -> None:
    on(C, "ReceiveData", sets(args__crc=1))(run.trace)


PLANTED: Final[dict[str, Planted]] = {
    "field.judged": {
        f"{_VERDICT}return VIOLATED": verdict_plant("violated", Trace=VIOLATED),
        f"{_VERDICT}INCONCLUSIVE in found": verdict_plant("inconclusive", Trace=INCONCLUSIVE),
        f"{_VERDICT}self.failed": verdict_plant("inconclusive", failure="nobody came"),
        f"{_VERDICT}bool(self.record.defects)": verdict_plant(
            "inconclusive", defects=["a trace stopped"]
        ),
        f"{_VERDICT}return INCONCLUSIVE if undecided else HOLDS": Plant(
            good=found(),
            bad=found(failure="nobody came"),
            words=f"{WHOLE}inconclusive",
            then=f"{WHOLE}None",
            why="without it there is no verdict at all",
        ),
        f"{_BEGIN}Incomplete: …": plant(
            "Incomplete: nobody came",
            lambda run: setattr(run.record, "failure", "nobody came"),
            then=f"{WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_BEGIN}self.reasons += self.record.defects": plant(
            "a trace stopped",
            lambda run: run.record.defects.append("a trace stopped"),
            then=f"{WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(self.verdicts, TRACE, INCONCLUSIVE)": plant(
            "Trace: inconclusive",
            spoil=_only_crashes,
            then="no member has written a trace",
            why=_REASON,
        ),
        f"{_TRACES}no member has written a trace": plant(
            "no member has written a trace",
            spoil=_only_crashes,
            then="Trace: inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(self.verdicts, TRACE, verdict.verdict)": plant(
            "Trace: violated",
            spoil=_other_protocol,
            then="not what the model does",
            why=_REASON,
        ),
        f"{_TRACES}self.reasons += explained(verdict)": plant(
            '["DATA","a",0,"c",0,1] was sent with other contents (c.0, event 1 ReceiveData)',
            _contents,
            then="Trace: violated",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}self.violates(promise.name, promise.witness.get('at'), promise.witness)": plant(
            "VirtualSynchrony: violated",
            _two_views,
            then="VirtualSynchrony is violated",
            why=_REASON,
        ),
        f"{_TRACES}… is violated: …": plant(
            "VirtualSynchrony is violated",
            _two_views,
            then="VirtualSynchrony: violated",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(self.verdicts, TRACE, VIOLATED)": plant(
            "Trace: violated",
            spoil=_says(LOUD),
            then="pingpong.Soft is violated",
            why=_REASON,
        ),
        f"{_TRACES}add(self.verdicts, promise.name, INCONCLUSIVE)": plant(
            "pingpong.Lucky: inconclusive",
            spoil=_says(UNLUCKY),
            then="pingpong.Lucky is violated",
            why=_REASON,
        ),
        f"{_TRACES}… is violated; …": plant(
            "pingpong.Lucky is violated; it rests on what this run does not have: good luck",
            spoil=_says(UNLUCKY),
            then="pingpong.Lucky: inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(self.verdicts, promise.name, promise.verdict)": plant(
            "Agreement: inconclusive",
            _nobody_went_on,
            then="Agreement: no two members went on together from a view",
            why=_REASON,
        ),
        f"{_TRACES}…: …": plant(
            "Agreement: no two members went on together from a view",
            _nobody_went_on,
            then="Agreement: inconclusive",
            why=_VERDICT_IS,
        ),
    },
}
