"""The parts of the documentation that one copies: commands for a shell, snippets of Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`(raincheck [a-z][^`]*)`")
COMMAND = re.compile(r"(?:sudo |[A-Z][A-Z0-9_]*=\S+ )?((?:raincheck|make|python) \S.*)")
PROMPT = "$ "
"""Stands before a command where its output follows."""
SHELL = ("", "sh", "bash")


class Found(NamedTuple):
    """Something to copy, and where it stands."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text.strip().splitlines()[0]}"


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each page with its text."""
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        yield str(path.relative_to(root)), path.read_text(encoding="utf-8")


def blocks(page: str, text: str) -> Iterator[tuple[str, Found]]:
    """Yield the blocks of a page, with the language of each."""
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(3)) + 1
        yield found[2], Found(page, line, dedent(found[3]))


def commands(page: str, text: str) -> Iterator[Found]:
    """Yield the commands of a page's blocks, a line each, as a shell has them."""
    for language, block in blocks(page, text):
        if language not in SHELL:
            continue
        lines = block.text.splitlines()
        shown = any(line.startswith(PROMPT) for line in lines)
        for number, line in enumerate(lines):
            typed = line.startswith(PROMPT) if shown else True
            if typed and (found := COMMAND.fullmatch(line.removeprefix(PROMPT))):
                yield Found(page, block.line + number, found[1])


def spans(page: str, text: str) -> Iterator[Found]:
    """Yield the commands in a page's sentences and tables, which may be cut short."""
    prose = BLOCK.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in SPAN.finditer(prose):
        yield Found(page, prose.count("\n", 0, found.start()) + 1, found[1].replace("\\|", "|"))


def snippets(page: str, text: str) -> Iterator[Found]:
    """Yield the snippets of Python of a page."""
    for language, block in blocks(page, text):
        if language == "python":
            yield block


def words(command: str) -> list[str]:
    """Return the words of a command, without what a shell takes for a comment."""
    return shlex.split(command, comments=True)
