"""TLA+ values as text: a reader and a writer of TLC's syntax.

`parse` reads every form that TLC prints, with any white space and line breaks between tokens;
`format` writes a form that TLC reads back. For every value v: parse(format(v)) == v.
"""

from __future__ import annotations

import re
from typing import Final

from .itf import from_itf, to_itf, trace_to_itf
from .values import (
    Fcn,
    ModelValue,
    Value,
    function,
    identical,
    in_order,
    items,
    order,
    override,
    record,
)

__all__ = [
    "Fcn",
    "ModelValue",
    "Reader",
    "Value",
    "format",
    "from_itf",
    "function",
    "identical",
    "in_order",
    "items",
    "order",
    "override",
    "parse",
    "record",
    "to_itf",
    "trace_to_itf",
]

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<integer>-?\d+(?!\w))
      | "(?P<string>(?:[^"\\]|\\.)*)"
      | (?P<name>\w+)
      | (?P<mark><<|>>|\|->|:>|@@|\.\.|[{}\[\](),])
      | (?P<junk>\S)
    )""",
    re.VERBOSE | re.DOTALL,
)
_FIELD: Final = re.compile(r'\s*(?:"(?P<string>(?:[^"\\]|\\.)*)"|(?P<bare>[^\[\]"]*?))\s*\|->')
_IDENTIFIER: Final = re.compile(r"(?!(?:TRUE|FALSE)\Z)[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_NAMED: Final = {"TRUE": True, "FALSE": False}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPED: Final = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
)


def parse(text: str) -> Value:
    """Return the value that TLC printed as `text`; raise ValueError if there is none."""
    scan = _Scan(text)
    value = scan.value()
    scan.end()
    return value


def format(value: Value) -> str:
    """Return the value in TLC's syntax, on one line; equal values give equal text."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case str():
            return f'"{value.translate(_ESCAPED)}"'
        case ModelValue():
            return value.name
        case tuple():
            return f"<<{', '.join(map(format, value))}>>"
        case frozenset():
            return f"{{{', '.join(map(format, in_order(value)))}}}"
        case Fcn():
            if all(isinstance(k, str) and _IDENTIFIER.match(k) for k in value):
                return f"[{', '.join(f'{k} |-> {format(v)}' for k, v in value.items())}]"
            return f"({' @@ '.join(f'{format(k)} :> {format(v)}' for k, v in value.items())})"
    raise TypeError(f"{value!r} is not a TLA+ value")


class Reader:
    """A parser for texts that mostly repeat, as in a dump of many states: each is parsed once."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, Value] = {}

    def __call__(self, text: str) -> Value:
        """Return what `parse` returns."""
        try:
            return self._seen[text]
        except KeyError:
            value = self._seen[text] = parse(text)
            return value


class _Scan:
    """A recursive descent over one text; `at` is the position of the next token."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, wanted: str) -> ValueError:
        near = self.text[self.at : self.at + 30]
        return ValueError(f"not a TLA+ value: at character {self.at + 1} {wanted}, found {near!r}")

    def end(self) -> None:
        if _TOKEN.match(self.text, self.at):
            raise self.fail("the end was expected")

    def peek(self, mark: str) -> bool:
        """Consume the mark if it comes next."""
        found = _TOKEN.match(self.text, self.at)
        if found is None or found["mark"] != mark:
            return False
        self.at = found.end()
        return True

    def expect(self, mark: str) -> None:
        if not self.peek(mark):
            raise self.fail(f"{mark!r} was expected")

    def value(self) -> Value:
        found = _TOKEN.match(self.text, self.at)
        if found is None or found["junk"] is not None:
            raise self.fail("a value was expected")
        start, self.at = self.at, found.end()
        match found.lastgroup:
            case "integer":
                return self.integer(int(found["integer"]))
            case "string":
                return _unescape(found["string"])
            case "name":
                name = found["name"]
                return _NAMED[name] if name in _NAMED else ModelValue(name)
        match found["mark"]:
            case "<<":
                return tuple(self.values_until(">>"))
            case "{":
                return frozenset(self.values_until("}"))
            case "[":
                return self.record()
            case "(":
                return self.function()
        self.at = start
        raise self.fail("a value was expected")

    def integer(self, low: int) -> Value:
        """Read the rest of an interval if there is one."""
        if not self.peek(".."):
            return low
        high = self.value()
        if not isinstance(high, int) or isinstance(high, bool):
            raise self.fail("an interval's end was expected")
        return frozenset(range(low, high + 1))

    def values_until(self, close: str) -> list[Value]:
        if self.peek(close):
            return []
        found = [self.value()]
        while self.peek(","):
            found.append(self.value())
        self.expect(close)
        return found

    def record(self) -> Value:
        """Read the fields; TLC prints any function of strings in this form too."""
        fields: dict[Value, Value] = {}
        while True:
            name = _FIELD.match(self.text, self.at)
            if name is None:
                raise self.fail("a field was expected")
            self.at = name.end()
            key = name["bare"] if name["string"] is None else _unescape(name["string"])
            fields[key] = self.value()
            if self.peek("]"):
                return function(fields)
            self.expect(",")

    def function(self) -> Value:
        """Read `k :> v @@ ...`; as in TLA+, the leftmost of equal keys wins."""
        found: dict[Value, Value] = {}
        while True:
            key = self.value()
            self.expect(":>")
            found.setdefault(key, self.value())
            if self.peek(")"):
                return function(found)
            self.expect("@@")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _UNESCAPED.get(found[1], found[1]), text)
