"""Runs of groups that are cut and merge: the plans, and the judge of promises across sides."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.field.merging.campaign import settings_of
from raincheck.conformance.field.merging.faults import CUTS, KINDS, MOST, make_plan
from raincheck.conformance.field.merging.sides import (
    compared,
    compared_in_a_view,
    compared_together,
    lives_of,
    two_orders,
    two_sets,
    two_views,
)

Logs = dict[str, list[Row]]
A1, A2, B2, M3 = (number << 32 | who for number, who in ((1, 1), (2, 1), (2, 2), (3, 1)))
"""The first view, those of two sides, and the merged one."""


def log(member: str, *rows: int | str) -> list[Row]:
    """A log: numbers are views, words are messages that are delivered in the last one."""
    found, view, position = [], 0, 0
    for row in rows:
        if isinstance(row, int):
            view = row
            found.append(Row(member, view=view, event="view"))
        else:
            position += 1
            found.append(Row(member, position, view, row[0], row[1:]))
    return found


def good() -> Logs:
    """a and b are cut off from c; c's second message is delivered by each side in another view."""
    return {
        "a": log("a", A1, "c1", "c2", A2, "a1", M3, "c3", "a2"),
        "b": log("b", A1, "c1", "c2", A2, "a1", M3, "c3", "a2"),
        "c": log("c", A1, "c1", B2, "c2", M3, "c3", "a2"),
    }


def judged(logs: Logs) -> tuple[str, str, str]:
    """What is wrong with the order, with the views, and with those who went on together."""
    lives = lives_of(row for rows in logs.values() for row in rows)
    return two_orders(lives), two_views(lives), two_sets(lives)


def other_order(logs: Logs) -> None:
    logs["c"] = log("c", A1, "c1", B2, "c2", M3, "a2", "c3")


def behind_the_merge(logs: Logs) -> None:
    """b delivers in the merged view what a has delivered in the last one of their side."""
    logs["b"] = log("b", A1, "c1", "c2", A2, M3, "a1", "c3", "a2")


def again_on_the_other_side(logs: Logs) -> None:
    """a's message of before the merge is delivered by c in the merged view."""
    logs["c"] = log("c", A1, "c1", B2, "c2", M3, "a1", "c3", "a2")


def test_a_group_that_is_cut_and_merges_keeps_its_promises() -> None:
    logs = good()
    assert judged(logs) == ("", "", "")
    lives = lives_of(row for rows in logs.values() for row in rows)
    assert (compared(lives), compared_in_a_view(lives), compared_together(lives)) == (5, 5, 3)


def test_each_promise_counts_over_what_it_was_judged() -> None:
    alone = lives_of([*log("a", A1, "c1", A2), *log("b", B2, "c1")])
    assert (compared(alone), compared_in_a_view(alone), compared_together(alone)) == (1, 0, 0)


def lacks_one(logs: Logs) -> None:
    logs["b"] = log("b", A1, "c1", "c2", A2, M3, "c3", "a2")


def lacks_the_last_with_a_state(logs: Logs) -> None:
    logs["a"] = log("a", A1, "c1", "c2", A2, "a1", "a0", M3, "c3", "a2")
    state = Row("b", 3, A2, "a", event="state", after=2)
    logs["b"] = [*log("b", A1, "c1", "c2", A2), state, *log("b", A2, "a1", M3, "c3", "a2")[1:]]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (other_order, ("in view 3 ", "", "")),
        (behind_the_merge, ("", "a 1", "went on from view 2 to 3")),
        (again_on_the_other_side, ("", "a 1", "")),
        (lacks_one, ("", "", "went on from view 2 to 3")),
        (lacks_the_last_with_a_state, ("", "", "went on from view 2 to 3")),
    ],
)
def test_planted_faults_are_caught(
    fault: Callable[[Logs], None], said: tuple[str, str, str]
) -> None:
    logs = good()
    fault(logs)
    for words, found in zip(said, judged(logs), strict=True):
        assert bool(words) == bool(found)
        assert words in found


def test_who_was_given_a_state_need_not_deliver_what_is_in_it() -> None:
    logs = good()
    logs["b"] = [Row("b", 1, 0, "a", event="state", after=2), *log("b", A2, "a1", M3, "c3", "a2")]
    logs["a"] = log("a", A1, "c1", "c2", A2, "a9", "a1", M3, "c3", "a2")
    assert judged(logs) == ("", "", "")


def test_who_waits_for_a_state_has_nothing_of_the_views_before_it() -> None:
    logs = good()
    state = Row("b", 3, M3, "a", event="state", after=3)
    logs["b"] = [*log("b", A1, "c1", "c2", A2, M3), state, *log("b", M3, "c3", "a2")[1:]]
    assert judged(logs) == ("", "", "")


def test_a_plan_has_a_cut_and_depends_on_the_seed_alone() -> None:
    seen = set()
    for seed in range(40):
        plan = make_plan(KINDS, seed)
        kinds = [fault.kind for fault in plan.faults]
        assert set(kinds) & set(CUTS)
        assert len(kinds) <= MOST
        assert plan == make_plan(KINDS, seed)
        seen |= set(kinds)
    assert seen == set(KINDS) - {"loss", "delay", "duplicate", "reorder"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--members", "1"], "--members is 1: choose from 2 to 16."),
        (["--messages", "5"], "--messages is not for groups that merge: give --seconds."),
        (["--no-check"], "--no-check is not for groups that merge"),
        (["--rate", "0"], "--rate is 0: it must be above 0"),
        (["--transport", "udp-multicast"], "--transport udp-multicast cannot be cut"),
        (["--watch"], "--watch is for the ring"),
        (["--faults", "holder"], "--faults does not know holder"),
    ],
)
def test_what_cannot_be_run_is_said(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "merging", *options]) == 3
    assert said in capsys.readouterr().err


def test_settings_have_the_policy() -> None:
    args = argparse.Namespace(
        rate=None, members=None, messages=None, no_check=False, transport="tcp", faults="halves",
        seconds=None, size=100, undo="", on_merge="callback", runs=1, soak=None,
    )  # fmt: skip
    settings = settings_of(args)
    assert (settings.on_merge, settings.transport) == ("callback", "tcp")
    assert settings.kinds == ("halves",)


@pytest.mark.sockets
@pytest.mark.slow
@pytest.mark.parametrize("policy", ["state", "callback"])
def test_a_real_group_that_is_cut_becomes_one_again(policy: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--members", "3", "--seconds", "3", "--faults", "halves", "--on-merge", policy]
    assert main(["run", "merging", *options, "--seed", "3", "--out", str(out)]) == 0
    results = json.loads((out / "summary.json").read_text())["results"]
    assert results[0]["merges"]
    assert {each["name"]: each["verdict"] for each in results[1:]}["OneGroup"] == "holds"
