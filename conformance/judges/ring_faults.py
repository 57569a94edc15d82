"""Faults in the recorded events of a good ring, each in the records of one member.

The ring is that of `trace/ring/generator.py`. The name of a fault says what it does; the judges see
the records, whether or not the model allows them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths

Records: TypeAlias = list[dict[str, Any]]


def checked(folder: Path) -> RunVerdict:
    """Return the verdict on the traces of one run."""
    (verdict,) = check_paths([folder])
    return verdict


def path_of(folder: Path, member: str) -> Path:
    return folder / f"sim-1.{member}.raincore.jsonl"


def records(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, lines: Records) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


def changing(lines: Records, name: str) -> Iterator[dict[str, Any]]:
    return (each for each in lines if name in each.get("changed", {}))


def telling(lines: Records, name: str) -> list[dict[str, Any]]:
    return [each for each in lines if any(n == name for n, _ in each.get("told", []))]


def doing(lines: Records, action: str) -> list[dict[str, Any]]:
    return [each for each in lines if each.get("action") == action]


def longer(lines: Records, first: int, last: int) -> tuple[int, int]:
    """Keep the token in those hungry turns; return its first and last event with it."""
    ends = [each for each in doing(lines, "EatingTimeout") if each["changed"]["token_state"]]
    for each in ends[first:last]:
        del each["changed"]["token_state"], each["changed"]["last_token"]
    return ends[first]["index"] - 1, ends[last]["index"]


def other_view(lines: Records) -> None:
    next(changing(lines, "global_view"))["changed"]["global_view"][0].reverse()


def rewrites_history(lines: Records) -> None:
    """All have the same first view; in a later event of this member, it becomes another one."""
    views = list(changing(lines, "global_view"))
    views[-1]["changed"]["global_view"][0].reverse()


def rewrites_and_restores(lines: Records) -> None:
    """The first view becomes another one for one event only."""
    views = list(changing(lines, "global_view"))
    at = lines.index(views[-1])
    known = views[-1]["changed"]["global_view"]
    lines[at + 1]["changed"]["global_view"] = [known[0][::-1], *known[1:]]
    lines[at + 2]["changed"]["global_view"] = known


def other_number(lines: Records) -> None:
    """It records the token at a number at which another member had it."""
    first, second = telling(lines, "Eats")[3:5]
    second["changed"]["last_token"][3] = first["changed"]["last_token"][3] - 1


def never_lets_go(lines: Records) -> None:
    longer(lines, 3, 6)


def dies_with_the_lock(lines: Records) -> None:
    """It crashes without having let go of the lock since long before others had it."""
    (crash,) = doing(lines, "Crash")
    ends = [each for each in doing(lines, "EatingTimeout") if each["changed"]["token_state"]]
    longer(lines, 3, sum(each["index"] < crash["index"] for each in ends))


def lets_go_late(lines: Records) -> None:
    """It passes the token on, and ceases to eat an event later."""
    end = doing(lines, "EatingTimeout")[4]
    after = lines[lines.index(end) + 1]
    del end["changed"]["token_state"], end["changed"]["last_token"]
    after["changed"]["token_state"] = "hungry"


def reserves_too_much(lines: Records) -> None:
    """It records an event that the model does not have and that no promise concerns."""
    next(changing(lines, "reserved"))["changed"]["reserved"] = 7


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
    """It has the view with c's next life before that life has had the token."""
    early, between, last = list(changing(lines, "global_view"))[-3:]
    for each in (early, between):
        each["changed"]["global_view"] = last["changed"]["global_view"]


def has_a_hole(lines: Records) -> None:
    for each in changing(lines, "global_view"):
        if len(each["changed"]["global_view"]) > 3:
            each["changed"]["global_view"][2] = []


def fills_a_hole_late(lines: Records) -> None:
    """It has the fourth view without the third, and later the third as well."""
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
    telling(lines, "Deliver")[0]["told"][0] = ["Deliver", [["e", 0], 1]]


def delivers_too_soon(lines: Records) -> None:
    """It has a message in its first turn, before anybody sent it."""
    late = telling(lines, "Deliver")[0]
    first = telling(lines, "Eats")[0]
    first["told"], late["told"] = [late["told"][0], *first["told"]], late["told"][1:]


def delivers_backwards(lines: Records) -> None:
    record = telling(lines, "Deliver")[0]
    first, second, *others = record["told"]
    record["told"] = [second, first, *others]


def reverses_one_sender(lines: Records) -> None:
    """It delivers both of b's messages, the second one first."""
    one, two, *_ = (
        deliver
        for each in telling(lines, "Deliver")
        for deliver in each["told"]
        if deliver[0] == "Deliver" and deliver[1][0] == ["b", 0]
    )
    one[1], two[1] = two[1], one[1]
