"""Faults planted in the recorded events of a good ring: each of the nine promises is broken by one.

The judges see what was recorded, whether or not it is what the model does.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.judges.ring_faults import (
    Records,
    agrees_while_it_starves,
    changing,
    checked,
    commits_early,
    delivers_again,
    delivers_backwards,
    delivers_nothing_real,
    delivers_too_soon,
    doing,
    fills_a_hole_late,
    has_a_hole,
    lets_go_late,
    longer,
    loses_the_last,
    never_eats,
    never_lets_go,
    other_number,
    other_view,
    path_of,
    records,
    reverses_one_sender,
    rewrites_and_restores,
    rewrites_history,
    rewritten,
    starves_when_it_has_left,
    telling,
)
from raincheck.conformance.trace.following.files import check_file
from raincheck.conformance.trace.ring.generator import RecordedRing, record_ring
from raincheck.conformance.trace.ring.promises import NAMES
from raincheck.conformance.trace.ring.seen import CRASHED, OPEN, RingSeen


def seen(path: Path) -> RingSeen:
    """What the observer saw in one file."""
    problems: list[Any] = []
    checked = check_file(path, problems.append)
    assert checked is not None
    report, _ = checked
    assert report.seen is not None
    assert problems == []
    return report.seen


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traces of a ring's life."""
    folder = tmp_path_factory.mktemp("good")
    record_ring(folder)
    return folder


@pytest.fixture
def traces(good: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "traces"))


# ---------------------------------------------------------------- what the observer saw


def locks_of(lines: Records) -> list[tuple[int, int]]:
    """From and to which event it ate and was not in chaos, by the records alone."""
    state = dict(lines[0]["initial"])
    found: list[tuple[int, int]] = []
    begun = 0
    for each in lines:
        state |= each.get("changed", {})
        locked = (state["up"], state["token_state"]) == ("up", "eating")
        locked = locked and state["view_state"] != "chaos"
        if locked and not begun:
            begun = each["index"]
        elif begun and not locked:
            found.append((begun, each["index"]))
            begun = 0
    return found


def test_a_lock_held_over_several_events_is_one_lock(good: Path) -> None:
    for member in ("a.0", "b.0", "c.0", "c.1", "d.0"):
        lines = records(path_of(good, member))
        saw = [(lock.start, lock.end) for lock in seen(path_of(good, member)).locks if lock.end]
        assert saw == locks_of(lines)

        told = [
            (told[1][1], each["index"])
            for each in telling(lines, "Eats")
            for told in each["told"]
            if told[0] == "Eats"
        ]
        assert [(each.fence[3], each.index) for each in seen(path_of(good, member)).eaten] == told

    lines = records(path_of(good, "b.0"))
    multicast = doing(lines, "Multicast")[0]["index"]
    lock = next(each for each in seen(path_of(good, "b.0")).locks if each.start == multicast - 1)
    assert (lock.end, lock.how, lock.first) == (multicast + 1, "", (0, "", 0, 11))
    assert lock.at == lines[lock.start]["at"]


def test_a_lock_that_is_not_let_go_is_one_whatever_numbers_it_has(traces: Path) -> None:
    path = path_of(traces, "b.0")
    lines = records(path)
    start, end = longer(lines, 1, 4)
    rewritten(path, lines)

    saw = [(lock.start, lock.end) for lock in seen(path).locks]

    assert (start, end) in saw
    assert [each for each in saw if start < each[0] < end] == []
    ate = [(each.index, each.fence[3]) for each in seen(path).eaten if start <= each.index < end]
    assert ate == [(start, 5), (start + 2, 8), (start + 6, 11), (start + 9, 14)]


def test_the_same_lock_in_another_epoch_is_another_one(traces: Path) -> None:
    """It can be compared with those of that epoch only."""
    path = path_of(traces, "b.0")
    lines = records(path)
    start, _ = longer(lines, 1, 2)
    again = lines[start + 2]
    again["changed"]["last_token"][2] = [7, ["b", 0]]
    rewritten(path, lines)

    found = [each for each in seen(path).locks if each.start >= start][:2]

    assert [(each.start, each.end, each.first[0]) for each in found] == [
        (start, start + 2, 0),
        (start + 2, start + 3, 7),
    ]


