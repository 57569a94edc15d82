"""The package table, the links and the folders tell the same story, and nothing has two names."""

import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable
from fnmatch import fnmatch
from importlib.resources import as_file, files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("raincheck", "spec", "model", "impl", "conformance")
DATA = {".tla", ".toml", ".html", ".css", ".js", ".typed"}

WALK = """
import importlib, json, os, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import raincheck
for each in pkgutil.walk_packages(raincheck.__path__, "raincheck."):
    importlib.import_module(each.name)
print(json.dumps([
    [name, os.path.realpath(module.__file__)]
    for name, module in sorted(sys.modules.items())
    if getattr(module, "__file__", None) and name != "__main__"
]))
"""


def folders_of(root: Path) -> dict[str, Path]:
    """Every folder of source that holds Python, by the name under which it must be imported."""
    found = {}
    for source in SOURCES:
        for init in sorted((root / source).rglob("*.py")):
            relative = init.parent.relative_to(root)
            if relative.parts[0] == "raincheck" and len(relative.parts) > 1:
                continue  # seen through a link
            name = ".".join(relative.parts)
            found[name if source == "raincheck" else f"raincheck.{name}"] = init.parent
    return found


def data_of(package: Path) -> list[Path]:
    """The data of a package: in its folder, and in folders below that are no packages."""
    found = []
    for path in package.iterdir():
        if path.is_dir() and not path.is_symlink() and not any(path.rglob("*.py")):
            found += [each for each in path.rglob("*") if each.suffix in DATA]
        elif path.suffix in DATA:
            found.append(path)
    return found


def matches(path: PurePath, pattern: PurePath) -> bool:
    """Whether the pattern of package-data means the path: an asterisk stays within a folder."""
    pairs = zip(path.parts, pattern.parts, strict=False)
    return len(path.parts) == len(pattern.parts) and all(fnmatch(*pair) for pair in pairs)


def packaging_problems(root: Path) -> list[str]:
    """What the table in pyproject.toml, the links and the folders disagree about."""
    setuptools = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    listed, mapping = set(setuptools["packages"]), setuptools["package-dir"]
    folders = folders_of(root)
    problems = [f"{name} is a folder but not in the table" for name in folders.keys() - listed]
    problems += [f"{name} is in the table but no folder" for name in listed - folders.keys()]
    problems += [
        f"{name} has no __init__.py"
        for name, folder in folders.items()
        if not (folder / "__init__.py").is_file()
    ]
    for source in SOURCES[1:]:
        link, target = root / "raincheck" / source, mapping.get(f"raincheck.{source}")
        if target is None:
            problems.append(f"raincheck.{source} is missing in package-dir")
        elif not link.is_symlink():
            problems.append(f"raincheck/{source} is no link")
        elif link.readlink().is_absolute():
            problems.append(f"raincheck/{source} is an absolute link")
        elif link.resolve() != (root / target).resolve():
            problems.append(f"raincheck/{source} does not lead to {target}")
    shipped = setuptools["package-data"]
    for name, folder in folders.items():
        for path in data_of(folder):
            patterns = (PurePath(each) for each in shipped.get(name, []))
            relative = path.relative_to(folder)
            if not any(matches(relative, each) for each in patterns):
                problems.append(f"{path.relative_to(root)} is not shipped with {name}")
    return sorted(problems)


