"""Faults planted in the recorded events of a good ring: each of the nine promises is broken by one.

The judges see what was recorded, whether or not it is what the model does.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.traces.checker import RunVerdict
from raincheck.conformance.traces.faced import check_file
from raincheck.conformance.traces.facedrun import check_others, sorted_out
from raincheck.conformance.traces.ringgen import RecordedRing, record_ring
from raincheck.conformance.traces.ringpromises import NAMES
from raincheck.conformance.traces.ringseen import CRASHED, OPEN, RingSeen
from raincheck.conformance.traces.tracefile import trace_files

Records = list[dict[str, Any]]


def checked(folder: Path) -> RunVerdict:
    """What the traces of one run say."""
    (verdict,) = check_others(sorted_out(trace_files([folder])))
    return verdict


def path_of(folder: Path, member: str) -> Path:
    return folder / f"sim-1.{member}.raincore.jsonl"


def records(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, lines: Records) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


def seen(path: Path) -> RingSeen:
    """What the observer saw in one file."""
    problems: list[Any] = []
    report = check_file(path, problems.append)
    assert report is not None
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


def changing(lines: Records, name: str) -> Iterator[dict[str, Any]]:
    return (each for each in lines if name in each.get("changed", {}))


def telling(lines: Records, name: str) -> list[dict[str, Any]]:
    return [each for each in lines if any(n == name for n, _ in each.get("told", []))]


def doing(lines: Records, action: str) -> list[dict[str, Any]]:
    return [each for each in lines if each.get("action") == action]


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
    assert (lock.end, lock.how, lock.first) == (multicast + 1, "", (0, "", 0, 8))
    assert lock.at == lines[lock.start]["at"]


def longer(lines: Records, first: int, last: int) -> tuple[int, int]:
    """It does not let go in those of its hungry turns; return from and to which event it has it."""
    ends = [each for each in doing(lines, "EatingTimeout") if each["changed"]["token_state"]]
    for each in ends[first:last]:
        del each["changed"]["token_state"], each["changed"]["last_token"]
    return ends[first]["index"] - 1, ends[last]["index"]


def test_a_lock_that_is_not_let_go_is_one_whatever_numbers_it_has(traces: Path) -> None:
    path = path_of(traces, "b.0")
    lines = records(path)
    start, end = longer(lines, 3, 6)
    rewritten(path, lines)

    saw = [(lock.start, lock.end) for lock in seen(path).locks]

    assert (start, end) in saw
    assert [each for each in saw if start < each[0] < end] == []
    ate = [(each.index, each.fence[3]) for each in seen(path).eaten if start <= each.index < end]
    assert ate == [(start, 11), (start + 2, 14), (start + 4, 17), (start + 6, 20)]


def test_the_same_lock_in_another_epoch_is_another_one(traces: Path) -> None:
    """It can be compared with those of that epoch only."""
    path = path_of(traces, "b.0")
    lines = records(path)
    start, _ = longer(lines, 3, 4)
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
    assert len(sends) == 2
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


def other_view(lines: Records) -> None:
    next(changing(lines, "global_view"))["changed"]["global_view"][0].reverse()


def rewrites_history(lines: Records) -> None:
    """All have the same first view; in a later event of its, it becomes another one."""
    views = list(changing(lines, "global_view"))
    views[-1]["changed"]["global_view"][0].reverse()


def rewrites_and_restores(lines: Records) -> None:
    """The same for one event only."""
    views = list(changing(lines, "global_view"))
    at = lines.index(views[-1])
    known = views[-1]["changed"]["global_view"]
    lines[at + 1]["changed"]["global_view"] = [known[0][::-1], *known[1:]]
    lines[at + 2]["changed"]["global_view"] = known


def other_number(lines: Records) -> None:
    """It says that it had the token at a number at which another one had it."""
    first, second = telling(lines, "Eats")[3:5]
    second["changed"]["last_token"][3] = first["changed"]["last_token"][3] - 1


def never_lets_go(lines: Records) -> None:
    longer(lines, 3, 6)


def lets_go_late(lines: Records) -> None:
    """It passes the token on, and ceases to eat an event later."""
    end = doing(lines, "EatingTimeout")[4]
    after = lines[lines.index(end) + 1]
    del end["changed"]["token_state"], end["changed"]["last_token"]
    after["changed"]["token_state"] = "hungry"


def agrees_while_it_starves(lines: Records) -> None:
    for each in changing(lines, "token_state"):
        if each["changed"]["token_state"] == "starving":
            each["changed"]["view_state"] = "agreement"


def starves_when_it_has_left(lines: Records) -> None:
    (left,) = (each for each in changing(lines, "up") if each["changed"]["up"] == "left")
    left["changed"] |= {"token_state": "starving", "view_state": "reserve"}


def never_eats(lines: Records) -> None:
    for each in changing(lines, "token_state"):
        if each["changed"]["token_state"] == "eating":
            each["changed"]["token_state"] = "hungry"


def commits_early(lines: Records) -> None:
    """It has the view with c's next life before that one has had the token."""
    early, between, last = list(changing(lines, "global_view"))[-3:]
    for each in (early, between):
        each["changed"]["global_view"] = last["changed"]["global_view"]


