"""A short good run of the protocol that exists only to be judged, to plant faults in."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import added
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.run import check_paths

from .pingpong import NAME
from .planting import Ask, Complaints, Plant, sentences
from .rules import PACKAGE

Records: TypeAlias = dict[str, list[dict[str, Any]]]
"""The records of each node's file."""


def event(node: str, action: str, number: int | None = None, **more: Any) -> dict[str, Any]:
    """Return an event's record, not numbered yet."""
    return {
        "kind": "event",
        "run": "r1",
        "protocol": NAME,
        "node": node,
        "incarnation": 0,
        "action": action,
        "args": {} if number is None else {"number": number},
        **more,
    }


def note(node: str, number: int, place: int, **more: Any) -> dict[str, Any]:
    """Return a note as its sender records it; `more` is for the event."""
    peer = "b" if node == "a" else "a"
    sent = {
        "id": ["fifo", node, 0, peer, 0, place],
        "to": [peer, 0],
        "message": "Note",
        "content": {"number": number, "half": 100 // number},
    }
    return event(node, "Say", number, sent=[sent], changed={"said": place}, **more)


def hail(node: str, number: int) -> dict[str, Any]:
    """Return a hail as its sender records it."""
    peer = "b" if node == "a" else "a"
    sent = {
        "id": ["Hail", node, 0, peer, 0],
        "to": [peer, 0],
        "message": "Hail",
        "content": {"number": number},
    }
    return event(node, "Call", number, sent=[sent])


def heard(node: str, name: str, number: int, count: int) -> dict[str, Any]:
    """Return a node's record of the arrival of a note or hail; `count` counts its arrivals."""
    peer = "b" if node == "a" else "a"
    received = ["fifo", peer, 0, node, 0, 1] if name == "Note" else ["Hail", peer, 0, node, 0]
    return event(
        node,
        f"Receive{name}",
        received=received,
        changed={"heard": count},
        told=[["Heard", [number]]],
    ) | {"args": {"sender": peer, "number": number}}


def files(*events: dict[str, Any], real: bool = False) -> Records:
    """Return the files of a run with these events."""
    made: Records = {}
    for node, peer in ("ab", "ba"):
        initial = {"node": node, "peer": peer, "said": 0, "heard": 0, "mood": "fair"}
        head = {
            "kind": "header",
            "version": 1,
            "run": "r1",
            "protocol": NAME,
            "node": node,
            "incarnation": 0,
            "nodes": ["a", "b"],
            "initial": initial,
            "real": real,
        }
        mine = [dict(each) for each in events if each["node"] == node]
        for index, each in enumerate(mine, 1):
            each["index"] = index
        foot = {"kind": "footer", "run": "r1", "node": node, "incarnation": 0, "index": len(mine)}
        made[node] = [head, *mine, foot]
    return copy.deepcopy(made)


def talk(real: bool = False) -> Records:
    """Return a good run: a speaks in both ways, b answers, and says more that nobody hears."""
    return files(
        note("a", 1, 1),
        hail("a", 2),
        event("a", "Rest"),
        heard("b", "Note", 1, 1),
        heard("b", "Hail", 2, 2),
        note("b", 5, 1),
        heard("a", "Note", 5, 1),
        event("a", "Rest", given={"mood": "good"}),
        hail("b", 4),
        note("b", 10, 2),
        real=real,
    )


def judged(folder: Path, records: Records, crashed: str = "") -> Complaints:
    """Return the checker's complaints about the records."""
    write(folder, records, crashed)
    return judged_files(folder)


def write(folder: Path, records: Records, crashed: str = "") -> None:
    """Write a file for each node, and one of the harness if a node crashed."""
    for node, lines in records.items():
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / f"r1.{node}.jsonl").write_text(text)
    if crashed:
        crash = {"kind": "crash", "run": "r1", "node": crashed, "incarnation": 0}
        (folder / "faults.jsonl").write_text(json.dumps(crash) + "\n")


def judged_files(folder: Path) -> Complaints:
    """Return the checker's complaints about the files in the folder."""
    with known():
        return sentences(check_paths(sorted(folder.iterdir())))


def known(module: str = "pingpong") -> AbstractContextManager[Protocol]:
    """For a while this protocol is one of those that have a binding, which is in that module."""
    here = Path(__file__).parent
    return added(Protocol(name=NAME, home=here, cases=here, binding=f"{PACKAGE}.judges.{module}"))


Change: TypeAlias = Callable[[Records], Any]


@cache
def good(crashed: str = "") -> Ask:
    """Return the good run."""
    return lambda folder: judged(folder, talk(), crashed)


def plant(
    words: str, change: Change, *, crashed: str = "", verdict: str = VIOLATED, **more: Any
) -> Plant:
    """Plant a fault in the records of the good run."""

    def bad(folder: Path) -> Complaints:
        records = talk()
        change(records)
        return judged(folder, records, crashed)

    return Plant(good=good(crashed), bad=bad, words=words, verdict=verdict, **more)


def unsure(words: str, change: Change, **more: Any) -> Plant:
    """Plant a fault after which nobody can tell whether the run was good."""
    return plant(words, change, verdict=INCONCLUSIVE, **more)


def insert(node: str, made: dict[str, Any]) -> Change:
    """Add an event at the end of a node's file, and count it."""

    def change(records: Records) -> None:
        footer = records[node][-1]
        footer["index"] += 1
        records[node].insert(-1, made | {"index": footer["index"]})

    return change


def at(node: str, place: int, /, **values: Any) -> Change:
    """Change the values of a record; the header's place is 0, an event's its index."""

    def change(records: Records) -> None:
        for name, value in values.items():
            target: Any = records[node][place]
            *path, last = name.split("__")
            for each in path:
                target = target[int(each) if each.isdigit() else each]
            target[last] = value

    return change
