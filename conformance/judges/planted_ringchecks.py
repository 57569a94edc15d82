"""Faults planted for the rules of `field/ring/checks.py`: what traces and writes say of a ring."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from raincheck.conformance.field.ring.checks import PROMISED, TRACE, RingJudged, judge_ring
from raincheck.conformance.field.ring.faults import RingPlan
from raincheck.conformance.field.ring.fence import Fence, Write
from raincheck.conformance.field.ring.record import RingRecord
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.ring.promises import NAMES

from . import ring_faults as faults
from .planting import Ask, Plant, Planted, Told
from .ring_run import RUN, Fault, traces

_WHOLE: Final = "the run: "
_FIRST: Final[Fence] = (1, "a", 0, 1, 0)
_SECOND: Final[Fence] = (1, "a", 0, 2, 0)
_FOOLED: Final = [Write("a.0", _SECOND, True, 0.5), Write("b.0", _FIRST, True, 0.6)]
_VERDICT_IS: Final = "the verdict is the same"
_REASON: Final = "the reason is told all the same"


def _record(**values: Any) -> RingRecord:
    """Return a run that came to its end."""
    record = RingRecord(RUN, 1, RingPlan((), {}), seconds=5.0)
    record.agreed = record.heard = True
    record.writes = [Write("a.0", _FIRST, True, 0.5)]
    for name, value in values.items():
        setattr(record, name, value)
    return record


def _told(judged: RingJudged) -> Told:
    told = [f"{name}: {verdict}" for name, verdict in judged.verdicts.items() if verdict != HOLDS]
    told += judged.reasons
    return told if judged.verdict == HOLDS else [*told, f"{_WHOLE}{judged.verdict}"]


def _asked(
    fault: Fault | None = None,
    *,
    as_written: bool = False,
    traced: bool = True,
    **values: Any,
) -> Ask:
    """Ask what does not hold of a run, with a fault in b's traces, or other values in its record.

    With another record, the traces are not judged: they are assumed to be good.
    """

    def ask(folder: Path) -> Told:
        (folder / "traces").mkdir()
        if traced and not values:
            traces(folder / "traces", "b.0", fault)
        judged = judge_ring(_record(**values), folder, as_written=as_written, check=not values)
        if values:
            judged.verdicts |= dict.fromkeys((TRACE, *NAMES), HOLDS)
        return _told(judged)

    return ask


_GOOD: Final = _asked()


def _plant(words: str, fault: Fault | None = None, **how: Any) -> Plant:
    more = {name: how.pop(name) for name in ("then", "why") if name in how}
    return Plant(good=_GOOD, bad=_asked(fault, **how), words=words, **more)


def _found(verdict: str = HOLDS, **values: Any) -> Ask:
    """Return a run without any finding, except for these values."""

    def ask(_: Any) -> Told:
        judged = RingJudged(_record(**values), verdicts=dict.fromkeys((TRACE, *PROMISED), HOLDS))
        judged.verdicts[TRACE] = verdict
        return [] if judged.verdict == HOLDS else [f"{_WHOLE}{judged.verdict}"]

    return ask


_SOUND: Final = _found()


def _verdict(word: str, verdict: str = HOLDS, **values: Any) -> Plant:
    return Plant(good=_SOUND, bad=_found(verdict, **values), words=f"{_WHOLE}{word}")


_VERDICT: Final = "RingJudged.verdict: "
_END: Final = "_judge_end: "
_WRITES: Final = "_judge_writes: "
_TRACES: Final = "_judge_traces: "

PLANTED: Final[dict[str, Planted]] = {
    "field.ring.checks": {
        f"{_VERDICT}return VIOLATED": _verdict("violated", VIOLATED),
        f"{_VERDICT}INCONCLUSIVE in found": _verdict("inconclusive", INCONCLUSIVE),
        f"{_VERDICT}bool(self.record.defects)": _verdict("inconclusive", defects=["boom"]),
        f"{_VERDICT}failed": _verdict("inconclusive", failure="nobody came"),
        f"{_VERDICT}return INCONCLUSIVE if undecided else HOLDS": Plant(
            good=_SOUND,
            bad=_found(failure="nobody came"),
            words=f"{_WHOLE}inconclusive",
            then=f"{_WHOLE}None",
            why="without it there is no verdict at all",
        ),
        "judge_ring: Incomplete: …": _plant(
            "Incomplete: nobody came",
            failure="nobody came",
            then=f"{_WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        "judge_ring: judged.reasons += record.defects": _plant(
            "a trace stopped",
            defects=["a trace stopped"],
            then=f"{_WHOLE}inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_END}name == AGREEMENT": _plant(
            "Agreement: violated",
            agreed=False,
            heard=False,
            as_written=True,
            then="Agreement: inconclusive",
            why="nobody can say either that it was kept",
        ),
        f"{_END}record.agreed": _plant(
            "Delivered: violated",
            heard=False,
            as_written=True,
            then="Delivered: inconclusive",
            why="nobody can say either that it was kept",
        ),
        f"{_END}add(judged.verdicts, name, INCONCLUSIVE)": _plant(
            "Delivered: inconclusive",
            heard=False,
            then=f"{_WHOLE}inconclusive",
            why="what is owed and was not judged is not known to hold",
        ),
        f"{_WRITES}add(judged.verdicts, FENCED, HOLDS if writes else INCONCLUSIVE)": _plant(
            "Fenced: inconclusive",
            writes=[],
            then="nobody has used the resource",
            why=_REASON,
        ),
        f"{_WRITES}nobody has used the resource": _plant(
            "nobody has used the resource",
            writes=[],
            then="Fenced: inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_WRITES}judged.violates(found.promise, found.at, found.facts)": _plant(
            "Fenced: violated",
            writes=_FOOLED,
            then="the resource: Fenced is violated",
            why=_REASON,
        ),
        f"{_WRITES}the resource: … is violated: …": _plant(
            "the resource: Fenced is violated",
            writes=_FOOLED,
            then="Fenced: violated",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(judged.verdicts, TRACE, INCONCLUSIVE)": _plant(
            "Trace: inconclusive",
            traced=False,
            then="no member has written a trace",
            why=_REASON,
        ),
        f"{_TRACES}no member has written a trace": _plant(
            "no member has written a trace",
            traced=False,
            then="Trace: inconclusive",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(judged.verdicts, TRACE, verdict.verdict)": _plant(
            "Trace: violated",
            faults.reserves_too_much,
            then="violated: not what the model does (b.0",
            why=_REASON,
        ),
        f"{_TRACES}judged.reasons += explained(verdict)": _plant(
            "violated: not what the model does (b.0",
            faults.reserves_too_much,
            then="Trace: violated",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}judged.violates(promise.name, promise.witness.get('at'), promise.witness)": (
            _plant(
                "SevenStates: violated",
                faults.agrees_while_it_starves,
                then="SevenStates is violated: {",
                why=_REASON,
            )
        ),
        f"{_TRACES}… is violated: …": _plant(
            "SevenStates is violated: {",
            faults.agrees_while_it_starves,
            then="SevenStates: violated",
            why=_VERDICT_IS,
        ),
        f"{_TRACES}add(judged.verdicts, promise.name, promise.verdict)": _plant(
            "Fifo: inconclusive",
            faults.reserves_too_much,
            then="Fifo: not every record was checked",
            why=_REASON,
        ),
        f"{_TRACES}…: …": _plant(
            "Fifo: not every record was checked",
            faults.reserves_too_much,
            then="Fifo: inconclusive",
            why=_VERDICT_IS,
        ),
    },
}
