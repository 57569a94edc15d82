"""Keys that stand twice in an object of JSON, of which a decoder silently takes the last.

Each reader of logs and traces asks here, so that such a record goes into quarantine whatever it is.
A program's records have few forms. So a form that was looked through is known again: a line
without its numbers and brackets.
"""

import re
from typing import Final

import msgspec

_LEFT_OUT: Final = b"0123456789.,+-[] \t\r"
_TOKEN: Final = re.compile(rb'"(?P<text>(?:[^"\\]|\\.)*+)"(?P<key>\s*+:)?|[{}]', re.DOTALL)
_MOST: Final = 20_000
"""Forms that are kept."""
_known: set[bytes] = set()
"""The forms in which no key stands twice, and so in no line of that form: keys that differ in a
form differ in the line.
"""


def twice(line: bytes) -> str:
    """Return why a line that was decoded is ambiguous, "" if it is not."""
    key = _key_in(line) if _new(line.translate(None, _LEFT_OUT + b"\n")) else None
    return "" if key is None else f"the key {key!r:.60} stands twice in one object"


def any_twice(block: bytes) -> bool:
    """Return whether a key may stand twice in an object in these lines: then `twice` knows."""
    forms = set(block.translate(None, _LEFT_OUT).split(b"\n"))
    return any(map(_new, forms - _known))


def _new(form: bytes) -> bool:
    """Return whether a key may stand twice in this form; one in which none does is kept."""
    if form in _known:
        return False
    # Behind a backslash there may be any letter, whose number was left out.
    if b"\\" in form or _key_in(form) is not None:
        return True
    if len(_known) >= _MOST:
        _known.clear()
    _known.add(form)
    return False


def _key_in(line: bytes) -> str | None:
    """Return the first key that stands twice in one object, as it is written in JSON."""
    objects: list[set[bytes]] = []
    for match in _TOKEN.finditer(line):
        text = match["text"]
        if text is None:
            objects.append(set()) if match[0] == b"{" else objects.pop()
        elif match["key"] is not None:
            key = _plain(text) if b"\\" in text else text
            if key in objects[-1]:
                return key.decode("utf-8", "replace")
            objects[-1].add(key)
    return None


def _plain(text: bytes) -> bytes:
    """Return a key without its escapes, as far as they mean anything."""
    try:
        return msgspec.json.decode(b'"' + text + b'"', type=str).encode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return text
