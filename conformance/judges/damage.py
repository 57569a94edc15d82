"""Damage to the checkers themselves: a comparison turned, records lost, an observer blinded.

Muting takes out one rule; this damages the statements around the rules, by which a checker comes to
ask them. The inputs planted for the rules of a module must answer differently then.
"""

from __future__ import annotations

import ast
import random
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Final

from raincheck.conformance.protocols.registry import installed_alone

from .around import shown_around
from .muting import code_of, exchanged, forget
from .planting import Ask, Complaints, planted_for
from .reach import Line, reached
from .rules import Source
from .sources import BESIDE, SOURCES
from .survivors import reason_of

TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
NOTING: Final = frozenset(
    {"append", "add", "update", "extend", "setdefault", "note", "take", "see"}
)
"""The methods by which an observer keeps what it has seen."""
KINDS: Final = ("comparison turned", "records lost", "observer blinded")
LIMIT: Final = 3.0
"""Seconds of processor that a damaged checker has for one input."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One piece of damage to a function of a checker."""

    source: Source
    function: str
    kind: str
    text: str
    number: int
    """Its place among those of the same kind in the function."""

    @property
    def key(self) -> str:
        """Return what names it, whatever its line."""
        return f"{self.source.module} {self.function}: {self.kind}: {self.text}"

    def __str__(self) -> str:
        return f"{self.source.file} {self.function}: {self.kind}: {self.text!r}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A damage, and what noticed it."""

    damage: Damage
    noticed: str
    """The planted input that answers differently, or "" if none does."""
    excuse: str
    """Why it may survive, if that is known."""


@cache
def damages() -> tuple[Damage, ...]:
    """Return every damage to every checker that can be exchanged in this process."""
    return tuple(each for source in (*SOURCES, *BESIDE) for each in _of(source))


def chosen(seed: int, most: int | None) -> Sequence[Damage]:
    """Return all damages, or that many of them, drawn by the seed, in the order of the sources."""
    every = damages()
    if most is None or most >= len(every):
        return every
    drawn = set(random.Random(seed).sample(range(len(every)), most))
    return [each for place, each in enumerate(every) if place in drawn]


def trials(wanted: Sequence[Damage], *, excused: bool = True) -> Iterator[Trial]:
    """Do each damage in turn, and yield what noticed it.

    Without `excused`, those of which it is known that nobody notices them are not tried.
    """
    with tempfile.TemporaryDirectory(prefix="raincheck-damage-") as name, installed_alone():
        asking = _Asking(Path(name))
        for each in wanted:
            reason = reason_of(each.key)
            tried = excused or not reason
            yield Trial(each, _noticed(each, asking) if tried else "", reason)


def _noticed(damage: Damage, asking: _Asking) -> str:
    """Return the words of the first input that answers differently, or "".

    Only those that reach the damaged lines are asked: first those planted for the same function,
    then those for its module, then all others.
    """
    name = damage.function.rpartition(".")[2]
    own = list(_inputs(damage.source))
    own.sort(key=lambda each: f"{name}:" not in each[0])
    sources = (*SOURCES, *BESIDE)
    others = [each for source in sources if source != damage.source for each in _inputs(source)]
    asked: set[Ask] = set()
    change = Exchange(damage)
    for words, ask in (*own, *others):
        if ask in asked or not change.lines & asking.lines(ask):
            continue
        asked.add(ask)
        with change.done():
            after = asking.answer(ask)
        if after != asking.known(ask):
            return words
    return ""


def _inputs(source: Source) -> Iterator[tuple[str, Ask]]:
    """Yield the inputs of a module, each with its words."""
    for key, plant in planted_for(source).items():
        for ask in (plant.bad, plant.good):
            yield f"{key} ({plant.words})", ask
    for name, shown in shown_around(source).items():
        yield name, shown.ask


