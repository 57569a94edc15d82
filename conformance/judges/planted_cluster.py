"""Faults planted for the rules of `field/stack/checks.py`: what the logs say of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from .cluster_run import SAID, SENT, WHOLE, Run, by_logs, plant
from .planting import Planted

_LOGS: Final = "_judge_logs: "
_VERDICT_IS: Final = "the verdict is the same"
_REASON: Final = "the reason is given all the same"


def _other_logs(**logs: list[tuple[str, int]]) -> Callable[[Run], None]:
    return lambda run: run.logs.update(logs)


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


def _silent(run: Run) -> None:
    """The group has safe delivery, and its logs do not say so."""
    run.record.safe = True


def _disordered(run: Run) -> None:
    """A safe group's c has another order."""
    run.record.safe = run.says_safe = True
    run.logs["c"] = [("b", 1), ("b", 2), ("a", 1), ("a", 2)]


def _overtaken(run: Run) -> None:
    """c has a's second unordered message before the first."""
    run.unordered["c"] = [("a", 2), ("a", 1), *SAID[2:]]


_SILENT: Final = "the delivery logs do not say that the group has safe delivery"
_LOST: Final = "_lost: "
_VALIDITY: Final = (
    "add(judged.verdicts, 'Validity', VIOLATED if lost else INCONCLUSIVE if undecided"
)
_UP_TO: Final = "Validity is violated: c.0 has b.0's messages up to "

PLANTED: Final[dict[str, Planted]] = {
    "field.stack.checks": {
        "judge: judged.verdicts['Integrity'] = VIOLATED": plant("Integrity: violated", _wrong),
        "judge: add(judged.verdicts, 'Unordered', verdict)": plant(
            "Unordered: violated",
            _overtaken,
            then="the logs of unordered messages: sender_fifo violated",
            why=_REASON,
        ),
        "judge: judged.reasons += reasons": plant(
            "the logs of unordered messages: sender_fifo violated",
            _overtaken,
            then="Unordered: violated",
            why=_VERDICT_IS,
        ),
        "_judge_states: add(judged.verdicts, 'SameCut', VIOLATED)": plant(
            "SameCut: violated",
            lambda run: setattr(run.member("c"), "state", (4, 8)),
            then="SameCut is violated",
            why=_REASON,
        ),
        "_judge_states: SameCut is violated: messages and their checksums: …": plant(
            "SameCut is violated: messages and their checksums: a.0 4 00000007",
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
        "_judge_by_logs_alone: add(judged.verdicts, 'Logs', INCONCLUSIVE) #2": plant(
            "Logs: inconclusive",
            _silent,
            then=_SILENT,
            why=_REASON,
        ),
        f"_judge_by_logs_alone: {_SILENT}": plant(
            _SILENT,
            _silent,
            then="Logs: inconclusive",
            why=_VERDICT_IS,
        ),
        "_judge_by_logs_alone: add(judged.verdicts, answers[promise.name], promise.verdict)": plant(
            "UniformTotalOrder: violated",
            _disordered,
            then="Logs: violated",
            why="the property has its own verdict beside that on the logs",
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
