"""The tables of cases, one per protocol: what must hold, and what must not.

Law of this file: all tables are read, or none; no two cases have the same name.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols.registry import protocols

from .case import HOLDS, NOT_FOUND, TIERS, Assumption, Case, Simulation
from .names import meant
from .table import CaseTable

__all__ = [
    "HOLDS",
    "NOT_FOUND",
    "TIERS",
    "Assumption",
    "Case",
    "Simulation",
    "by_protocol",
    "load_assumptions",
    "load_cases",
    "protocols_in",
    "select",
    "spec_folder",
    "tables_of",
]


def spec_folder() -> Path:
    """Return the folder with the specifications, as it was installed."""
    folder = files("raincheck.spec")
    if not isinstance(folder, Path):
        raise UsageError("raincheck is installed inside an archive: install it into a folder.")
    return folder


def load_cases(path: Path | None = None) -> tuple[Case, ...]:
    """Return the cases of the given table or folder of tables, else of all known protocols."""
    if path is None:
        return _known(tuple(each.cases for each in protocols().values()))
    return _cases(tables_of(path))


def load_assumptions(path: Path | None = None) -> tuple[Assumption, ...]:
    """Return the assumptions that the tables list, as `load_cases` does the cases."""
    if path is None:
        return _known_assumptions(tuple(each.cases for each in protocols().values()))
    return _assumptions(tables_of(path))


@cache
def _known(paths: tuple[Path, ...]) -> tuple[Case, ...]:
    """Read the tables of the known protocols once: while a process lives they stay as they are."""
    return _cases(paths)


def _cases(paths: Iterable[Path]) -> tuple[Case, ...]:
    cases: dict[str, Case] = {}
    for table in map(CaseTable, paths):
        for case in table.cases():
            if case.name in cases:
                raise UsageError(f"{table.path}: there are two cases {case.name}: rename one.")
            cases[case.name] = case
    return tuple(cases.values())


@cache
def _known_assumptions(paths: tuple[Path, ...]) -> tuple[Assumption, ...]:
    return _assumptions(paths)


def _assumptions(paths: Iterable[Path]) -> tuple[Assumption, ...]:
    return tuple(each for path in paths for each in CaseTable(path).assumptions())


def tables_of(path: Path) -> list[Path]:
    """Return the table, or all tables in the folder."""
    found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not found:
        raise UsageError(f"{path} has no .toml: name a table, or a folder of tables.")
    return found


def select(
    cases: Iterable[Case],
    *,
    names: Iterable[str] = (),
    tier: str = "quick",
    modelled: bool = False,
) -> tuple[Case, ...]:
    """Return the cases that the names mean; without names, all of the tier and of those within it.

    A case's name means it in any tier; a protocol's name or a glob means its cases of the tier.
    With `modelled`, only cases that have a model and a whole graph are chosen.
    """
    known = {
        case.name: case for case in cases if not (modelled and (case.made_of or case.simulate))
    }
    within = TIERS[: TIERS.index(tier) + 1]
    if wanted := tuple(names):
        return meant(
            wanted,
            known,
            by_protocol(known.values()),
            usual=lambda case: case.tier in within,
            unusual="choose another --tier",
        )
    found = tuple(case for case in known.values() if case.tier in within)
    if not found:
        raise UsageError(f"No case is of the tier {tier}: choose another --tier.")
    return found


def protocols_in(words: Iterable[str], cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the protocols among the words."""
    known = by_protocol(cases)
    return tuple(name for word in words if (name := word.replace("-", "_")) in known)


def by_protocol(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Return the names of each protocol's cases."""
    found: dict[str, list[str]] = {}
    for case in cases:
        found.setdefault(case.protocol, []).append(case.name)
    return found
