"""A reader of EDN, the notation of Clojure's data, in which Jepsen writes its histories."""

import json
import re
from typing import Any, Final, Self

_TOKEN: Final = re.compile(
    r"""[\s,]*+(?:;[^\n]*+[\s,]*+)*+
    (?P<token>
        "(?:[^"\\]|\\.)*"            # a string
      | \\(?:[a-zA-Z0-9]+|.)         # a character
      | \#\{ | \#_ | \#\#[a-zA-Z]+   # a set, a comment on one form, an infinity
      | \#[a-zA-Z][^\s,()\[\]{}"]*   # a tag
      | [()\[\]{}]
      | [^\s,()\[\]{}";\#\\]+        # a keyword, a symbol, a number
    )""",
    re.VERBOSE | re.DOTALL,
)
_INTEGER: Final = re.compile(r"[+-]?\d{1,4000}N?")
_DECIMAL: Final = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?")
_CLOSES: Final = {"(": ")", "[": "]", "{": "}", "#{": "}"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_WORDS: Final = {"nil": None, "true": True, "false": False}
_DROP: Final = "#_"
_MISTAKEN: Final = re.compile(r"[+-]?\d+|[:\"].*", re.DOTALL)
"""A text that could be taken for a number, a keyword, or a text in quotation marks."""


class Word(str):
    """A keyword, a symbol or a character, which equals its name; `written` is all of it."""

    __slots__ = ("written",)

    def __new__(cls, written: str) -> Self:
        """Take the colon of a keyword off, and the backslash of a character."""
        made = super().__new__(cls, written.lstrip(":#\\"))
        made.written = written
        return made

    written: str


class EdnError(ValueError):
    """A text is no EDN; the message says what is wrong."""


def read_edn(text: str) -> Any:
    """Return the one form of a text; raise EdnError if it has none, or more.

    Vectors, lists and sets become lists, keywords, symbols and characters a `Word`; a collection
    behind a tag is read as if it had none, and any other value with one is a `Word`.
    """
    open_forms: list[tuple[str, list[Any]]] = [("", [])]
    place = 0
    while text[place:].strip(" \t\r\n,"):
        match = _TOKEN.match(text, place)
        if match is None:
            if not re.sub(r";[^\n]*", "", text[place:]).strip(" \t\r\n,"):
                break
            raise EdnError(f"not EDN at character {place + 1}")
        token, place = match["token"], match.end()
        if token in _CLOSES or token == _DROP or _tags(token):
            open_forms.append((token, []))
            continue
        if token in _CLOSES.values():
            opener, items = open_forms.pop()
            if _CLOSES.get(opener) != token:
                raise EdnError(f"{token} closes nothing at character {place}")
            value = _closed(opener, items)
        else:
            value = _atom(token)
        while _tags(open_forms[-1][0]):
            tag, _ = open_forms.pop()
            if not isinstance(value, list | dict):
                value = Word(f"{tag} {token}")
        if open_forms[-1][0] == _DROP:
            open_forms.pop()
        else:
            open_forms[-1][1].append(value)
    if len(open_forms) > 1:
        raise EdnError("the form is not closed")
    forms = open_forms[0][1]
    if len(forms) != 1:
        raise EdnError(f"{len(forms)} forms where one is expected")
    return forms[0]


def name_of(value: Any) -> str:
    """Return a value as a name that no other value has; raise ValueError for one that is no name.

    A number is its digits, a keyword has its colon, and a text that could be taken for either is in
    quotation marks.
    """
    if isinstance(value, Word):
        if value.written.startswith(":"):
            return value.written
    elif isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if _MISTAKEN.fullmatch(value) else value
    elif isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    shown = value.written if isinstance(value, Word) else repr(value)
    raise ValueError(f"a key or a message is a number or a text, or a keyword, not {shown:.60}")


def _tags(token: str) -> bool:
    return token[:1] == "#" and token[1:2].isalpha()


def _closed(opener: str, items: list[Any]) -> Any:
    if opener != "{":
        return items
    if len(items) % 2:
        raise EdnError("a map has a key without a value")
    keys = (key if isinstance(key, str | int | float | None) else str(key) for key in items[::2])
    found = dict(zip(keys, items[1::2], strict=True))
    if len(found) < len(items) // 2:
        raise EdnError("a map has a key twice")
    return found


def _atom(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    if token[0] == '"':
        return _ESCAPE.sub(_unescaped, token[1:-1])
    if _INTEGER.fullmatch(token):
        return int(token.rstrip("N"))
    if _DECIMAL.fullmatch(token):
        return float(token.rstrip("M"))
    return Word(token)


def _unescaped(match: re.Match[str]) -> str:
    code, letter = match.groups()
    return chr(int(code, 16)) if code else _ESCAPES.get(letter, letter)