def test_how_a_lock_ended_is_seen(tmp_path: Path) -> None:
    ring = RecordedRing(tmp_path)
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.run_until(lambda: ring["b"].core.token_state == "eating")
    ring.crash("b")
    ring.recover("b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.run_until(lambda: ring["b"].core.token_state == "eating")
    ring.close()
    lines = records(path_of(tmp_path, "b.0"))
    (crash,) = doing(lines, "Crash")

    locks = seen(path_of(tmp_path, "b.0")).locks

    assert [each.end for each in locks if each.how == CRASHED] == [crash["index"]]
    assert [each.how for each in locks if not each.end] == [OPEN]
    assert locks[-1].how == OPEN
    assert sum(each.how == "" for each in locks) == len(locks) - 2
    assert checked(tmp_path).verdict == "holds"


def test_who_leaves_alone_with_the_lock_has_let_it_go(tmp_path: Path) -> None:
    ring = RecordedRing(tmp_path)
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.leave("b")
    ring.run(0.3)
    ring.leave("a")
    ring.run(0.3)
    ring.close()

    saw = seen(path_of(tmp_path, "a.0"))

    assert saw.up == "left"
    assert (saw.locks[-1].end, saw.locks[-1].how) == (saw.last, "")


def test_what_a_file_says_of_its_member_is_seen(good: Path) -> None:
    """Its sends, its last agreement, its end: by the records alone."""
    lines = records(path_of(good, "b.0"))
    saw = seen(path_of(good, "b.0"))

    sends = [(each["changed"]["said"], each["index"]) for each in changing(lines, "said")]
    assert [(each.count, each.index) for each in saw.said] == sends
    assert len(sends) == 3  # its messages, twice, and a post when it is back
    assert (saw.up, saw.last, saw.forgot) == ("up", lines[-2]["index"], [])
    assert saw.agreed is not None
    last = list(changing(lines, "view_state"))[-1]
    assert (last["changed"]["view_state"], last["index"]) == ("agreement", saw.agreed.start)
    assert (saw.agreed.end, saw.agreed.at) == (0, last["at"])
    assert saw.agreed.members == (("c", 1), ("d", 0), ("b", 0))
    left = seen(path_of(good, "a.0"))
    assert left.up == "left"
    assert left.agreed is not None
    assert 0 < left.agreed.end <= left.last


def test_that_a_member_lost_its_state_is_seen(traces: Path) -> None:
    path = path_of(traces, "b.0")
    lines = records(path)
    (back,) = doing(lines, "Recover")
    back |= {"action": "Forget", "changed": {"up": "new"}, "sent": []}
    rewritten(path, lines)

    assert seen(path).forgot == [back["index"]]


def test_agreement_ends_with_its_list_and_with_its_member(traces: Path) -> None:
    path = path_of(traces, "b.0")
    lines = records(path)
    (crash,) = doing(lines, "Crash")
    last = lines[-3]
    last["changed"]["last_token"][4] = [["b", 0]]
    del lines[-2]["changed"]["last_token"]
    rewritten(path, lines)
    agreed = seen(path).agreed
    assert agreed is not None
    assert (agreed.members, agreed.start, agreed.end) == ((("b", 0),), last["index"], 0)

    rewritten(path, lines[: crash["index"] + 1])
    agreed = seen(path).agreed
    assert agreed is not None
    assert agreed.end == crash["index"]


# ---------------------------------------------------------------- planted faults

VIEWS = [["a.0", "b.0", "c.0"], ["c.0", "b.0", "a.0"]]


@pytest.mark.parametrize(
    ("member", "fault", "promise", "witness", "also"),
    [
        (
            "b.0", other_view, "ConsistentHistory",
            {"index": 1, "members": [["c", 0], ["b", 0]], "events": [4, 6], "views": VIEWS},
            {"NoHoles"},
        ),
        (
            "b.0", rewrites_history, "ConsistentHistory",
            {"index": 1, "members": [["c", 0], ["b", 0]], "events": [4, 45], "views": VIEWS},
            {"NoHoles"},
        ),
        (
            "b.0", rewrites_and_restores, "ConsistentHistory",
            {"index": 1, "members": [["c", 0], ["b", 0]], "events": [4, 46], "views": VIEWS},
            {"NoHoles"},
        ),
        (
            "b.0", other_number, "FenceUnique",
            {"fence": [0, "", 0, 10], "members": [["a", 0], ["b", 0]], "events": [9, 13]},
            set(),
        ),
        (
            "b.0", never_lets_go, "OneLock",
            {"fences": [[0, "", 0, 11], [0, "", 0, 12]], "members": [["b", 0], ["c", 0]],
             "events": [10, 11]},
            set(),
        ),
        (
            "b.0", lets_go_late, "OneLock",
            {"fences": [[0, "", 0, 14], [0, "", 0, 15]], "members": [["b", 0], ["c", 0]],
             "events": [13, 15]},
            set(),
        ),
        (
            "b.0", agrees_while_it_starves, "SevenStates",
            {"members": [["b", 0]], "events": [17], "state": "starving-agreement"},
            set(),
        ),
        (
            "a.0", starves_when_it_has_left, "SevenStates",
            {"members": [["a", 0]], "events": [56], "state": "starving-reserve"},
            set(),
        ),
        (
            "d.0", never_eats, "HeldByAll",
            {"index": 4, "members": [["a", 0]], "lacking": "d.0 had not held the token"},
            set(),
        ),
        (
            "a.0", commits_early, "HeldByAll",
            {"index": 6, "members": [["a", 0]], "events": [38],
             "lacking": "c.1 had not held the token"},
            set(),
        ),
        (
            "a.0", has_a_hole, "NoHoles",
            {"index": 3, "members": [["a", 0]], "events": [38], "view": ["a.0", "c.0", "b.0"],
             "lacking": "a.0 has the one at 4, and not this one"},
            set(),
        ),
        (
            "a.0", fills_a_hole_late, "NoHoles",
            {"index": 3, "members": [["a", 0]], "events": [38],
             "lacking": "a.0 has the one at 4, and not this one"},
            set(),
        ),
        (
            "d.0", loses_the_last, "NoHoles",
            {"index": 7, "members": [["d", 0]], "view": ["c.1", "d.0", "b.0"],
             "lacking": "all agree, and d.0 has not the last one"},
            set(),
        ),
        (
            "b.0", delivers_backwards, "AgreedOrder",
            {"members": [["b", 0], ["a", 0]], "messages": [["a", 0, 1], ["c", 0, 1]],
             "order": "b delivered them in this order, a in the other"},
            set(),
        ),
        (
            "b.0", delivers_again, "Integrity",
            {"members": [["b", 0]], "messages": [["c", 0, 1]], "twice": True},
            {"Fifo"},
        ),
        (
            "b.0", delivers_nothing_real, "Integrity",
            {"members": [["b", 0]], "messages": [["e", 0, 1]], "never_sent": True},
            set(),
        ),
        (
            "a.0", delivers_too_soon, "Integrity",
            {"members": [["a", 0]], "messages": [["c", 0, 1]], "before_it_was_sent": True},
            set(),
        ),
        (
            "a.0", reverses_one_sender, "Fifo",
            {"members": [["a", 0]], "messages": [["b", 0, 2], ["b", 0, 1]]},
            {"AgreedOrder", "Integrity"},
        ),
    ],
)  # fmt: skip
def test_a_fault_planted_in_one_file_breaks_its_promise(
    member: str,
    fault: Callable[[Records], None],
    promise: str,
    witness: dict[str, Any],
    also: set[str],
    traces: Path,
) -> None:
    path = path_of(traces, member)
    lines = records(path)
    fault(lines)
    rewritten(path, lines)

    verdict = checked(traces)

    assert verdict.verdict == "violated"  # it is no behaviour of the model either
    found = {each.name: each for each in verdict.promises}
    assert {name for name, each in found.items() if each.verdict == "violated"} == {promise} | also
    assert found[promise].witness.items() >= witness.items()
    assert all(found[promise].judged.values())
    others = [each for each in found.values() if each.verdict != "violated"]
    assert {each.reason for each in others} == {"not every record was checked"}


def test_each_of_the_nine_promises_has_a_planted_fault() -> None:
    (mark,) = test_a_fault_planted_in_one_file_breaks_its_promise.pytestmark  # type: ignore[attr-defined]
    assert {case[2] for case in mark.args[1]} == set(NAMES)


def test_an_indication_that_cannot_be_read_ends_no_check(traces: Path) -> None:
    path = path_of(traces, "b.0")
    lines = records(path)
    told = telling(lines, "Deliver")[0]["told"]
    told[:] = [["Deliver", 5], ["Deliver", [["b", 0]]], ["Deliver", [["b", "x"], 1]], *told]
    rewritten(path, lines)

    verdict = checked(traces)

    assert verdict.first is not None
    assert verdict.first.differences[0].name == "told[1]"
    assert [(each.origin, each.k) for each in seen(path).delivered][:2] == [
        (("c", 0), 1),
        (("a", 0), 1),
    ]


def test_what_was_recorded_of_a_member_that_was_killed_is_judged(traces: Path) -> None:
    """c's first life has no footer, and none is missing: it was killed."""
    path = path_of(traces, "c.0")
    lines = records(path)
    assert lines[-1]["kind"] == "event"
    other_view(lines)
    rewritten(path, lines)

    found = {each.name: each for each in checked(traces).promises}

    assert found["ConsistentHistory"].witness["members"] == [["c", 0], ["a", 0]]


def test_a_record_that_is_missing_accuses_nobody(traces: Path) -> None:
    """Without b's last word nobody knows what it has sent, or let go."""
    path = path_of(traces, "b.0")
    lines = records(path)
    never_lets_go(lines)
    end = telling(lines, "Deliver")[0]["index"]
    rewritten(path, lines[: end + 1])

    found = {each.name: each.verdict for each in checked(traces).promises}

    assert "violated" not in found.values()
