"""Raw damage that changes what a record says."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .files import Files, Record
from .kinds import altered, event_in, file_in, kind


@kind()
def an_index_is_higher(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["index"] += 1
    return True


@kind()
def an_index_is_text(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["index"] = "one"
    return True


@kind()
def the_footer_counts_more(random: Random, files: Files) -> bool:
    return _footer(random, files, 1)


@kind()
def the_footer_counts_less(random: Random, files: Files) -> bool:
    return _footer(random, files, -1)


@kind()
def an_event_is_of_another_node(random: Random, files: Files) -> bool:
    record = event_in(random, files)[2]
    record["node"] = f"{record['node']}x"
    return True


@kind()
def an_event_is_of_another_life(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["incarnation"] += 1
    return True


@kind()
def an_event_is_of_another_run(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["run"] += "x"
    return True


@kind()
def an_event_is_of_another_protocol(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["protocol"] += "x"
    return True


@kind()
def an_action_has_no_name(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["action"] = ""
    return True


@kind()
def an_action_is_unknown(random: Random, files: Files) -> bool:
    event_in(random, files)[2]["action"] += "Not"
    return True


@kind()
def an_action_is_another(random: Random, files: Files) -> bool:
    record = event_in(random, files)[2]
    others = sorted({other["action"] for *_, other in files.events()} - {record["action"]})
    if not others:
        return False
    record["action"] = random.choice(others)
    return True


@kind()
def an_argument_is_another(random: Random, files: Files) -> bool:
    return _change(random, files, "args")


@kind()
def an_argument_is_missing(random: Random, files: Files) -> bool:
    return _forget(random, files, "args")


@kind()
def an_argument_is_unknown(random: Random, files: Files) -> bool:
    event_in(random, files)[2].setdefault("args", {})["mood"] = 1
    return True


@kind()
def a_change_is_another(random: Random, files: Files) -> bool:
    return _change(random, files, "changed")


@kind()
def a_change_is_missing(random: Random, files: Files) -> bool:
    return _forget(random, files, "changed")


@kind()
def a_change_is_of_nothing(random: Random, files: Files) -> bool:
    event_in(random, files)[2].setdefault("changed", {})["mood"] = 1
    return True


@kind()
def a_message_was_not_sent(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    if found is not None:
        del found[random.randrange(len(found))]
    return found is not None


@kind()
def a_message_was_sent_twice(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    if found is not None:
        found.append(dict(random.choice(found)))
    return found is not None


@kind()
def a_message_went_to_another(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    if found is None:
        return False
    message = random.choice(found)
    if not isinstance(message.get("to"), list):
        return False
    message["to"] = [f"{message['to'][0]}x", message["to"][1]]
    return True


@kind()
def a_message_had_other_contents(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    return found is not None and _other(random, random.choice(found), "content")


@kind()
def a_message_has_another_id(random: Random, files: Files) -> bool:
    found = _sender(random, files)
    return found is not None and _other(random, random.choice(found), "id")


@kind()
def a_message_came_from_nowhere(random: Random, files: Files) -> bool:
    return _received(random, files, lambda _: None)


@kind()
def another_message_came(random: Random, files: Files) -> bool:
    return _received(random, files, lambda received: altered(random, received))


@kind()
def the_header_begins_in_another_state(random: Random, files: Files) -> bool:
    header = files.records[file_in(random, files)][0]
    return _other(random, header, "initial")


@kind()
def the_header_lacks_a_variable(random: Random, files: Files) -> bool:
    initial = files.records[file_in(random, files)][0].get("initial")
    if not isinstance(initial, dict) or not initial:
        return False
    del initial[random.choice(sorted(initial))]
    return True


@kind()
def the_header_lacks_a_node(random: Random, files: Files) -> bool:
    header = files.records[file_in(random, files)][0]
    header["nodes"] = [node for node in header["nodes"] if node != header["node"]]
    return True


@kind()
def the_header_has_an_unknown_constant(random: Random, files: Files) -> bool:
    header = files.records[file_in(random, files)][0]
    header.setdefault("constants", {})["mood"] = True
    return True


@kind()
def the_header_has_another_version(random: Random, files: Files) -> bool:
    files.records[file_in(random, files)][0]["version"] = 99
    return True


def _footer(random: Random, files: Files, more: int) -> bool:
    last = files.records[file_in(random, files)][-1]
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
    return _other(random, event_in(random, files)[2], name)


def _forget(random: Random, files: Files, name: str) -> bool:
    fields = event_in(random, files)[2].get(name)
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
