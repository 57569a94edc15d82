"""Raincore's Figures 12, 13 and 14, drawn by the model and by the code, and compared to the paper.

The paper's figures are data (`spec/raincore_figures.toml`). A source hands over its labels in the
order in which they appear; each letter and number is compared with the paper's.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from raincheck.conformance.cases.tables import spec_folder
from raincheck.conformance.report.ringtext import Place, ring_lines

NUMBERS: Final = (12, 13, 14)
PAPER: Final = "C. C. Fan, Fault-tolerant cluster of networking elements (2001)"
FIRST: Final = 11
"""The number of the first label in the figures."""

_LABEL: Final = re.compile(r"(?P<nodelist>\w+)\((?P<letter>[acr])\)(?P<seq>\d+)")


class Label(NamedTuple):
    """The label of a node that holds the token: "ACD(c)16"."""

    node: str
    nodelist: str
    letter: str
    seq: int

    def __str__(self) -> str:
        return f"{self.nodelist}({self.letter}){self.seq}"

    @classmethod
    def read(cls, node: str, text: str) -> Self:
        """Read a label in its printed form."""
        found = _LABEL.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no label of a ring")
        return cls(node, found["nodelist"], found["letter"], int(found["seq"]))


Row = Mapping[str, Label]
"""One pass round the ring: the label of each node that has one."""

Views = Mapping[str, tuple[str, ...]]
"""Each node's globalView; "" is NULL."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paper."""

    number: int
    title: str
    nodes: str
    names: tuple[str, ...]
    """The name of each row."""
    rows: tuple[Row, ...]
    views: Views

    @property
    def last(self) -> int:
        """Return the highest number in the figure."""
        return max(label.seq for row in self.rows for label in row.values())

    @property
    def drawing(self) -> Drawing:
        """Return the figure as a drawing."""
        return Drawing(tuple(label for row in self.rows for label in row.values()), self.views)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing: labels in the order in which they appear, and globalViews."""

    labels: tuple[Label, ...]
    views: Views

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the labels by rounds: a node that comes again begins another row."""
        rows: list[dict[str, Label]] = []
        for label in self.labels:
            if not rows or label.node in rows[-1]:
                rows.append({})
            rows[-1][label.node] = label
        return tuple(rows)

    @property
    def ring(self) -> str:
        """Return the nodes on the ring at the end, in its order."""
        return max(self.labels, key=lambda label: label.seq).nodelist if self.labels else ""

    def history(self, node: str) -> tuple[Label, ...]:
        """Return the labels at the side of a node."""
        return tuple(label for label in self.labels if label.node == node)


class Difference(NamedTuple):
    """A difference between a drawing and the paper's figure; "" is nothing."""

    where: str
    paper: str
    drawn: str

    def __str__(self) -> str:
        return f"{self.where}: {self.drawn or 'nothing'}, in the paper {self.paper or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Compared:
    """A drawing beside the figure."""

    figure: Figure
    drawing: Drawing

    @property
    def lines(self) -> list[tuple[str, dict[str, tuple[Label | None, Label | None]]]]:
        """Return, by rounds, the row's name, and per node the paper's label and the drawn one."""
        paper, drawn = self.figure.rows, self.drawing.rows
        names = self.figure.names
        lines = []
        for at in range(max(len(paper), len(drawn))):
            left, right = _at(paper, at), _at(drawn, at)
            pairs = {node: (left.get(node), right.get(node)) for node in self._nodes}
            lines.append((names[at] if at < len(names) else "further", pairs))
        return lines

    @property
    def _nodes(self) -> list[str]:
        others = {label.node for label in self.drawing.labels} | set(self.drawing.views)
        return [*self.figure.nodes, *sorted(others - set(self.figure.nodes))]

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Return all differences; none if the figure equals the paper's."""
        return (*self._of_labels(), *self._of_views())

    def _of_labels(self) -> Iterator[Difference]:
        for name, pairs in self.lines:
            wrong = {node: pair for node, pair in pairs.items() if pair[0] != pair[1]}
            for node, (paper, drawn) in sorted(wrong.items(), key=lambda each: _seq(*each[1])):
                where = f"{name}, {node}{_what_differs(paper, drawn)}"
                yield Difference(where, _text(paper), _text(drawn))

    def _of_views(self) -> Iterator[Difference]:
        for node in self._nodes:
            paper = self.figure.views.get(node, ())
            drawn = self.drawing.views.get(node, ())
            if paper != drawn:
                yield Difference(f"globalView of {node}", vector(paper), vector(drawn))

    @property
    def counts(self) -> dict[str, object]:
        """Return how many labels and vectors there are, and how many of them are equal."""
        pairs = [pair for _, row in self.lines for pair in row.values() if pair != (None, None)]
        views = [self.figure.views.get(n, ()) == self.drawing.views.get(n, ()) for n in self._nodes]
        same = [(paper, drawn) for paper, drawn in pairs if paper and drawn]
        return {
            "labels": len(pairs),
            "labels_equal": sum(paper == drawn for paper, drawn in pairs),
            "letters_equal": sum(paper.letter == drawn.letter for paper, drawn in same),
            "numbers_equal": sum(paper.seq == drawn.seq for paper, drawn in same),
            "vectors": len(views),
            "vectors_equal": sum(views),
        }


