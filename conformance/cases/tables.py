"""The tables of what must hold, and of what must not; one per protocol.

Law of this file: all tables are read, or none; no two cases have one name.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols.registry import protocols

from .case import HOLDS, TIERS, Assumption, Case
from .table import CaseTable

__all__ = [
    "HOLDS",
    "TIERS",
    "Assumption",
    "Case",
    "load_assumptions",
    "load_cases",
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
    """Return the cases of the named table or folder of tables, else of all known protocols."""
    cases: dict[str, Case] = {}
    for table in _tables(path):
        for case in table.cases():
            if case.name in cases:
                raise UsageError(f"{table.path}: there are two cases {case.name}: rename one.")
            cases[case.name] = case
    return tuple(cases.values())


def load_assumptions(path: Path | None = None) -> tuple[Assumption, ...]:
    """Return the assumptions that the tables list, as `load_cases` does the cases."""
    return tuple(each for table in _tables(path) for each in table.assumptions())


def _tables(path: Path | None) -> list[CaseTable]:
    if path is None:
        return [CaseTable(each.cases) for each in protocols().values()]
    return [CaseTable(each) for each in tables_of(path)]


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
    protocol: str = "",
    tier: str = "quick",
    modelled: bool = False,
) -> tuple[Case, ...]:
    """Return the named cases, or those of the tier and the tiers within it, of one protocol.

    `modelled`: only those that have a model.
    """
    if modelled:
        cases = [case for case in cases if not case.made_of]
    known = {case.name: case for case in cases}
    if protocol and protocol not in {case.protocol for case in known.values()}:
        have = ", ".join(sorted({case.protocol for case in known.values()}))
        raise UsageError(f"The catalog has no protocol {protocol}: it has {have}.")
    if wanted := tuple(dict.fromkeys(names)):
        for name in wanted:
            if name not in known:
                raise UsageError(f"The catalog has no case {name}: {_nearest(name, known)}")
        found = tuple(known[name] for name in wanted)
    else:
        within = TIERS[: TIERS.index(tier) + 1]
        found = tuple(case for case in known.values() if case.tier in within)
    found = tuple(case for case in found if not protocol or case.protocol == protocol)
    if not found:
        raise UsageError(f"No case of {protocol or 'the catalog'} is meant: choose another tier.")
    return found


def _nearest(name: str, known: Mapping[str, Case]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(known)}."
