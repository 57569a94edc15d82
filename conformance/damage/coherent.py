"""The check that the files of a run fit together at all, before their contents are judged."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from .files import CRASHES, Files, Record

Who: TypeAlias = tuple[str, int]


class Life(NamedTuple):
    """The records of one process."""

    header: Record
    events: list[Record]
    footer: list[Record]
    """Its footer, if it has one."""


class Lives(NamedTuple):
    """The processes of a run."""

    lives: dict[Who, Life]
    crashed: frozenset[Who]


def lives_of(files: Files, protocol: str, nodes: Iterable[str]) -> Lives:
    """Return the run's processes; raise ValueError, KeyError or TypeError if they do not fit.

    They fit if each file is one process's, from the header to the footer or to a crash, and if
    each node has one. These errors are raised where a record lacks what it must have.
    """
    demand(not files.raw)
    lives: dict[Who, Life] = {}
    runs = set()
    for name in files.nodes():
        header, *rest = files.records[name]
        demand(header["kind"] == "header" and header["version"] == 1)
        demand(header["protocol"] == protocol and sorted(header["nodes"]) == sorted(nodes))
        events = [record for record in rest if record["kind"] == "event"]
        footers = [record for record in rest if record["kind"] == "footer"]
        demand(rest == [*events, *footers] and len(footers) < 2)
        for record in rest:
            demand(all(record[key] == header[key] for key in ("run", "node", "incarnation")))
        demand([event["index"] for event in events] == [*range(1, len(events) + 1)])
        demand(all(event["protocol"] == protocol for event in events))
        demand(all(footer["index"] == len(events) for footer in footers))
        who = (header["node"], header["incarnation"])
        demand(who not in lives)
        lives[who] = Life(header, events, footers)
        runs.add(header["run"])
    crashed = frozenset(
        (crash["node"], crash["incarnation"])
        for name, records in files.records.items()
        if name.endswith(CRASHES)
        for crash in records
    )
    ended = {who for who, life in lives.items() if life.footer}
    # A process that has closed its file may be killed all the same before it is gone.
    demand(lives.keys() == ended | crashed)
    demand({node for node, _ in lives} == {*nodes} and len(runs) == 1)
    return Lives(lives, crashed)


def demand(right: bool) -> None:
    """Raise ValueError if something is not as it must be."""
    if not right:
        raise ValueError("the records do not fit together")


def written(value: Any) -> str:
    """Return the value as text, the same for the same value."""
    return json.dumps(value, sort_keys=True)
