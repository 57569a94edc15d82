"""A page can be copied from: its commands are understood, its Python is that of the API."""

from __future__ import annotations

import ast
import inspect
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pytest

import raincheck
from raincheck.__main__ import MADE, VERBS, _module_of, _parser_of
from raincheck.conformance.errors import UsageError

from .pages import Found, commands, pages, snippets, spans, words

ROOT = Path(__file__).parents[2]
PAGES = dict(pages(ROOT))
NAMES: Final[dict[str, type]] = {
    "ring": raincheck.Ring,
    "channel": raincheck.Channel,
    "client": raincheck.RingClient,
    "lock": raincheck.NamedLock,
    "barrier": raincheck.Barrier,
    "log": raincheck.DeliveryLog,
}
"""What a variable of that name is in all snippets."""
SYNC: Final = "raincheck.Sync"
OUTLINE: Final = "..."
"""Stands for arguments, or a body, that the reader has."""


@cache
def parser(verb: str) -> ArgumentParser:
    """The parser of a verb."""
    return _parser_of(verb, _module_of(verb))


@cache
def options(verb: str) -> frozenset[str]:
    """The options of a verb."""
    return frozenset(name for each in parser(verb)._actions for name in each.option_strings)


def wrong_commands(page: str, text: str) -> Iterator[str]:
    """Yield the commands that a shell, make or a verb does not understand."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for found in commands(page, text):
        program, *rest = words(found.text)
        if program == "make" and not set(rest[:1]) <= targets:
            yield f"{found}: there is no such target"
        elif program == "python" and rest[0] != "-c" and not (ROOT / rest[0]).is_file():
            yield f"{found}: there is no such file"
        elif program == "raincheck" and rest[0] not in MADE:
            yield from misunderstood(found, *rest)


def misunderstood(found: Found, verb: str, *rest: str) -> Iterator[str]:
    """Yield what is wrong with a whole command."""
    if verb not in VERBS:
        yield f"{found}: there is no such verb"
        return
    try:
        parser(verb).parse_args(rest)
    except UsageError as problem:
        yield f"{found}: {problem}"


def wrong_spans(page: str, text: str) -> Iterator[str]:
    """Yield the commands of sentences whose verb or options there are not."""
    for found in spans(page, text):
        _, verb, *rest = found.text.replace("|", " ").replace("[", " ").replace("]", " ").split()
        if verb not in VERBS:
            if verb not in MADE and verb.islower():
                yield f"{found}: there is no such verb"
            continue
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(rest)):
            if option not in options(verb):
                yield f"{found}: there is no {option}"


def wrong_snippets(page: str, text: str) -> Iterator[str]:
    """Yield the snippets that are no Python, or call what the API does not have."""
    for found in snippets(page, text):
        code = re.sub(r"(?m)^(async with .*:)$(?!\n[ \t])", r"\1 pass", found.text)
        code = code.replace(f", {OUTLINE})", ")")
        try:
            tree = parsed(code)
        except SyntaxError as problem:
            yield f"{found}: {problem.msg} in line {problem.lineno}"
            continue
        kinds = {} if SYNC in code else NAMES
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (wrong := missing(node, kinds)):
                yield f"{found}: {wrong}"
            if isinstance(node, ast.Call) and (wrong := unfit(node, kinds)):
                yield f"{found}: {wrong}"


def parsed(code: str) -> ast.AST:
    """Return the tree of a snippet; entries of a table may stand without their braces."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    try:
        return cast("ast.AST", compile(code, "a page", "exec", flags))
    except SyntaxError:
        with suppress(SyntaxError):
            return ast.parse(f"{{\n{code}}}")
        raise


def meant(node: ast.expr, kinds: dict[str, type]) -> Any:
    """Return what an expression of names and dots is; None if that is the reader's own."""
    if isinstance(node, ast.Name):
        return raincheck if node.id == "raincheck" else kinds.get(node.id)
    if isinstance(node, ast.Attribute) and (of := meant(node.value, kinds)) is not None:
        found = inspect.getattr_static(of, node.attr, None)
        plain = getattr(of, node.attr, None)
        return None if isinstance(found, property) else plain
    return None


