"""Definitions and guards in the text of a specification, found without parsing TLA+.

A guard is read off the layout that TLA+ gives a meaning to: the conjuncts of a list stand in one
column. A conjunct that has a primed variable, or calls what has one, is no part of the guard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from raincheck.conformance.tlc.spec import code_of, files_of, spec_of
from raincheck.model.machine.tlavalue import format as written
from raincheck.model.machine.values import Fcn, Value, items

_HEAD: Final = re.compile(r"^(\w+)(?:\(([^)\n]*)\))?[ \t]*==")
_OTHER: Final = re.compile(
    r"^(?:[-=]{4,}|CONSTANT|VARIABLE|ASSUME|THEOREM|RECURSIVE|INSTANCE|LOCAL)"
)
_LINE_COMMENT: Final = re.compile(r"\\\*.*$")
_PRIMED: Final = re.compile(r"\w'|\bUNCHANGED\b")
_WORD: Final = re.compile(r"\w+")
_BULLET: Final = "/\\"
_BRANCHES: Final = re.compile(r"\b(?:IF|CASE|LET)\b|\\[EA]\b|=>|\\/")
_LONG: Final = 160
"""The most characters of a value beside a conjunct."""
_DEEP: Final = 3
"""How many operators deep the variables of a conjunct are looked for."""


class Definition(NamedTuple):
    """A definition of a module, with the comment right above it."""

    name: str
    parameters: tuple[str, ...]
    path: Path
    first: int
    """The number of the comment's first line, or of the definition's."""
    head: int
    lines: tuple[str, ...]
    """From the first line to the last."""

    @property
    def body(self) -> list[tuple[int, str]]:
        """The numbered lines of the definition, without comments."""
        own = self.lines[self.head - self.first :]
        return [(self.head + n, _LINE_COMMENT.sub("", line)) for n, line in enumerate(own)]

    @property
    def text(self) -> str:
        """The right side, without comments."""
        return "\n".join(line for _, line in self.body).partition("==")[2]


class Conjunct(NamedTuple):
    """A conjunct of a guard, and its line."""

    text: str
    line: int


def definitions(module: Path) -> dict[str, tuple[Definition, ...]]:
    """Return all definitions of a module and of those that it needs, by name.

    The specification's own come first, those of its finite instance last.
    """
    found: dict[str, tuple[Definition, ...]] = {}
    spec = spec_of(module)
    for path in sorted(files_of(module), key=lambda each: (each != spec, each == module)):
        for each in _defined(path, path.stat().st_mtime_ns):
            found[each.name] = (*found.get(each.name, ()), each)
    return found


@cache
def _defined(path: Path, _changed: int) -> tuple[Definition, ...]:
    raw = path.read_text(encoding="utf-8")
    lines, code = raw.splitlines(), code_of(raw).splitlines()
    heads = [n for n, line in enumerate(code) if _HEAD.match(line)]
    stops = [n for n, line in enumerate(code) if _HEAD.match(line) or _OTHER.match(line)]
    found = []
    for at in heads:
        end = next((n for n in stops if n > at), len(code))
        while end > at + 1 and not code[end - 1].strip():
            end -= 1
        first = at
        while first and lines[first - 1].startswith("\\*"):
            first -= 1
        head = _HEAD.match(code[at])
        assert head is not None
        given = tuple(each.strip() for each in (head[2] or "").split(",") if each.strip())
        found.append(Definition(head[1], given, path, first + 1, at + 1, tuple(lines[first:end])))
    return tuple(found)


def acting(known: Mapping[str, Iterable[Definition]]) -> frozenset[str]:
    """Return the names of the operators that change variables, directly or by others."""
    texts = {name: " ".join(each.text for each in found) for name, found in known.items()}
    words = {name: {*_WORD.findall(text)} for name, text in texts.items()}
    found = {name for name, text in texts.items() if _PRIMED.search(text)}
    while more := {name for name in words.keys() - found if words[name] & found}:
        found |= more
    return frozenset(found)


def guard_of(definition: Definition, acts: frozenset[str]) -> tuple[Conjunct, ...]:
    """Return the conjuncts of an action that speak of the state before alone."""
    numbered = definition.body
    head, line = numbered[0]
    cut = line.index("==") + 2
    return tuple(_conjuncts([(head, " " * cut + line[cut:]), *numbered[1:]], acts))


def _conjuncts(lines: list[tuple[int, str]], acts: frozenset[str]) -> Iterator[Conjunct]:
    lines = [(number, text) for number, text in lines if text.strip()]
    columns = [_indent(text) for _, text in lines if text.lstrip().startswith(_BULLET)]
    if not columns or not lines[0][1].lstrip().startswith(_BULLET):
        yield from _conjunct(lines, acts)
        return
    column, item = min(columns), list[tuple[int, str]]()
    for number, text in lines:
        if text[column : column + 2] == _BULLET and not text[:column].strip():
            yield from _conjunct(item, acts)
            item = [(number, f"{text[:column]}  {text[column + 2 :]}")]
        else:
            item.append((number, text))
    yield from _conjunct(item, acts)


def _conjunct(item: list[tuple[int, str]], acts: frozenset[str]) -> Iterator[Conjunct]:
    """Yield the item if it is part of the guard, or the parts of it that are."""
    if not item:
        return
    text = " ".join(" ".join(text for _, text in item).split())
    if _changes(text, acts):
        head, inside = _inside(item)
        if head:
            yield Conjunct(head, item[0][0])
        if inside:
            yield from _conjuncts(inside, acts)
            return
    for part in _parts(text):
        if not _changes(part, acts):
            yield Conjunct(part, item[0][0])


def _changes(text: str, acts: frozenset[str]) -> bool:
    """Tell whether the text speaks of the state after."""
    return bool(_PRIMED.search(text) or acts.intersection(_WORD.findall(text)))


def _parts(text: str) -> list[str]:
    """Return the conjuncts that stand in one line; the whole if it has alternatives or the like."""
    if _BRANCHES.search(text):
        return [text]
    parts, deep = [""], 0
    for word in re.split(r"( /\\ |[(\[{}\])])", text):
        deep += (word in {*"([{"}) - (word in {*")]}"})
        if word.strip() == _BULLET and not deep:
            parts.append("")
        else:
            parts[-1] += word
    return [part for part in parts if part]


def _inside(item: list[tuple[int, str]]) -> tuple[str, list[tuple[int, str]]]:
    """Return the head of a quantifier, and the body of it or of a LET, in its columns."""
    nothing: tuple[str, list[tuple[int, str]]] = "", []
    start, head = item[0][1].lstrip(), ""
    if start.startswith("LET"):
        ends = [
            (n, each) for n, (_, line) in enumerate(item) for each in re.finditer(r"\bIN\b", line)
        ]
        opens = sum(len(re.findall(r"\bLET\b", line)) for _, line in item)
        if len(ends) > 1 and opens > 1:
            low = min(_indent(item[n][1]) for n, _ in ends)
            ends = [(n, each) for n, each in ends if _indent(item[n][1]) == low] or ends
        if not ends:
            return nothing
        row, mark = ends[0]
    elif start.startswith("\\E"):
        rows = ((n, re.search(r":(?![>=])(?=\s|$)", line)) for n, (_, line) in enumerate(item))
        found = next(((n, each) for n, each in rows if each), None)
        if found is None:
            return nothing
        row, mark = found
        words = [*(text for _, text in item[:row]), item[row][1][: mark.start()]]
        head = " ".join(" ".join(words).split())
    else:
        return nothing
    number, line = item[row]
    return head, [(number, " " * mark.end() + line[mark.end() :]), *item[row + 1 :]]


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def values_in(
    text: str,
    state: Mapping[str, Value],
    bound: Mapping[str, str],
    known: Mapping[str, tuple[Definition, ...]],
) -> tuple[tuple[str, str], ...]:
    """Return the values that a conjunct mentions: of variables and constants, by their names.

    `bound` has the members that stand for the action's parameters: of `status[n]` the entry of n is
    given. An operator stands for its definition.
    """
    found: dict[str, str] = {}
    _mention(text, state, bound, known, found, _DEEP)
    return tuple(found.items())


def _mention(
    text: str,
    state: Mapping[str, Value],
    bound: Mapping[str, str],
    known: Mapping[str, tuple[Definition, ...]],
    found: dict[str, str],
    deep: int,
) -> None:
    for each in re.finditer(r"(?<![\w.\"])([A-Za-z]\w*)((?:\[\w+\])*)(\([^()]*\))?", text):
        name, index, given = each[1], re.findall(r"\w+", each[2]), each[3]
        if name in bound:
            continue
        if name in state:
            label, value = name, state[name]
            for key in index:
                at = bound.get(key, key if key.isdecimal() else "")
                inner = _entry(value, at)
                if inner is None:  # a name that stands for nothing known here
                    break
                label, value = f"{label}[{at}]", inner
            shown = _shown(value)
            if len(shown) <= _LONG:
                found.setdefault(label, shown)
        elif name in known and deep:
            (definition, *_) = known[name]
            arguments = [part.strip() for part in (given or "()")[1:-1].split(",") if part.strip()]
            if len(arguments) == len(definition.parameters):
                pairs = zip(definition.parameters, arguments, strict=True)
                inner_bound = {p: bound[a] for p, a in pairs if a in bound}
                _mention(definition.text, state, inner_bound, known, found, deep - 1)


def _shown(value: Value) -> str:
    """Return the value as TLA+ writes it; what a recorded state has and TLA+ has not, as it is."""
    try:
        return written(value)
    except TypeError:
        return str(value)


def _entry(value: Value, key: str) -> Value | None:
    if not isinstance(value, Fcn):
        return None
    return next((v for k, v in items(value).items() if k == key or written(k) == key), None)