def names_of_files(modules: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The files that are loaded under more than one name."""
    names = defaultdict(list)
    for name, path in modules:
        names[path].append(name)
    return {path: each for path, each in names.items() if len(each) > 1}


def test_table_links_and_folders_agree() -> None:
    assert packaging_problems(ROOT) == []


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house in order, for a fault to be planted in."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for name in table["packages"]:
        folder = tmp_path.joinpath(*name.split(".")[1:]) if "." in name else tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    for source in SOURCES[1:]:
        (tmp_path / "raincheck" / source).symlink_to(f"../{source}")
    assert packaging_problems(tmp_path) == []
    return tmp_path


def test_a_folder_that_nobody_listed_is_noticed(house: Path) -> None:
    (house / "model" / "extra").mkdir()
    (house / "model" / "extra" / "__init__.py").touch()

    assert packaging_problems(house) == ["raincheck.model.extra is a folder but not in the table"]


def test_a_listed_folder_without_files_is_noticed(house: Path) -> None:
    (house / "conformance" / "spark" / "__init__.py").unlink()

    assert packaging_problems(house) == [
        "raincheck.conformance.spark is in the table but no folder"
    ]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../impl", "raincheck/model does not lead to model"),
        ("/nowhere/model", "raincheck/model is an absolute link"),
        (None, "raincheck/model is no link"),
    ],
)
def test_a_wrong_link_is_noticed(house: Path, target: str | None, problem: str) -> None:
    link = house / "raincheck" / "model"
    link.unlink()
    if target:
        link.symlink_to(target)
    else:
        link.mkdir()

    assert packaging_problems(house) == [problem]


def test_data_that_the_wheel_would_leave_behind_is_noticed(house: Path) -> None:
    (house / "model" / "table.toml").touch()

    assert packaging_problems(house) == ["model/table.toml is not shipped with raincheck.model"]


def test_a_table_in_a_folder_that_the_wheel_would_leave_behind_is_noticed(house: Path) -> None:
    for folder in ("cases", "elsewhere"):
        (house / "spec" / folder).mkdir()
        (house / "spec" / folder / "ping.toml").touch()

    told = "spec/elsewhere/ping.toml is not shipped with raincheck.spec"
    assert packaging_problems(house) == [told]


def test_every_specification_is_found_as_a_resource() -> None:
    spec = ROOT / "spec"
    data = (path for path in spec.rglob("*") if path.suffix in {".tla", ".toml"})
    on_disk = {str(path.relative_to(spec)) for path in data}
    resources = {each.name for each in files("raincheck.spec").iterdir()}
    for folder in ("cases", "mutants"):
        tables = files("raincheck.spec").joinpath(folder)
        resources |= {f"{folder}/{each.name}" for each in tables.iterdir()}

    assert {"Sequencer.tla", "cases/sequencer.toml", "mutants/sequencer.toml"} <= on_disk
    assert on_disk <= resources
    with as_file(files("raincheck.spec")) as folder:
        assert (folder / "Sequencer.tla").is_file()


@pytest.mark.slow
def test_no_file_is_imported_under_two_names(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WALK], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    modules = [(name, path) for name, path in json.loads(done.stdout) if path.startswith(str(ROOT))]
    ours = [(name, path) for name, path in modules if "/.venv/" not in path]
    assert len(ours) > 20
    assert names_of_files(ours) == {}
    assert [name for name, _ in ours if name.partition(".")[0] != "raincheck"] == []


def test_a_file_with_two_names_is_noticed() -> None:
    modules = [("raincheck.model.a", "/h/model/a.py"), ("model.a", "/h/model/a.py"), ("b", "/b.py")]

    assert names_of_files(modules) == {"/h/model/a.py": ["raincheck.model.a", "model.a"]}


@pytest.fixture(scope="module")
def readme() -> Callable[[str, str, str], str]:
    """What setup.py makes of the README."""
    spec = spec_from_file_location("raincheck_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.readme


def test_the_readme_of_a_release_has_no_link_to_a_file_beside_it(
    readme: Callable[[str, str, str], str],
) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](docs/stack.md)" in text  # else this asks nothing

    linked = readme(text, "https://example.org/raincheck", "1.2")
    bare = readme(text, "", "1.2")

    assert "(https://example.org/raincheck/blob/v1.2/docs/stack.md)" in linked
    assert "](docs/" not in linked + bare
    assert "The stack" in bare
    assert readme("[a](#b) [c](https://d)", "", "1") == "[a](#b) [c](https://d)"
