"""Raw damage that takes records away, as a full disk or a lost file does."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .files import CRASHES, Files, text_of
from .kinds import file_in, kind


@kind(lost=True)
def an_event_is_missing(random: Random, files: Files) -> bool:
    return _remove(random, files, lambda places: places)


@kind(lost=True)
def the_first_event_is_missing(random: Random, files: Files) -> bool:
    return _remove(random, files, lambda places: places[:1])


@kind(lost=True)
def the_last_event_is_missing(random: Random, files: Files) -> bool:
    return _remove(random, files, lambda places: places[-1:])


@kind(lost=True)
def the_footer_is_missing(random: Random, files: Files) -> bool:
    return _drop_kind(random, files, "footer")


@kind(lost=True)
def the_header_is_missing(random: Random, files: Files) -> bool:
    return _drop_kind(random, files, "header")


@kind(lost=True)
def the_end_is_missing(random: Random, files: Files) -> bool:
    name = file_in(random, files)
    records = files.records[name]
    if len(records) < 3:
        return False
    del records[random.randrange(1, len(records) - 1) :]
    return True


@kind(lost=True)
def a_file_is_missing(random: Random, files: Files) -> bool:
    if len(files.nodes()) < 2:
        return False
    del files.records[file_in(random, files)]
    return True


@kind(lost=True)
def a_file_is_empty(random: Random, files: Files) -> bool:
    files.raw[file_in(random, files)] = b""
    return True


@kind(lost=True)
def the_crash_records_are_missing(_random: Random, files: Files) -> bool:
    crashes = [name for name in files.records if name.endswith(CRASHES)]
    for name in crashes:
        del files.records[name]
    return bool(crashes)


@kind(lost=True)
def a_line_is_cut(random: Random, files: Files) -> bool:
    name = file_in(random, files)
    lines = text_of(files.records[name]).splitlines(keepends=True)
    place = random.randrange(len(lines))
    lines[place] = lines[place][: random.randrange(1, len(lines[place]) - 1)] + b"\n"
    files.raw[name] = b"".join(lines)
    return True


@kind(lost=True)
def a_file_is_cut(random: Random, files: Files) -> bool:
    name = file_in(random, files)
    text = text_of(files.records[name])
    files.raw[name] = text[: random.randrange(1, len(text) - 2)]
    return True


@kind(lost=True)
def a_line_is_garbage(random: Random, files: Files) -> bool:
    return _line(random, files, b"\x00\xff no record")


@kind(lost=True)
def a_line_is_other_json(random: Random, files: Files) -> bool:
    return _line(random, files, b'[1, "two"]')


def _remove(random: Random, files: Files, some: Callable[[list[int]], list[int]]) -> bool:
    name = file_in(random, files)
    records = files.records[name]
    places = [place for place, record in enumerate(records) if record["kind"] == "event"]
    if not places:
        return False
    del records[random.choice(some(places))]
    return True


def _drop_kind(random: Random, files: Files, kind: str) -> bool:
    records = files.records[file_in(random, files)]
    places = [place for place, record in enumerate(records) if record["kind"] == kind]
    for place in places:
        del records[place]
    return bool(places)


def _line(random: Random, files: Files, line: bytes) -> bool:
    name = file_in(random, files)
    lines = text_of(files.records[name]).splitlines(keepends=True)
    lines[random.randrange(len(lines))] = line + b"\n"
    files.raw[name] = b"".join(lines)
    return True
