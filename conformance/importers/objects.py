"""Lines that are JSON objects."""

from typing import Any

import msgspec

from raincheck.conformance.trace.keys import twice

_decoder = msgspec.json.Decoder(dict[str, Any])


class NoObject(ValueError):
    """A line is no JSON object; the message says why."""


def json_object(text: str) -> dict[str, Any]:
    """Return the object that a line is; raise NoObject if it is none, or an ambiguous one."""
    try:
        found = _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NoObject(f"not a JSON object: {error}") from error
    if ambiguous := twice(text.encode()):
        raise NoObject(ambiguous)
    return found


def name_in(record: dict[str, Any], key: str) -> str:
    """Return the name there, "" if there is none or null; raise NoObject for what is no name."""
    name = record.get(key)
    if name is None:
        return ""
    if not isinstance(name, str) or not name:
        raise NoObject(f"{key} is no name: {name!r:.60}")
    return name


def whole(value: object) -> int | None:
    """Return a whole number from 0, also one that is written as a text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value >= 0 else None  # type: ignore[operator,return-value]
