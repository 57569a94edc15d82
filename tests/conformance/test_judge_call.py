"""Delivery logs judged in one call, as a test of another system does."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import raincheck
from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED

pytest_plugins = ["pytester"]
NATS = str(Path(__file__).parent / "foreign" / "nats")


def good() -> raincheck.DeliveryLog:
    """Two members that deliver two messages of each of two senders, in two views."""
    log = raincheck.DeliveryLog()
    for member in ("p", "q"):
        log.installed(member, 1, ["p", "q"])
    for member in ("p", "q"):
        log.sent(member, 1)
    for member in ("p", "q"):
        log.delivered(member, "p", 1, view=1)
        log.delivered(member, "q", 1, view=1)
    for member in ("p", "q"):
        log.installed(member, 2, ["p", "q"])
    log.sent("p", 2)
    for member in ("p", "q"):
        log.delivered(member, "p", 2, view=2)
    return log


def test_all_properties_of_a_good_log_hold() -> None:
    log = good()
    log.ended()

    found = log.judge()

    found.assert_holds()
    assert found.verdict == HOLDS
    assert found["agreement"].judged == {"members": 2, "views": 2, "messages": 3}


def other_order(log: raincheck.DeliveryLog) -> None:
    """A third member has two messages in the other order."""
    log.delivered("r", "q", 1, view=1)
    log.delivered("r", "p", 1, view=1)


def never_sent(log: raincheck.DeliveryLog) -> None:
    """A message is delivered that nobody sent."""
    log.delivered("p", "q", 2, view=2)


def twice(log: raincheck.DeliveryLog) -> None:
    """A message is delivered again."""
    log.delivered("p", "p", 2, view=2)


def not_by_all(log: raincheck.DeliveryLog) -> None:
    """One of two that are complete lacks a message."""
    log.sent("q", 2)
    log.delivered("p", "q", 2, view=2)
    log.ended()


def behind_the_state(log: raincheck.DeliveryLog) -> None:
    """A member delivers what its state has."""
    log.took_state("r", "p", view=2)
    log.delivered("r", "p", 2, view=2)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (other_order, "total_order"),
        (never_sent, "no_creation"),
        (twice, "no_duplication"),
        (not_by_all, "agreement"),
        (behind_the_state, "state_cut"),
    ],
)
def test_a_planted_fault_is_named_with_its_witness(
    fault: Callable[[raincheck.DeliveryLog], None], name: str
) -> None:
    log = good()
    fault(log)

    found = log.judge()

    assert found[name].verdict == VIOLATED
    with pytest.raises(AssertionError, match=rf"{name}: violated, .*smallest witness: "):
        found.assert_holds(name)
    with pytest.raises(AssertionError, match="violated"):
        found.assert_not_violated()


def test_who_crashed_does_not_end() -> None:
    log = good()
    log.crashed("q")
    log.ended()

    assert [row["event"] for row in log.rows[-2:]] == ["crash", "end"]
    assert log.rows[-1]["member"] == "p"
    assert raincheck.judge(log.rows) == log.judge()


class Mute:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise OSError("no")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"member": "p", "sender": "a", "message": 9}, "positions count from 1"),
        ({"member": "p", "position": 1}, "a delivery needs sender and message"),
        ({"member": "p", "position": "x", "sender": "a", "message": 1}, "Expected `int`"),
        ({}, "required field `member`"),
        ("abc", "not a mapping of columns"),
        (None, "not a mapping of columns"),
        ({"member": "p", "sender": "a", "message": 10**5000, "position": 1}, "4300 digits"),
        ({"member": "p", "sender": "a", "message": Mute(), "position": 1}, "not a delivery record"),
        (Mute(), "not a mapping of columns"),
    ],
)
def test_a_row_that_is_none_is_in_quarantine_and_nothing_holds(row: Any, reason: str) -> None:
    found = raincheck.judge([*good().rows, row])

    (problem,) = found.problems
    assert reason in problem.reason
    assert problem.line == len(good().rows) + 1
    assert found["total_order"].verdict == INCONCLUSIVE
    with pytest.raises(AssertionError, match="quarantined: rows, line 14"):
        found.assert_not_violated()


def test_nothing_noted_shows_nothing() -> None:
    found = raincheck.judge([])

    assert found.verdict == INCONCLUSIVE
    with pytest.raises(AssertionError, match="nothing was delivered"):
        found.assert_not_violated()


def test_a_property_that_was_not_judged_is_no_success() -> None:
    found = good().judge(properties=["total_order"])

    found.assert_holds("total_order")
    with pytest.raises(KeyError, match="agreement was not judged; judged were total_order"):
        found.assert_holds("agreement")


def test_what_is_no_file_is_not_said_to_be_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match=r"a\.jsonl is neither a file nor a folder"):
        raincheck.judge_logs(tmp_path / "a.jsonl")


def test_an_unknown_property_is_refused() -> None:
    with pytest.raises(UsageError, match="There is no property order: choose from total_order"):
        good().judge(properties="order")


def test_views_by_any_name_are_judged() -> None:
    log = raincheck.DeliveryLog()
    for member in ("p", "q"):
        for view, message in (("red", 1), ("blue", 2)):
            log.installed(member, view)
            log.delivered(member, "a", message, view=view)
    log.ended()

    assert log.judge(properties=["virtual_synchrony"]).verdict == HOLDS


def test_the_base_installation_is_enough() -> None:
    heavy = ("numpy", "networkx", "pandas", "pyspark", "pyarrow", "rich", "jinja2", "z3")
    code = (
        "import sys, raincheck\n"
        "log = raincheck.DeliveryLog()\n"
        "for m in 'pq':\n"
        "    for view, n in (('x', 1), ('y', 2)):\n"
        "        log.delivered(m, 'a', n, view=view)\n"
        "log.judge().assert_holds('total_order')\n"
        f"raincheck.judge_logs({NATS!r}, log_format='nats').assert_holds()\n"
        f"print(sorted(set({heavy!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout == "[]\n"


def test_the_fixture_judges_when_the_test_ends(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def note(log, order):
            for member, ids in order.items():
                for message in ids:
                    log.delivered(member, "a", message)

        def test_good(delivery_log):
            note(delivery_log, {"p": [1, 2], "q": [1, 2]})

        def test_bad(delivery_log):
            note(delivery_log, {"p": [1, 2], "q": [2, 1]})

        def test_nothing(delivery_log):
            pass
        """
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines(["*total_order: violated*", "*total_order: inconclusive*"])
