"""The rules of a checker, found in its source, each with a way to mute it.

A *site* is a statement that states a complaint: it calls one of the names by which its module
complains, or, in a function named for it, returns something or sets `reason`. A site is one rule.
If the condition directly around it is `a or b`, each part is a rule, and so is each pair of
compared tuples. A rule's key does not depend on its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .sites import Finder, Function
from .trees import Mute

PACKAGE = "raincheck.conformance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A checker's module, and how it states a complaint."""

    module: str
    """The module's name within `conformance`, such as "trace.sequencer.members"."""
    planted: str
    """The module of this package with an input for each rule."""
    complaints: frozenset[str] = frozenset()
    """The functions called to complain: a name, or the last two such as "reasons.append"."""
    builders: frozenset[str] = frozenset()
    """Functions that only put a complaint into words: their callers complain."""
    predicates: frozenset[str] = frozenset()
    """Functions that answer False to a wrong input."""
    witnesses: frozenset[str] = frozenset()
    """Functions in which everything returned or yielded, except for nothing, is a complaint."""
    reasons: frozenset[str] = frozenset()
    """Functions in which setting `reason` to some words is a complaint."""
    tables: frozenset[str] = frozenset()
    """Attributes in which setting or adding entries is a complaint."""
    flags: frozenset[str] = frozenset()
    """Names that are set to whether there is something to complain of."""

    asides: frozenset[str] = frozenset()
    """Functions that produce sentences that are not complaints."""

    @property
    def name(self) -> str:
        """Return the module's full name."""
        return f"{PACKAGE}.{self.module}"

    @property
    def path(self) -> Path:
        """Return the module's file."""
        spec = find_spec(self.name)
        assert spec is not None
        assert spec.origin is not None
        return Path(spec.origin)

    @property
    def file(self) -> str:
        """Return the file's path within the project."""
        return f"conformance/{self.module.replace('.', '/')}.py"


@dataclass(frozen=True, slots=True)
class Rule:
    """One possible complaint of a checker."""

    source: Source
    function: str
    text: str
    """The words of the complaint, or its condition."""

    @property
    def key(self) -> str:
        """Return the rule's key among the rules of its module."""
        return f"{self.function}: {self.text}"

    def __str__(self) -> str:
        return f"{self.source.file} {self.function}: {self.text!r}"


@dataclass(frozen=True, slots=True)
class Found:
    """A rule in a syntax tree, and a way to take it out of that tree."""

    function: str
    text: str
    mute: Mute


def rules_of(source: Source) -> list[Rule]:
    """Return all rules of the module, in the order of its text."""
    tree = ast.parse(source.path.read_text(encoding="utf-8"))
    return [Rule(source, each.function, each.text) for each in find(tree, source)]


def find(tree: ast.Module, source: Source) -> list[Found]:
    """Find the rules in the module's tree; the same words twice in a function are numbered."""
    found = []
    seen: dict[tuple[str, str], int] = {}
    for top in tree.body:
        for qualname, function in _functions(top, ""):
            if function.name in source.builders:
                continue
            for text, mute in Finder(source, function).rules():
                text = " ".join(text.split())
                count = seen[qualname, text] = seen.get((qualname, text), 0) + 1
                told = text if count == 1 else f"{text} #{count}"
                found.append(Found(qualname, told, mute))
    return found


def _functions(node: ast.AST, inside: str) -> Iterator[tuple[str, Function]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield f"{inside}{node.name}", node
        inside = f"{inside}{node.name}.<locals>."
    elif isinstance(node, ast.ClassDef):
        inside = f"{inside}{node.name}."
    for child in ast.iter_child_nodes(node):
        yield from _functions(child, inside)


def unheard(source: Source) -> list[str]:
    """Return the sentences in the module that belong to no rule: complaints that were not found.

    A sentence has three words or more. The words of builders belong to their callers, and the
    initial values of a rule's statement to the rule.
    """
    tree = ast.parse(source.path.read_text(encoding="utf-8"))
    found = []
    for top in tree.body:
        for qualname, function in _functions(top, ""):
            if function.name not in source.builders | source.asides:
                finder = Finder(source, function)
                found += [f"{qualname}: {' '.join(text.split())}" for text in finder.unheard()]
    return found
