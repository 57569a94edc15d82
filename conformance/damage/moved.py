"""Raw damage that adds records, or moves them."""

from __future__ import annotations

from random import Random

from .files import CRASHES, Files, Record
from .kinds import counted_anew, event_in, file_in, kind


@kind()
def an_event_stands_twice(random: Random, files: Files) -> bool:
    name, place, record = event_in(random, files)
    files.records[name].insert(place, dict(record))
    return True


@kind()
def an_event_happens_twice(random: Random, files: Files) -> bool:
    name, place, record = event_in(random, files)
    files.records[name].insert(place, dict(record))
    return counted_anew(files, name)


@kind()
def two_events_change_places(random: Random, files: Files) -> bool:
    name, place, _ = event_in(random, files)
    records = files.records[name]
    if not _followed(records, place):
        return False
    records[place : place + 2] = records[place + 1], records[place]
    return counted_anew(files, name)


@kind()
def two_events_change_numbers(random: Random, files: Files) -> bool:
    name, place, record = event_in(random, files)
    records = files.records[name]
    if not _followed(records, place):
        return False
    following = records[place + 1]
    record["index"], following["index"] = following["index"], record["index"]
    return True


@kind()
def an_event_is_left_out(random: Random, files: Files) -> bool:
    name, place, _ = event_in(random, files)
    del files.records[name][place]
    return counted_anew(files, name)


@kind()
def an_event_is_anothers(random: Random, files: Files) -> bool:
    name, place, record = event_in(random, files)
    other = random.choice(files.nodes())
    if other == name:
        return False
    records = files.records[other]
    moved = record | {key: records[0][key] for key in ("node", "incarnation")}
    records.insert(random.randrange(1, len(records) + 1), moved)
    del files.records[name][place]
    return counted_anew(files, other) and counted_anew(files, name)


@kind()
def an_event_follows_the_footer(random: Random, files: Files) -> bool:
    name, _, record = event_in(random, files)
    records = files.records[name]
    if records[-1].get("kind") != "footer":
        return False
    records.append(record | {"index": records[-1]["index"] + 1})
    return True


@kind()
def the_header_stands_twice(random: Random, files: Files) -> bool:
    records = files.records[file_in(random, files)]
    records.insert(random.randrange(1, len(records) + 1), dict(records[0]))
    return True


@kind()
def a_file_stands_twice(random: Random, files: Files) -> bool:
    name = file_in(random, files)
    files.records[f"copy-{name}"] = [dict(record) for record in files.records[name]]
    return True


@kind()
def two_files_change_names(random: Random, files: Files) -> bool:
    if len(files.nodes()) < 2:
        return False
    one, other = random.sample(files.nodes(), 2)
    records = files.records
    whose = [
        {key: records[name][0][key] for key in ("node", "incarnation")} for name in (one, other)
    ]
    for name, new in ((one, whose[1]), (other, whose[0])):
        for record in records[name]:
            record |= new
    return True


@kind()
def somebody_unknown_crashed(_random: Random, files: Files) -> bool:
    return _crash(files, "nobody", 0)


@kind()
def somebody_who_has_ended_crashed(random: Random, files: Files) -> bool:
    last = files.records[file_in(random, files)][-1]
    return last.get("kind") == "footer" and _crash(files, last["node"], last["incarnation"])


def _followed(records: list[Record], place: int) -> bool:
    """Return whether another event follows the one at that place."""
    return place + 1 < len(records) and records[place + 1]["kind"] == "event"


def _crash(files: Files, node: str, incarnation: int) -> bool:
    run = files.records[files.nodes()[0]][0]["run"]
    crash = {"kind": "crash", "run": run, "node": node, "incarnation": incarnation}
    files.records.setdefault(f"{run}.{CRASHES}", []).append(crash)
    return True
