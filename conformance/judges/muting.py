"""Muting: run a checker without one of its rules, in this process.

The code of the function is exchanged, not the function, so importers of the function see it too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .rules import Rule, find


@contextmanager
def muted(rule: Rule) -> Iterator[None]:
    """Mute the rule; restore it at the end."""
    module = import_module(rule.source.name)
    outermost = rule.function.partition(".<locals>")[0]
    function = _function(module, outermost)
    before = function.__code__
    function.__code__ = _without(rule, before.co_filename, outermost)
    _forget(module)
    try:
        yield
    finally:
        function.__code__ = before
        _forget(module)


def _without(rule: Rule, file: str, qualname: str) -> CodeType:
    """Return the code of the function without the rule."""
    tree = ast.parse(rule.source.path.read_text(encoding="utf-8"))
    _keep(tree, qualname.split("."))
    (found,) = (
        each
        for each in find(tree, rule.source)
        if (each.function, each.text) == (rule.function, rule.text)
    )
    found.mute()
    part = ast.fix_missing_locations(tree)
    code = compile(part, file, "exec", dont_inherit=True)
    made = _named(code, qualname)
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


def _forget(module: ModuleType) -> None:
    """Clear the caches of the module's functions, which were filled by the other code."""
    for each in vars(module).values():
        clear = getattr(each, "cache_clear", None)
        if clear is not None:
            clear()
