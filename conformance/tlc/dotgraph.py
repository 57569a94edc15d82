"""TLC's graph dump (`-dump dot,actionlabels`), read line by line.

What the reader relies on, in TLC 2.15 and later: a state is a line `<id> [label="/\\ x = ..."`,
an initial one is `style = filled`, a step is a line `<id> -> <id> [label="Action"`; the label
escapes `\\`, `"` and line breaks. Where TLC checks temporal properties it adds a step of its own to
each state, `<id> -> <id> [style="dashed"]`: to stay there. Everything else is decoration.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from raincheck.model.machine.graph import NUMBER, Graph, Label
from raincheck.model.machine.tlavalue import Reader
from raincheck.model.machine.values import Value

from .stategraph import Interner, StateGraph, Values

_QUOTED: Final = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_EDGE: Final = re.compile(rf"(-?\d+) -> (-?\d+)(?:\s*\[(?:[^\"\]]*?\blabel={_QUOTED})?.*)?")
_NODE: Final = re.compile(rf"(-?\d+) \[(?:[^\"\]]*?\b)?label={_QUOTED}(.*)")
# Newer TLC fills states outside the model's constraints too, but in a colour.
_INITIAL: Final = re.compile(r'(?!.*fillcolor).*\bstyle\s*=\s*"?filled')
_STAYS: Final = re.compile(r'(-?\d+) -> \1 \[style="dashed"\]')
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CONJUNCT: Final = re.compile(r"(?:\A|\n)/\\ (\w+) = ")
_INSTANCE: Final = re.compile(r"MC(?=[A-Z])")


def plain_action(label: str) -> str:
    """Return the protocol's action behind a label of TLC's.

    MCSend is Send within an instance's bounds; newer TLC adds the arguments, as in Send("a").
    """
    return _INSTANCE.sub("", label.partition("(")[0].strip(), count=1)


def read_dot(path: Path, progress: Callable[[int], None] | None = None) -> StateGraph:
    """Return the graph in the file; raise ValueError if it is not a complete dump of TLC's.

    `progress` is called now and then with the number of bytes read.
    """
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        return read_lines(lines, str(path), progress)


def read_lines(
    lines: Iterable[str], where: str, progress: Callable[[int], None] | None = None
) -> StateGraph:
    """Return the graph in the lines; `where` names them in errors."""
    reading = _Reading(where)
    size = 0
    for number, line in enumerate(lines, 1):
        reading.line(number, line)
        size += len(line)
        if progress is not None and number % 10_000 == 0:
            progress(size)
    return reading.graph()


class _Reading:
    """The part of the dump that has been read so far."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.variables: tuple[str, ...] = ()
        self.numbers: dict[str, int] = {}
        self.states: list[Values | None] = []
        self.initial: dict[int, None] = {}
        self.labels: dict[str, int] = {}
        self.actions: dict[Label, int] = {}
        self.edges = array(NUMBER), array(NUMBER), array(NUMBER)
        self.read = Reader()
        self.intern = Interner()
        self.raw: dict[str, tuple[str, Value]] = {}
        self.closed = False

    def line(self, number: int, line: str) -> None:
        if line[:1] not in "-0123456789":
            self.closed = line.startswith("}")
            return
        if (edge := _EDGE.match(line)) is not None:
            source, target, label = edge.groups()
            if label is None:
                if _STAYS.match(line):
                    return
                raise ValueError(f"{self.where}, line {number}: a step without its action's name")
            self.edges[0].append(self.number_of(source))
            self.edges[1].append(self.label_of(label))
            self.edges[2].append(self.number_of(target))
        elif (node := _NODE.match(line)) is not None:
            state = self.number_of(node[1])
            try:
                self.states[state] = self.values(node[2])
            except ValueError as error:
                raise ValueError(f"{self.where}, line {number}: {error}") from None
            if _INITIAL.match(node[3]):
                self.initial[state] = None
        else:
            raise ValueError(f"{self.where}, line {number}: neither a state nor a step")

    def number_of(self, identity: str) -> int:
        number = self.numbers.get(identity)
        if number is None:
            number = self.numbers[identity] = len(self.states)
            self.states.append(None)
        return number

    def label_of(self, label: str) -> int:
        number = self.labels.get(label)
        if number is None:
            action = Label(plain_action(_unescape(label)))
            number = self.labels[label] = self.actions.setdefault(action, len(self.actions))
        return number

    def values(self, label: str) -> Values:
        """Return the values of a state; most conjuncts occurred before and are looked up."""
        parts = label.split(r"\n/\\ ")
        try:
            found = [self.raw[part] for part in parts]
        except KeyError:
            return self.new_values(label, parts)
        return self.arranged(found)

    def new_values(self, label: str, parts: list[str]) -> Values:
        text = _unescape(label)
        starts = list(_CONJUNCT.finditer(text))
        if not starts:
            # A spec with one variable: TLC prints no conjunction.
            name, _, value = text.partition(" = ")
            return self.arranged([(name.strip(), self.intern(self.read(value)))])
        ends = [each.start() for each in starts[1:]] + [len(text)]
        found = [
            (start[1], self.intern(self.read(text[start.end() : end])))
            for start, end in zip(starts, ends, strict=True)
        ]
        if len(parts) == len(found):
            self.raw.update(zip(parts, found, strict=True))
        return self.arranged(found)

    def arranged(self, found: list[tuple[str, Value]]) -> Values:
        """Return the values in the order of the variables' names."""
        by_name = dict(found)
        if not self.variables:
            self.variables = tuple(sorted(by_name))
        if len(by_name) != len(self.variables):
            raise ValueError(f"a state has the variables {sorted(by_name)}, not {self.variables}")
        return tuple([by_name[name] for name in self.variables])

    def graph(self) -> StateGraph:
        if not self.closed:
            raise ValueError(f"{self.where}: the dump is cut off")
        if not self.initial:
            raise ValueError(f"{self.where}: no state is marked as an initial one")
        states = [state for state in self.states if state is not None]
        if len(states) < len(self.states):
            raise ValueError(f"{self.where}: a step leads to a state that is not in the dump")
        graph = Graph(states, self.initial, list(self.actions), self.edges)
        return StateGraph("spec", self.variables, graph)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