def figure_of(number: int) -> Figure:
    """Return one of the paper's figures."""
    text = (spec_folder() / "raincore_figures.toml").read_text(encoding="utf-8")
    return next(read for read in figures_in(text) if read.number == number)


def figures_in(text: str) -> Iterator[Figure]:
    """Yield the figures in `spec/raincore_figures.toml`'s format; raise ValueError if invalid."""
    for table in tomllib.loads(text)["figure"]:
        rows: list[dict[str, Any]] = table["rows"]
        yield Figure(
            table["number"],
            table["title"],
            table["nodes"],
            tuple(row["name"] for row in rows),
            tuple(
                {node: Label.read(node, label) for node, label in row.items() if node != "name"}
                for row in rows
            ),
            {node: tuple(views) for node, views in table["views"].items()},
        )


def shown(labels: Iterable[Label], figure: Figure) -> tuple[Label, ...]:
    """Return the part of a run that the figure shows, from its first number to its last."""
    kept: list[Label] = []
    for label in labels:
        if kept or label.seq >= FIRST:
            kept.append(label)
        if label.seq >= figure.last:
            break
    return tuple(kept)


def as_text(compared: Compared) -> str:
    """Return the figure in characters: the ring, the rounds, and the differences from the paper."""
    drawing = compared.drawing
    on = [_place(compared, node) for node in drawing.ring]
    lines = ring_lines(on)
    for node in compared.figure.nodes:
        if node not in drawing.ring:
            history = " ".join(map(str, drawing.history(node)))
            lines += ["", f"( {node} ) not on the ring: {vector(drawing.views.get(node, ()))}"]
            lines += [f"      {history}"]
    return "\n".join([*lines, "", *_table(compared), "", *_verdict(compared)]) + "\n"


def vector(views: Sequence[str]) -> str:
    """Return a globalView as text: "ABCD · NULL · ACBD"."""
    return " · ".join(view or "NULL" for view in views) or "empty"


def _place(compared: Compared, node: str) -> Place:
    history = tuple(map(str, compared.drawing.history(node)))
    return Place(node, vector(compared.drawing.views.get(node, ())), history)


def _table(compared: Compared) -> list[str]:
    rows = [["", *compared._nodes]]
    for name, pairs in compared.lines:
        rows.append([name, *(_cell(*pair) for pair in pairs.values())])
    rows.append(["globalView", *(_vector_cell(compared, node) for node in compared._nodes)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cell(paper: Label | None, drawn: Label | None) -> str:
    if paper == drawn:
        return f"{drawn} ✓" if drawn else ""
    return f"{_text(drawn) or '–'} ✗ {_text(paper) or '–'}"


def _vector_cell(compared: Compared, node: str) -> str:
    paper, drawn = compared.figure.views.get(node, ()), compared.drawing.views.get(node, ())
    return f"{vector(drawn)} ✓" if paper == drawn else f"{vector(drawn)} ✗ {vector(paper)}"


def _verdict(compared: Compared) -> list[str]:
    counts = compared.counts
    said = (
        f"{counts['labels_equal']} of {counts['labels']} labels and {counts['vectors_equal']} of "
        f"{counts['vectors']} globalViews are the paper's"
    )
    differences = compared.differences
    if not differences:
        return [f"{said}: every letter and every number."]
    return [f"{said} (after ✗ what the paper has):", *(f"  {each}" for each in differences)]


def _what_differs(paper: Label | None, drawn: Label | None) -> str:
    if paper is None or drawn is None:
        return ""
    parts = {
        "list": paper.nodelist != drawn.nodelist,
        "letter": paper.letter != drawn.letter,
        "number": paper.seq != drawn.seq,
    }
    return f" ({', '.join(name for name, differs in parts.items() if differs)})"


def _seq(paper: Label | None, drawn: Label | None) -> int:
    label = paper or drawn
    return label.seq if label else 0


def _at(rows: Sequence[Row], at: int) -> Row:
    return rows[at] if at < len(rows) else {}


def _text(label: Label | None) -> str:
    return str(label) if label else ""