def has_a_hole(lines: Records) -> None:
    for each in changing(lines, "global_view"):
        if len(each["changed"]["global_view"]) > 3:
            each["changed"]["global_view"][2] = []


def fills_a_hole_late(lines: Records) -> None:
    """It has the fourth view without the third, and then the third as well."""
    for each in changing(lines, "global_view"):
        if len(each["changed"]["global_view"]) in (3, 4):
            each["changed"]["global_view"][2] = []


def loses_the_last(lines: Records) -> None:
    *_, before, last = changing(lines, "global_view")
    last["changed"]["global_view"] = before["changed"]["global_view"]


def delivers_again(lines: Records) -> None:
    first, second = telling(lines, "Deliver")[:2]
    second["told"] = [*first["told"], *second["told"]]


def delivers_nothing_real(lines: Records) -> None:
    telling(lines, "Deliver")[0]["told"][0] = ["Deliver", [["c", 0], 2]]


def delivers_too_soon(lines: Records) -> None:
    """It has a message in its first turn, when nobody had sent it."""
    late = telling(lines, "Deliver")[0]
    first = telling(lines, "Eats")[0]
    first["told"], late["told"] = [late["told"][0], *first["told"]], late["told"][1:]


def delivers_backwards(lines: Records) -> None:
    record = telling(lines, "Deliver")[1]
    first, second, *others = record["told"]
    record["told"] = [second, first, *others]


def reverses_one_sender(lines: Records) -> None:
    """It delivers both of b's messages, the second one first."""
    one, two = (
        deliver
        for each in telling(lines, "Deliver")
        for deliver in each["told"]
        if deliver[0] == "Deliver" and deliver[1][0] == ["b", 0]
    )
    one[1], two[1] = two[1], one[1]


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
            {"index": 1, "members": [["c", 0], ["b", 0]], "events": [4, 41], "views": VIEWS},
            {"NoHoles"},
        ),
        (
            "b.0", rewrites_and_restores, "ConsistentHistory",
            {"index": 1, "members": [["c", 0], ["b", 0]], "events": [4, 42], "views": VIEWS},
            {"NoHoles"},
        ),
        (
            "b.0", other_number, "FenceUnique",
            {"fence": [0, "", 0, 10], "members": [["a", 0], ["b", 0]], "events": [7, 11]},
            set(),
        ),
        (
            "b.0", never_lets_go, "OneLock",
            {"fences": [[0, "", 0, 11], [0, "", 0, 12]], "members": [["b", 0], ["c", 0]],
             "events": [9, 9]},
            set(),
        ),
        (
            "b.0", lets_go_late, "OneLock",
            {"fences": [[0, "", 0, 14], [0, "", 0, 15]], "members": [["b", 0], ["c", 0]],
             "events": [11, 11]},
            set(),
        ),
        (
            "b.0", agrees_while_it_starves, "SevenStates",
            {"members": [["b", 0]], "events": [18], "state": "starving-agreement"},
            set(),
        ),
        (
            "a.0", starves_when_it_has_left, "SevenStates",
            {"members": [["a", 0]], "events": [46], "state": "starving-reserve"},
            set(),
        ),
        (
            "d.0", never_eats, "HeldByAll",
            {"index": 4, "members": [["a", 0]], "lacking": "d.0 had not held the token"},
            set(),
        ),
        (
            "a.0", commits_early, "HeldByAll",
            {"index": 6, "members": [["a", 0]], "events": [31],
             "lacking": "c.1 had not held the token"},
            set(),
        ),
        (
            "a.0", has_a_hole, "NoHoles",
            {"index": 3, "members": [["a", 0]], "events": [31], "view": ["a.0", "c.0", "b.0"],
             "lacking": "a.0 has the one at 4, and not this one"},
            set(),
        ),
        (
            "a.0", fills_a_hole_late, "NoHoles",
            {"index": 3, "members": [["a", 0]], "events": [31],
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
            {"members": [["b", 0]], "messages": [["b", 0, 1]], "twice": True},
            {"Fifo"},
        ),
        (
            "b.0", delivers_nothing_real, "Integrity",
            {"members": [["b", 0]], "messages": [["c", 0, 2]], "never_sent": True},
            {"Fifo"},
        ),
        (
            "a.0", delivers_too_soon, "Integrity",
            {"members": [["a", 0]], "messages": [["b", 0, 1]], "before_it_was_sent": True},
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


def test_what_it_told_that_cannot_be_read_ends_no_check(traces: Path) -> None:
    path = path_of(traces, "b.0")
    lines = records(path)
    told = telling(lines, "Deliver")[0]["told"]
    told[:] = [["Deliver", 5], ["Deliver", [["b", 0]]], ["Deliver", [["b", "x"], 1]], *told]
    rewritten(path, lines)

    verdict = checked(traces)

    assert verdict.first is not None
    assert verdict.first.differences[0].name == "told[1]"
    assert [(each.origin, each.k) for each in seen(path).delivered][:2] == [
        (("b", 0), 1),
        (("c", 0), 1),
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
