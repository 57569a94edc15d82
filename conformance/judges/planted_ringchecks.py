"""Faults planted for the rules of `field/ring/checks.py`: what writes and the end say of a ring."""

from __future__ import annotations

from asyncio.subprocess import Process
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.field.faults import Plan
from raincheck.conformance.field.judged import TRACE
from raincheck.conformance.field.ring.checks import RingJudged, judge_ring
from raincheck.conformance.field.ring.fence import Fence, Write
from raincheck.conformance.field.ring.members import RingMember
from raincheck.conformance.field.ring.record import RingRecord
from raincheck.conformance.outcome import HOLDS
from raincheck.conformance.trace.ring.promises import NAMES

from .planting import Ask, Complaints, Plant, Planted
from .ring_run import RUN, traces

_WHOLE: Final = "the run: "
_FIRST: Final[Fence] = (1, "a", 0, 1, 0)
_SECOND: Final[Fence] = (1, "a", 0, 2, 0)
_FOOLED: Final = [Write("a.0", _SECOND, True, 0.5), Write("b.0", _FIRST, True, 0.6)]
_VERDICT_IS: Final = "the verdict is the same"
_REASON: Final = "the reason is given all the same"


def ring_record(**values: Any) -> RingRecord:
    """Return a run that came to its end."""
    record = RingRecord(RUN, 1, Plan((), {}), seconds=5.0)
    record.agreed = record.heard = True
    record.writes = [Write("a.0", _FIRST, True, 0.5)]
    record.lives = _in_rings("f00d", "f00d")
    for name, value in values.items():
        setattr(record, name, value)
    return record


def _in_rings(*identities: str) -> list[RingMember]:
    """Return members that were in rings of these identities."""
    process: Process = None  # type: ignore[assignment]
    named = zip("ab", identities, strict=True)
    return [
        RingMember(name, 0, process, Path(), ending="done", identity=identity)
        for name, identity in named
    ]


def _complaints(judged: RingJudged) -> Complaints:
    told = [f"{name}: {verdict}" for name, verdict in judged.verdicts.items() if verdict != HOLDS]
    told += judged.reasons
    return told if judged.verdict == HOLDS else [*told, f"{_WHOLE}{judged.verdict}"]


def _asked(*, as_written: bool = False, **values: Any) -> Ask:
    """Ask what does not hold of a run with these values in its record.

    With another record, the traces are not judged: they are assumed to be good.
    """

    def ask(folder: Path) -> Complaints:
        (folder / "traces").mkdir()
        if not values:
            traces(folder / "traces", "b.0")
        judged = judge_ring(ring_record(**values), folder, as_written=as_written, check=not values)
        if values:
            judged.verdicts |= dict.fromkeys((TRACE, *NAMES), HOLDS)
        return _complaints(judged)

    return ask


_GOOD: Final = _asked()


def _plant(words: str, **how: Any) -> Plant:
    more = {name: how.pop(name) for name in ("then", "why") if name in how}
    return Plant(good=_GOOD, bad=_asked(**how), words=words, **more)


_END: Final = "_judge_end: "
_WRITES: Final = "_judge_writes: "
_FOUNDING: Final = "_judge_founding: "

PLANTED: Final[dict[str, Planted]] = {
    "field.ring.checks": {
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
        f"{_FOUNDING}add(judged.verdicts, ONE_FOUNDING, HOLDS if rings else INCONCLUSIVE)": _plant(
            "OneFounding: inconclusive",
            lives=_in_rings("", ""),
            then=f"{_WHOLE}inconclusive",
            why="what is owed and was not judged is not known to hold",
        ),
        f"{_FOUNDING}judged.violates(ONE_FOUNDING, None, {{'rings': rings}})": _plant(
            "OneFounding: violated",
            lives=_in_rings("f00d", "beef"),
            then="OneFounding is violated",
            why=_REASON,
        ),
        f"{_FOUNDING}… is violated: …": _plant(
            "OneFounding is violated",
            lives=_in_rings("f00d", "beef"),
            then="OneFounding: violated",
            why=_VERDICT_IS,
        ),
    },
}
