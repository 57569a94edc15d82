"""Raw damage: one change to a run's files, made without regard for what the rest says.

Each kind changes the files in place and returns whether it could. What only takes something away
leaves files that a good run could have left behind if more had been lost: such a run is incomplete,
and nobody may be accused.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from .files import CRASHES, Files, Record, text_of

Damage: TypeAlias = Callable[[Random, Files], bool]


class Kind(NamedTuple):
    """A kind of damage."""

    name: str
    damage: Damage
    lost: bool
    """Whether it only takes something away, so that the run is incomplete."""


KINDS: Final[dict[str, Kind]] = {}


def _kind(*, lost: bool = False) -> Callable[[Damage], Damage]:
    def known(damage: Damage) -> Damage:
        name = damage.__name__.replace("_", " ").strip()
        KINDS[name] = Kind(name, damage, lost)
        return damage

    return known


# ---------------------------------------------------------------------- records lost


@_kind(lost=True)
def an_event_is_missing(random: Random, files: Files) -> bool:
    return _remove(random, files, lambda places: places)


@_kind(lost=True)
def the_first_event_is_missing(random: Random, files: Files) -> bool:
    return _remove(random, files, lambda places: places[:1])


@_kind(lost=True)
def the_last_event_is_missing(random: Random, files: Files) -> bool:
    return _remove(random, files, lambda places: places[-1:])


@_kind(lost=True)
def the_footer_is_missing(random: Random, files: Files) -> bool:
    return _drop_kind(random, files, "footer")


@_kind(lost=True)
def the_header_is_missing(random: Random, files: Files) -> bool:
    return _drop_kind(random, files, "header")


@_kind(lost=True)
def the_end_is_missing(random: Random, files: Files) -> bool:
    name = _file(random, files)
    records = files.records[name]
    if len(records) < 3:
        return False
    del records[random.randrange(1, len(records) - 1) :]
    return True


@_kind(lost=True)
def a_file_is_missing(random: Random, files: Files) -> bool:
    if len(files.nodes()) < 2:
        return False
    del files.records[_file(random, files)]
    return True


@_kind(lost=True)
def a_file_is_empty(random: Random, files: Files) -> bool:
    files.raw[_file(random, files)] = b""
    return True


@_kind(lost=True)
def the_crash_records_are_missing(_random: Random, files: Files) -> bool:
    crashes = [name for name in files.records if name.endswith(CRASHES)]
    for name in crashes:
        del files.records[name]
    return bool(crashes)


@_kind(lost=True)
def a_line_is_cut(random: Random, files: Files) -> bool:
    name = _file(random, files)
    lines = text_of(files.records[name]).splitlines(keepends=True)
    place = random.randrange(len(lines))
    lines[place] = lines[place][: random.randrange(1, len(lines[place]) - 1)] + b"\n"
    files.raw[name] = b"".join(lines)
    return True


@_kind(lost=True)
def a_file_is_cut(random: Random, files: Files) -> bool:
    name = _file(random, files)
    text = text_of(files.records[name])
    files.raw[name] = text[: random.randrange(1, len(text) - 2)]
    return True


@_kind(lost=True)
def a_line_is_garbage(random: Random, files: Files) -> bool:
    return _line(random, files, b"\x00\xff no record")


@_kind(lost=True)
def a_line_is_other_json(random: Random, files: Files) -> bool:
    return _line(random, files, b'[1, "two"]')


# ---------------------------------------------------------------------- records added or moved


@_kind()
def an_event_stands_twice(random: Random, files: Files) -> bool:
    name, place, record = _event(random, files)
    files.records[name].insert(place, dict(record))
    return True


@_kind()
def an_event_happens_twice(random: Random, files: Files) -> bool:
    name, place, record = _event(random, files)
    files.records[name].insert(place, dict(record))
    return _count(files, name)


@_kind()
def two_events_change_places(random: Random, files: Files) -> bool:
    name, place, _ = _event(random, files)
    records = files.records[name]
    if not _followed(records, place):
        return False
    records[place : place + 2] = records[place + 1], records[place]
    return _count(files, name)


@_kind()
def two_events_change_numbers(random: Random, files: Files) -> bool:
    name, place, record = _event(random, files)
    records = files.records[name]
    if not _followed(records, place):
        return False
    following = records[place + 1]
    record["index"], following["index"] = following["index"], record["index"]
    return True


@_kind()
def an_event_is_left_out(random: Random, files: Files) -> bool:
    name, place, _ = _event(random, files)
    del files.records[name][place]
    return _count(files, name)


@_kind()
def an_event_is_anothers(random: Random, files: Files) -> bool:
    name, place, record = _event(random, files)
    other = random.choice(files.nodes())
    if other == name:
        return False
    records = files.records[other]
    moved = record | {key: records[0][key] for key in ("node", "incarnation")}
    records.insert(random.randrange(1, len(records) + 1), moved)
    del files.records[name][place]
    return _count(files, other) and _count(files, name)


@_kind()
def an_event_follows_the_footer(random: Random, files: Files) -> bool:
    name, _, record = _event(random, files)
    records = files.records[name]
    if records[-1].get("kind") != "footer":
        return False
    records.append(record | {"index": records[-1]["index"] + 1})
    return True


@_kind()
def the_header_stands_twice(random: Random, files: Files) -> bool:
    records = files.records[_file(random, files)]
    records.insert(random.randrange(1, len(records) + 1), dict(records[0]))
    return True


@_kind()
def a_file_stands_twice(random: Random, files: Files) -> bool:
    name = _file(random, files)
    files.records[f"copy-{name}"] = [dict(record) for record in files.records[name]]
    return True


@_kind()
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


@_kind()
def somebody_unknown_crashed(_random: Random, files: Files) -> bool:
    return _crash(files, "nobody", 0)


@_kind()
def somebody_who_has_ended_crashed(random: Random, files: Files) -> bool:
    last = files.records[_file(random, files)][-1]
    return last.get("kind") == "footer" and _crash(files, last["node"], last["incarnation"])


# ---------------------------------------------------------------------- records changed


@_kind()
def an_index_is_higher(random: Random, files: Files) -> bool:
    _event(random, files)[2]["index"] += 1
    return True


@_kind()
def an_index_is_text(random: Random, files: Files) -> bool:
    _event(random, files)[2]["index"] = "one"
    return True


@_kind()
def the_footer_counts_more(random: Random, files: Files) -> bool:
    return _footer(random, files, 1)


@_kind()
def the_footer_counts_less(random: Random, files: Files) -> bool:
    return _footer(random, files, -1)


@_kind()
def an_event_is_of_another_node(random: Random, files: Files) -> bool:
    record = _event(random, files)[2]
    record["node"] = f"{record['node']}x"
    return True


@_kind()
def an_event_is_of_another_life(random: Random, files: Files) -> bool:
    _event(random, files)[2]["incarnation"] += 1
    return True


@_kind()
def an_event_is_of_another_run(random: Random, files: Files) -> bool:
    _event(random, files)[2]["run"] += "x"
    return True


@_kind()
def an_event_is_of_another_protocol(random: Random, files: Files) -> bool:
    _event(random, files)[2]["protocol"] += "x"
    return True


@_kind()
def an_action_has_no_name(random: Random, files: Files) -> bool:
    _event(random, files)[2]["action"] = ""
    return True


@_kind()
def an_action_is_unknown(random: Random, files: Files) -> bool:
    _event(random, files)[2]["action"] += "Not"
    return True


@_kind()
def an_action_is_another(random: Random, files: Files) -> bool:
    record = _event(random, files)[2]
    others = sorted({other["action"] for *_, other in files.events()} - {record["action"]})
    if not others:
        return False
    record["action"] = random.choice(others)
    return True


@_kind()
def an_argument_is_another(random: Random, files: Files) -> bool:
    return _change(random, files, "args")


@_kind()
def an_argument_is_missing(random: Random, files: Files) -> bool:
    return _forget(random, files, "args")


@_kind()
def an_argument_is_unknown(random: Random, files: Files) -> bool:
    _event(random, files)[2].setdefault("args", {})["mood"] = 1
    return True


@_kind()
def a_change_is_another(random: Random, files: Files) -> bool:
    return _change(random, files, "changed")


@_kind()
def a_change_is_missing(random: Random, files: Files) -> bool:
    return _forget(random, files, "changed")


@_kind()
def a_change_is_of_nothing(random: Random, files: Files) -> bool:
    _event(random, files)[2].setdefault("changed", {})["mood"] = 1
    return True


@_kind()
def a_message_was_not_sent(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    if found is not None:
        del found[random.randrange(len(found))]
    return found is not None


@_kind()
def a_message_was_sent_twice(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    if found is not None:
        found.append(dict(random.choice(found)))
    return found is not None


@_kind()
def a_message_went_to_another(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    if found is None:
        return False
    message = random.choice(found)
    if not isinstance(message.get("to"), list):
        return False
    message["to"] = [f"{message['to'][0]}x", message["to"][1]]
    return True


@_kind()
def a_message_had_other_contents(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    return found is not None and _other(random, random.choice(found), "content")


@_kind()
def a_message_has_another_id(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    return found is not None and _other(random, random.choice(found), "id")


@_kind()
def a_message_came_from_nowhere(random: Random, files: Files) -> bool:
    return _received(random, files, lambda _: None)


@_kind()
def another_message_came(random: Random, files: Files) -> bool:
    return _received(random, files, lambda received: altered(random, received))


@_kind()
def the_header_begins_in_another_state(random: Random, files: Files) -> bool:
    header = files.records[_file(random, files)][0]
    return _other(random, header, "initial")


@_kind()
def the_header_lacks_a_variable(random: Random, files: Files) -> bool:
    initial = files.records[_file(random, files)][0].get("initial")
    if not isinstance(initial, dict) or not initial:
        return False
    del initial[random.choice(sorted(initial))]
    return True


@_kind()
def the_header_lacks_a_node(random: Random, files: Files) -> bool:
    header = files.records[_file(random, files)][0]
    header["nodes"] = [node for node in header["nodes"] if node != header["node"]]
    return True


@_kind()
def the_header_has_an_unknown_constant(random: Random, files: Files) -> bool:
    header = files.records[_file(random, files)][0]
    header.setdefault("constants", {})["mood"] = True
    return True


@_kind()
def the_header_has_another_version(random: Random, files: Files) -> bool:
    files.records[_file(random, files)][0]["version"] = 99
    return True


# ---------------------------------------------------------------------- shared


def altered(random: Random, value: Any) -> Any:
    """Return another value of the same type, with one part changed."""
    match value:
        case bool():
            return not value
        case int():
            return value + random.choice((1, 2, 7))
        case str():
            return f"{value}x"
        case None:
            return 1
        case list() if value and random.random() < 0.8:
            place = random.randrange(len(value))
            return [*value[:place], altered(random, value[place]), *value[place + 1 :]]
        case list():
            return [*value, value[-1]] if value else [1]
        case dict() if value:
            name = random.choice(sorted(value))
            return value | {name: altered(random, value[name])}
    return {"mood": 1}


def _file(random: Random, files: Files) -> str:
    return random.choice(files.nodes())


def _event(random: Random, files: Files) -> tuple[str, int, Record]:
    return random.choice([*files.events()])


def _followed(records: list[Record], place: int) -> bool:
    """Return whether another event follows the one at that place."""
    return place + 1 < len(records) and records[place + 1]["kind"] == "event"


def _remove(random: Random, files: Files, some: Callable[[list[int]], list[int]]) -> bool:
    name = _file(random, files)
    records = files.records[name]
    places = [place for place, record in enumerate(records) if record["kind"] == "event"]
    if not places:
        return False
    del records[random.choice(some(places))]
    return True


def _drop_kind(random: Random, files: Files, kind: str) -> bool:
    records = files.records[_file(random, files)]
    places = [place for place, record in enumerate(records) if record["kind"] == kind]
    for place in places:
        del records[place]
    return bool(places)


def _line(random: Random, files: Files, line: bytes) -> bool:
    name = _file(random, files)
    lines = text_of(files.records[name]).splitlines(keepends=True)
    lines[random.randrange(len(lines))] = line + b"\n"
    files.raw[name] = b"".join(lines)
    return True


def _count(files: Files, name: str) -> bool:
    """Number the events anew, so that the file looks whole."""
    index = 0
    for record in files.records[name]:
        if record.get("kind") == "event":
            index += 1
            record["index"] = index
        elif record.get("kind") == "footer":
            record["index"] = index
    return True


def _crash(files: Files, node: str, incarnation: int) -> bool:
    run = files.records[files.nodes()[0]][0]["run"]
    crash = {"kind": "crash", "run": run, "node": node, "incarnation": incarnation}
    files.records.setdefault(f"{run}.{CRASHES}", []).append(crash)
    return True


def _footer(random: Random, files: Files, more: int) -> bool:
    last = files.records[_file(random, files)][-1]
    if last.get("kind") != "footer" or last["index"] + more < 0:
        return False
    last["index"] += more
    return True


def _other(random: Random, record: Record, name: str) -> bool:
    value = record.get(name)
    if not value:
        return False
    record[name] = altered(random, value)
    return True


def _change(random: Random, files: Files, name: str) -> bool:
    return _other(random, _event(random, files)[2], name)


def _forget(random: Random, files: Files, name: str) -> bool:
    fields = _event(random, files)[2].get(name)
    if not fields:
        return False
    del fields[random.choice(sorted(fields))]
    return True


def _sender(random: Random, files: Files) -> list[Record] | None:
    found = [record["sent"] for *_, record in files.events() if record.get("sent")]
    return random.choice(found) if found else None


def _received(random: Random, files: Files, other: Callable[[Any], Any]) -> bool:
    found = [record for *_, record in files.events() if record.get("received")]
    if not found:
        return False
    record = random.choice(found)
    record["received"] = other(record["received"])
    return True
