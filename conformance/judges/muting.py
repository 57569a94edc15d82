"""Muting: run a checker without one of its rules, in this process.

The code of the function is exchanged, not the function, so importers of the function see it too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .rules import Rule, Source, find


@contextmanager
def muted(rule: Rule) -> Iterator[None]:
    """Mute the rule; restore it at the end."""
    outermost = rule.function.partition(".<locals>")[0]

    def mute(tree: ast.Module) -> None:
        (found,) = (
            each
            for each in find(tree, rule.source)
            if (each.function, each.text) == (rule.function, rule.text)
        )
        found.mute()

    module = import_module(rule.source.name)
    with exchanged(module, outermost, code_of(rule.source, outermost, mute)):
        yield


@contextmanager
def exchanged(module: ModuleType, qualname: str, code: CodeType) -> Iterator[None]:
    """Give the function other code; restore it at the end."""
    function = _function(module, qualname)
    before = function.__code__
    function.__code__ = code
    forget(module)
    try:
        yield
    finally:
        function.__code__ = before
        forget(module)


def code_of(source: Source, qualname: str, change: Callable[[ast.Module], None]) -> CodeType:
    """Return the code of the function after a change to its part of the module's tree."""
    tree = ast.parse(source.path.read_text(encoding="utf-8"))
    _keep(tree, qualname.split("."))
    change(tree)
    part = ast.fix_missing_locations(tree)
    made = _named(compile(part, str(source.path), "exec", dont_inherit=True), qualname)
    assert made is not None
    return made


def _keep(inside: ast.Module | ast.ClassDef, names: list[str]) -> None:
    """Keep only the function, what encloses it, and what determines how the module is compiled."""
    inside.body = [
        each
        for each in inside.body
        if getattr(each, "name", "") == names[0]
        or (isinstance(each, ast.ImportFrom) and each.module == "__future__")
    ]
    for each in inside.body:
        if isinstance(each, ast.ClassDef):
            _keep(each, names[1:])


def _named(code: CodeType, qualname: str) -> CodeType | None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == qualname:
                return inner
            if (found := _named(inner, qualname)) is not None:
                return found
    return None


def _function(module: ModuleType, qualname: str) -> FunctionType:
    """Return the function itself, without its decorators."""
    found: Any = module
    for name in qualname.split("."):
        found = inspect.getattr_static(found, name)
        if isinstance(found, staticmethod | classmethod):
            found = found.__func__
        elif isinstance(found, property):
            found = found.fget
        elif isinstance(found, cached_property):
            found = found.func
        if not isinstance(found, type):
            found = inspect.unwrap(found)
    assert isinstance(found, FunctionType), qualname
    return found


def forget(module: ModuleType) -> None:
    """Clear the caches of the module's functions, which were filled by the other code."""
    for each in vars(module).values():
        clear = getattr(each, "cache_clear", None)
        if clear is not None:
            clear()