def missing(node: ast.Attribute, kinds: dict[str, type]) -> str:
    """Return what an attribute is called that there is not."""
    of = meant(node.value, kinds)
    if of is None or not (inspect.isclass(of) or inspect.ismodule(of)):
        return ""
    has = hasattr(of, node.attr) or node.attr in getattr(of, "__annotations__", {})
    return "" if has or sets_itself(of, node.attr) else f"{of.__name__} has no {node.attr}"


def sets_itself(of: Any, name: str) -> bool:
    """Whether instances have an attribute that only `__init__` sets."""
    return inspect.isclass(of) and f"self.{name} " in inspect.getsource(of)


def unfit(node: ast.Call, kinds: dict[str, type]) -> str:
    """Return why a call does not fit what is called."""
    called = meant(node.func, kinds)
    if called is None or any(isinstance(each, ast.Starred) for each in node.args):
        return ""
    names = [each.arg for each in node.keywords if each.arg is not None]
    own = SETTINGS.get(called)
    if own is not None:
        there = {each.name for each in fields(own)}
        unknown = [name for name in names if name not in there]
        return f"{called.__qualname__} takes no {unknown[0]}=" if unknown else ""
    of_instance = inspect.isfunction(called) and isinstance(node.func, ast.Attribute)
    first = [None] if of_instance and "self" in inspect.signature(called).parameters else []
    try:
        bound: Callable[..., Any] = inspect.signature(called).bind_partial
        bound(*first, *node.args, **dict.fromkeys(names))
    except TypeError as problem:
        return f"{called.__qualname__}: {problem}"
    return ""


SETTINGS: Final[dict[Any, type]] = {
    raincheck.Ring.connect: raincheck.RingSettings,
    raincheck.SyncRing.connect: raincheck.RingSettings,
    raincheck.Channel.connect: raincheck.ChannelConfig,
    raincheck.StackConfig: raincheck.StackConfig,
    raincheck.StackConfig.preset: raincheck.StackConfig,
    raincheck.RingConfig: raincheck.RingConfig,
    raincheck.RingConfig.preset: raincheck.RingConfig,
}


def test_what_is_to_be_copied_is_found() -> None:
    counts = [len(list(of(*each))) for of in (commands, spans, snippets) for each in PAGES.items()]
    all_of = len(PAGES)
    assert sum(counts[:all_of]) > 50
    assert sum(counts[all_of : 2 * all_of]) > 100
    assert sum(counts[2 * all_of :]) > 20


@pytest.mark.parametrize("wrong", [wrong_commands, wrong_spans, wrong_snippets])
def test_pages_say_what_can_be_done(wrong: Callable[[str, str], Iterator[str]]) -> None:
    assert [each for page in PAGES.items() for each in wrong(*page)] == []


PLANTED = """
```
make coffee
python tests/bench/bench_nothing.py
raincheck chek
raincheck check --tier quickly
raincheck generate locks --traces DIR        walks of the core
RAINCHECK_TLA2TOOLS=x raincheck prove --everything
```
See `raincheck conform DIR --folow` and `raincheck verify`.

```python
async with raincheck.Ring.connect("x", nam="a") as ring:
    await ring.multicat(b"x")
    ring.lock("x", time=5)
    raincheck.Rang
```

```python
await channel.send(b"x"
```
"""
SAID = [
    "make coffee: there is no such target",
    "bench_nothing.py: there is no such file",
    "raincheck chek: there is no such verb",
    "--tier",
    "unrecognized arguments: walks of the core",
    "--everything",
    "there is no --folow",
    "raincheck verify: there is no such verb",
    "Ring.connect takes no nam=",
    "Ring has no multicat",
    "unexpected keyword argument 'time'",
    "raincheck has no Rang",
    "was never closed",
]


def test_what_a_page_has_wrong_is_named() -> None:
    wrong = (wrong_commands, wrong_spans, wrong_snippets)
    found = [each for of in wrong for each in of("page.md", PLANTED)]

    assert len(found) == len(SAID), found
    for said in SAID:
        assert any(said in each for each in found), said


def test_the_tutorial_takes_a_line_out_that_is_there() -> None:
    page = PAGES["docs/tutorial.md"]
    (line,) = re.findall(r"(?m)^    /\\ .*$", page)
    assert line in (ROOT / "spec" / "Sequencer.tla").read_text().splitlines()
