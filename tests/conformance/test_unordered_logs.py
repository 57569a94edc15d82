"""The judge of unordered messages in field runs: what it lets pass, and which faults it names."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from raincheck.conformance.field.stack.log import Log
from raincheck.conformance.field.stack.unordered import judge_unordered

Logs = dict[str, Log]


def logs_of(folder: Path, fault: Callable[[Logs], None] = lambda _: None) -> list[Path]:
    """The logs of a, b and c, which deliver the messages of a and b in different orders."""
    logs = {name: Log(folder / f"run-1.{name}.0.jsonl", f"{name}.0") for name in "abc"}
    for name in "ab":
        logs[name].sends(1, 1, 2)
    for log in logs.values():
        log.row("view", view=1)
    logs["a"].delivered("a.0", 1, [1, 2])
    logs["a"].delivered("b.0", 1, [1, 2])
    logs["b"].delivered("b.0", 1, [1, 2])
    logs["b"].delivered("a.0", 1, [1, 2])
    logs["c"].delivered("a.0", 1, [1])
    logs["c"].delivered("b.0", 1, [1, 2])
    logs["c"].delivered("a.0", 1, [2])
    fault(logs)
    for log in logs.values():
        log.row("view", view=2)
        log.close()
    return sorted(folder.iterdir())


def test_each_member_may_have_an_order_of_its_own(tmp_path: Path) -> None:
    assert judge_unordered(logs_of(tmp_path)) == ("holds", [])


def test_without_logs_nothing_is_judged() -> None:
    verdict, reasons = judge_unordered([])
    assert verdict == "inconclusive"
    assert reasons == ["the logs of unordered messages: there are none"]


def lacking(logs: Logs) -> None:
    logs["a"].sends(1, 3, 1)
    logs["a"].delivered("a.0", 1, [3])
    logs["b"].delivered("a.0", 1, [3])


def doubled(logs: Logs) -> None:
    for log in logs.values():
        log.delivered("b.0", 1, [2])


def made_up(logs: Logs) -> None:
    for log in logs.values():
        log.delivered("b.0", 1, [3])


def overtaken(logs: Logs) -> None:
    logs["a"].sends(1, 3, 2)
    for log in logs.values():
        log.delivered("a.0", 1, [4, 3])


def left_out(logs: Logs) -> None:
    logs["a"].sends(1, 3, 2)
    for log in logs.values():
        log.delivered("a.0", 1, [4])


def in_two_views(logs: Logs) -> None:
    logs["a"].sends(1, 3, 1)
    logs["a"].delivered("a.0", 1, [3])
    for name in "bc":
        logs[name].row("view", view=2)
        logs[name].delivered("a.0", 2, [3])
    for log in logs.values():
        log.row("view", view=3)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (lacking, "agreement"),
        (doubled, "no_duplication"),
        (made_up, "no_creation"),
        (overtaken, "sender_fifo"),
        (in_two_views, "virtual_synchrony"),
        (left_out, "gap_freeness"),
    ],
)
def test_each_fault_is_named(fault: Callable[[Logs], None], name: str, tmp_path: Path) -> None:
    verdict, reasons = judge_unordered(logs_of(tmp_path, fault))

    assert verdict == "violated"
    assert any(f": {name} violated: " in reason for reason in reasons), reasons


def test_a_log_that_is_not_whole_is_no_pass(tmp_path: Path) -> None:
    paths = logs_of(tmp_path)
    rows = [json.loads(line) for line in paths[0].read_text().splitlines()]
    rows.remove(next(row for row in rows if row.get("position") == 2 and "sender" in row))
    paths[0].write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert judge_unordered(paths)[0] == "inconclusive"
