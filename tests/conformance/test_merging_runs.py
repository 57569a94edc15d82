"""Runs of groups that are cut and merge: the plans, and the judge of promises across sides."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from raincheck.__main__ import main
from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.deliveries.sides import (
    compared,
    compared_in_a_view,
    compared_together,
    lives_of,
    two_orders,
    two_sets,
    two_views,
)
from raincheck.conformance.field.judged import TRACE
from raincheck.conformance.field.merging.campaign import settings_of
from raincheck.conformance.field.merging.checks import PRIMARY, judge
from raincheck.conformance.field.merging.faults import CUTS, KINDS, MOST, make_plan
from raincheck.conformance.field.merging.primaries import (
    FOLDER,
    Formed,
    delivered_elsewhere,
    delivered_twice,
    two_primaries,
)
from raincheck.conformance.field.merging.run import MergingRecord, record_of

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
        (["--members", "2", "--primary", "majority"], "--members is 2: choose from 3 with"),
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
        seconds=None, size=100, undo="", on_merge="callback", runs=1, soak=None, primary="",
        trace_to="", delivery="safe",
    )  # fmt: skip
    settings = settings_of(args)
    assert (settings.on_merge, settings.transport) == ("callback", "tcp")
    assert settings.delivery == "safe"
    assert settings.kinds == ("halves",)
    assert record_of(settings, 1).run == "merging-1"
    args.primary, args.members, args.faults = "majority", 4, "all"
    settings = settings_of(args)
    assert settings.primary == "majority"
    assert "leader" not in settings.kinds
    assert record_of(settings, 1).run == "primary-1"  # an audit judges both kinds together


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


# ------------------------------------------------------------------ the primary side alone

P1, P2, P3 = (
    Formed("", view, tuple(members), number, A1, after)
    for view, members, number, after in (
        (A1, ("a.0", "b.0", "c.0"), 1, 0),
        (A2, ("a.0", "b.0"), 2, 2),
        (M3, ("a.0", "b.0", "c.0"), 3, 3),
    )
)


def primaries() -> list[Formed]:
    """What a, b and c have formed: a and b have gone on without c."""
    of = {"a.0": (P1, P2, P3), "b.0": (P1, P2, P3), "c.0": (P1, P3._replace(after=1))}
    return [row._replace(member=member) for member, rows in of.items() for row in rows]


def deliveries() -> list[Row]:
    """What they have delivered: c nothing while it was alone."""
    logs = [
        log("a.0", A1, "a1", "c1", A2, "a2", M3, "c2"),
        log("b.0", A1, "a1", "c1", A2, "a2", M3, "c2"),
        log("c.0", A1, "a1", B2, M3, "c2"),
    ]
    return [row for rows in logs for row in rows]


def test_one_chain_of_primary_views_is_right() -> None:
    assert two_primaries(primaries()) == ""
    assert delivered_elsewhere(primaries(), deliveries()) == ""


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (
            P2._replace(member="c.0", view=B2, members=("c.0",)),
            "a.0 and c.0 have both formed a primary view 2: view 2 (a.0 b.0) and view 2 (c.0)",
        ),
        (P3._replace(member="c.0", history=B2), "have both formed a primary view 3"),
        (
            P3._replace(member="c.0", view=M3 + 1, members=("c.0",), number=4),
            "primary view 4 (c.0) has no majority of the one before, 3 (a.0 b.0 c.0)",
        ),
        (
            P3._replace(member="c.0", view=M3 + 1, number=4, history=B2),
            "primary views 3 and 4 are of two histories",
        ),
    ],
)
def test_a_primary_view_that_cannot_be_is_caught(planted: Formed, said: str) -> None:
    assert said in two_primaries([*primaries(), planted])


def test_half_of_a_primary_view_needs_the_smallest_address() -> None:
    four = P1._replace(member="b.0", members=("a.10", "a.9", "b.0", "c.0"))
    two = P2._replace(member="b.0", members=("a.9", "b.0"))
    assert two_primaries([four, two]) == ""
    assert "has no majority" in two_primaries([four, two._replace(members=("a.10", "b.0"))])


@pytest.mark.parametrize(
    ("member", "rows", "said"),
    [
        ("c.0", (A1, "a1", B2, "c2"), "c.0 delivers c 2 in view 2, which it has not formed"),
        ("c.0", (A1, "a1", M3, "c2"), ""),
        ("b.0", (A1, "a1", A2, "c1"), "b.0 delivers c 1 in view 2, which it has not formed"),
    ],
)
def test_a_delivery_outside_of_a_primary_view_is_caught(
    member: str, rows: tuple[int | str, ...], said: str
) -> None:
    found = delivered_elsewhere(primaries(), log(member, *rows))
    assert bool(found) == bool(said)
    assert said in found


def took(member: str, position: int, provider: str, after: int) -> Row:
    """The row of a state that a member has taken."""
    return Row(member, position, M3, provider, event="state", after=after)


def test_what_a_member_alone_has_delivered_is_undone_by_a_state() -> None:
    a = log("a", A1, "a1", "c1", "c2", M3, "a2")
    b = log("b", A1, "a1", B2)
    again = [took("b", 2, "a", 3), Row("b", 3, M3, "a", "2")]
    c = [*log("c", A1, "a1", "b9"), took("c", 3, "a", 1), Row("c", 4, M3, "b", "9")]
    assert delivered_twice([*a, *b, *again, *c]) == ""


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([Row("b", 2, A1, "a", "1")], "b delivers a 1 again (2)"),
        ([took("b", 2, "a", 3), Row("b", 3, M3, "c", "2")], "b delivers c 2 again (3)"),
        (
            [*log("d", A1, "d1"), took("d", 2, "b", 2), Row("d", 3, M3, "c", "1")],
            "d delivers c 1 again (3)",
        ),
    ],
)
def test_what_is_in_the_state_and_comes_again_is_caught(rows: list[Row], said: str) -> None:
    a, b = log("a", A1, "a1", "c1", "c2", M3, "a2"), log("b", A1, "a1")
    more = [] if any(row.member == "b" for row in rows) else [took("b", 2, "a", 3)]
    assert delivered_twice([*a, *b, *more, *rows]) == said


def test_a_run_is_judged_by_its_logs_of_primary_views(tmp_path: Path) -> None:
    for folder in ("deliveries", FOLDER):
        (tmp_path / folder).mkdir()
    for member in "abc":
        rows = [json.dumps(each._asdict()) for each in primaries() if each.member == f"{member}.0"]
        path = tmp_path / FOLDER / f"run-1.{member}.0.jsonl"
        path.write_text("".join(row + "\n" for row in rows))
    record = MergingRecord("run-1", 1, make_plan((), 1))

    def verdicts() -> dict[str, str]:
        for old in (tmp_path / "deliveries").iterdir():
            old.unlink()
        for member in "abc":
            lines = [each for each in deliveries() if each.member == f"{member}.0"]
            text = b"".join(msgspec.json.encode(each) + b"\n" for each in lines)
            (tmp_path / "deliveries" / f"run-1.{member}.0.jsonl").write_bytes(text)
        judged = judge(record, tmp_path, takes_state=True, primary=True)
        assert judged.verdicts[TRACE] == "inconclusive"  # nobody has written one
        return {name: judged.verdicts[name] for name in PRIMARY}

    assert verdicts() == {"OnePrimary": "holds", "OnlyPrimary": "holds", "Once": "holds"}
    with (tmp_path / FOLDER / "run-1.c.0.jsonl").open("a") as file:
        alone = P2._replace(member="c.0", view=B2, members=("c.0",))
        file.write(json.dumps(alone._asdict()) + "\n")
    assert verdicts() == {"OnePrimary": "violated", "OnlyPrimary": "holds", "Once": "holds"}
    for path in (tmp_path / FOLDER).iterdir():
        path.write_text("")
    found = verdicts()
    assert found == {"OnePrimary": "inconclusive", "OnlyPrimary": "violated", "Once": "holds"}


@pytest.mark.sockets
@pytest.mark.slow
def test_of_a_real_group_that_is_cut_only_the_primary_side_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--members", "3", "--seconds", "3", "--faults", "halves", "--primary", "majority"]
    assert main(["run", "merging", *options, "--seed", "3", "--out", str(out)]) == 0
    results = json.loads((out / "summary.json").read_text())["results"]
    verdicts = {each["name"]: each["verdict"] for each in results[1:]}
    assert {verdicts[name] for name in PRIMARY} == {"holds"}