class _Asking:
    """Asks each input in a folder of its own, and the undamaged checker once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.files = frozenset(str(source.path) for source in (*SOURCES, *BESIDE))
        self._known: dict[Ask, Complaints] = {}
        self._lines: dict[Ask, set[Line]] = {}

    def known(self, ask: Ask) -> Complaints:
        """Return what the undamaged checker says."""
        if ask not in self._known:
            self._known[ask] = self.answer(ask, None)
        return self._known[ask]

    def lines(self, ask: Ask) -> set[Line]:
        """Return the lines that the input reaches, once all that is kept for later is there."""
        if ask not in self._lines:
            self.known(ask)
            for source in (*SOURCES, *BESIDE):
                forget(import_module(source.name))
            with reached(self.files) as self._lines[ask]:
                self.answer(ask, None)
        return self._lines[ask]

    def answer(self, ask: Ask, seconds: float | None = LIMIT) -> Complaints:
        """Return the complaints, or the kind of exception: a checker that breaks is noticed."""
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        try:
            with limited(seconds):
                told = ask(folder)
        except TooLong:
            return ["it does not end"]
        except Exception as error:  # noqa: BLE001 - a damaged checker may do anything
            return [type(error).__name__]
        return [each.replace(str(folder), "") for each in told]


class TooLong(BaseException):
    """A damaged checker does not come to an end. No checker may catch it."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise TooLong in this, the main thread, when the time is over, if it has an end."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# ---------------------------------------------------------------------- the damage


class Exchange:
    """A damage as code, which is made once."""

    def __init__(self, damage: Damage) -> None:
        self.outermost = damage.function.partition(".<locals>")[0]
        self.module = import_module(damage.source.name)
        self.lines: set[Line] = set()
        """The lines whose code is another one."""

        def change(tree: ast.Module) -> None:
            ((_, place),) = [each for each in _places(tree, damage.source) if each[0] == damage]
            path = str(damage.source.path)
            self.lines |= {(path, line) for line in place.lines}
            place.do()

        self.code = code_of(damage.source, self.outermost, change)

    @contextmanager
    def done(self) -> Iterator[None]:
        """Damage the function; restore it at the end."""
        with exchanged(self.module, self.outermost, self.code):
            yield


@dataclass(frozen=True, slots=True)
class _Place:
    """Room for a damage in a tree: the lines that it changes, and the function that does it."""

    lines: range
    do: Callable[[], None]


def _of(source: Source) -> list[Damage]:
    tree = ast.parse(source.path.read_text(encoding="utf-8"))
    return [damage for damage, _ in _places(tree, source)]


def _places(tree: ast.Module, source: Source) -> list[tuple[Damage, _Place]]:
    """Return each damage that the tree has room for, and the place of it."""
    found: list[tuple[Damage, _Place]] = []
    for qualname, function in _outer_functions(tree, ""):
        counts: dict[tuple[str, str], int] = {}
        for kind, text, place in _in(function):
            number = counts[kind, text] = counts.get((kind, text), 0) + 1
            told = text if number == 1 else f"{text} #{number}"
            found.append((Damage(source, qualname, kind, told, number), place))
    return found


def _outer_functions(
    node: ast.Module | ast.ClassDef, inside: str
) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _outer_functions(child, f"{inside}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            yield f"{inside}{child.name}", child


def _in(function: ast.FunctionDef) -> Iterator[tuple[str, str, _Place]]:
    lines = {id(node): span for statement in _statements(function) for node, span in statement}
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield KINDS[0], _short(node), _Place(lines[id(node)], partial(_turn, node))
        elif isinstance(node, ast.For):
            yield KINDS[1], _short(node.iter), _Place(lines[id(node)], partial(_lose, node))
        for block in _blocks(node):
            for place, statement in enumerate(block):
                if _notes(statement):
                    span = lines[id(statement)]
                    yield KINDS[2], _short(statement), _Place(span, partial(_blind, block, place))


def _statements(function: ast.FunctionDef) -> Iterator[Iterator[tuple[ast.AST, range]]]:
    """Yield for each statement its nodes, without those of statements in it, and their lines."""
    for statement in ast.walk(function):
        if isinstance(statement, ast.stmt):
            nodes = list(_alone(statement))
            last = max(getattr(node, "end_lineno", 0) for node in nodes[1:] or nodes)
            span = range(statement.lineno, max(statement.lineno, last) + 1)
            yield ((node, span) for node in nodes)


def _alone(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _alone(child)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def _notes(statement: ast.stmt) -> bool:
    """Tell whether a statement only keeps what was seen."""
    if isinstance(statement, ast.AugAssign):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.attr in NOTING
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)


def _turn(node: ast.Compare) -> None:
    node.ops = [TURNED[type(node.ops[0])]()]


def _lose(node: ast.For) -> None:
    """Let the loop lose all that it looks at."""
    node.iter = ast.Tuple([], ast.Load())


def _blind(block: list[ast.stmt], place: int) -> None:
    block[place] = ast.Pass()


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:70]}…"
