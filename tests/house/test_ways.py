"""The pages in docs/ways/ name functions that exist, in the files that have them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WAYS = sorted((ROOT / "docs" / "ways").glob("*.md"))
FOLDERS = ("", "impl", "conformance")
"""Where the files of a page may be: it says which one in its first sentences."""


def rows(page: str) -> Iterator[tuple[str, list[str]]]:
    """The file and the functions of each row of a page's tables."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) >= 6 and re.fullmatch(r"`[\w/]+\.py`", cells[2]):
            yield cells[2].strip("`"), re.findall(r"`([^`]+)`", cells[3])


def names_in(path: Path) -> set[str]:
    """The functions and classes of a module, those of a class with and without its name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inside = (
                each.target if isinstance(each, ast.AnnAssign) else each for each in node.body
            )
            said = (getattr(each, "name", getattr(each, "id", "")) for each in inside)
            found |= {f"{node.name}.{name}" for name in said}
    return found


def wrong(page: str) -> list[str]:
    """The files that no folder has, and the functions that no such file has."""
    found = []
    for file, functions in rows(page):
        paths = [path for each in FOLDERS if (path := ROOT / each / file).is_file()]
        if not paths:
            found.append(file)
        there = set().union(*map(names_in, paths))
        named = (each.split("(")[0] for each in functions)
        found += [f"{file}: {each}" for each in named if paths and each not in there]
    return found


@pytest.mark.parametrize("path", WAYS, ids=lambda path: path.stem)
def test_a_page_names_what_there_is(path: Path) -> None:
    page = path.read_text(encoding="utf-8")

    assert len(list(rows(page))) > 5
    assert wrong(page) == []


def test_a_file_or_a_function_that_is_not_there_is_named() -> None:
    page = (
        "| 1 | `ring/nowhere.py` | `go` | goes |\n"
        "| 2 | `ring/engine.py` | `RingEngine._arrived`, `_gone` | goes |\n"
    )

    assert wrong(page) == ["ring/nowhere.py", "ring/engine.py: _gone"]
