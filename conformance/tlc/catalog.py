"""spec/catalog.toml: the one list of what must hold, and of what must not.

Law of this file: a catalog that contradicts itself or the configurations that it names is refused
whole, with the case and the key in the sentence; nothing is ever skipped.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.errors import UsageError

from .cfgfile import read_cfg

HOLDS: Final = "holds"

TIERS: Final = ("quick", "full", "deep")
"""For every commit, for a release, for a night; each includes those before it."""

_TEXTS: Final = ("name", "protocol", "module", "cfg", "words", "expected", "tier", "rule")
_OPTIONAL_TEXTS: Final = ("flaw", "note")
_COUNTS: Final = ("distinct", "depth")
_KEYS: Final = frozenset((*_TEXTS, *_OPTIONAL_TEXTS, *_COUNTS, "properties", "made_of"))
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


@dataclass(frozen=True, slots=True)
class Case:
    """One question to TLC, and the answer that it must give."""

    name: str
    protocol: str
    module: Path
    cfg: Path
    words: str
    """The constants in words."""
    properties: tuple[str, ...]
    expected: str
    """"holds", or the name of the property that TLC must find violated."""
    tier: str
    rule: str
    """The rules of the seed that it speaks to, such as "R6, R7"."""
    flaw: str = ""
    note: str = ""
    distinct: int | None = None
    depth: int | None = None
    made_of: tuple[str, ...] = ()
    """The protocols whose specifications run together in it. Such a case is TLC's alone: it has no
    model, since each of these has one of its own."""


def spec_folder() -> Path:
    """Return the folder with the specifications, as it was installed."""
    folder = files("raincheck.spec")
    if not isinstance(folder, Path):
        raise UsageError("raincheck is installed inside an archive: install it into a folder.")
    return folder


def load_catalog(path: Path | None = None) -> tuple[Case, ...]:
    """Return the cases of a catalog, ours unless another is named; its files are beside it."""
    path, content = _content(path)
    tables = content.get("case")
    if not isinstance(tables, list) or not tables:
        raise UsageError(f"{path}: a catalog is a list of [[case]] tables, at least one.")
    cases: dict[str, Case] = {}
    for number, table in enumerate(tables, 1):
        case = _case(table, path, number)
        if case.name in cases:
            raise UsageError(f"{path}: there are two cases {case.name}: rename one.")
        cases[case.name] = case
    return tuple(cases.values())


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a specification takes for granted, and whose promise it is."""

    name: str
    protocol: str
    layer: str
    words: str
    evidence: tuple[str, ...] = ()
    """The properties of field traces that discharge it; none while nobody does."""
    note: str = ""


def load_assumptions(path: Path | None = None) -> tuple[Assumption, ...]:
    """Return the assumptions that a catalog lists, ours unless another is named."""
    path, content = _content(path)
    found = []
    for number, table in enumerate(content.get("assumption", []), 1):
        try:
            evidence = table.pop("evidence", [])
            if not all(isinstance(text, str) for text in (*table.values(), *evidence)):
                raise TypeError("its values must be texts")
            found.append(Assumption(**table, evidence=tuple(evidence)))
        except (TypeError, AttributeError) as error:
            raise UsageError(f"{path}, assumption {number}: {error}.") from error
    return tuple(found)


def _content(path: Path | None) -> tuple[Path, dict[str, Any]]:
    path = path or spec_folder() / "catalog.toml"
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"Cannot read {path} ({error.strerror}): name a catalog.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}.") from error
    if not {"case"} <= content.keys() <= {"case", "assumption"}:
        raise UsageError(
            f"{path}: a catalog is a list of [[case]] and [[assumption]] tables and nothing else."
        )
    return path, content


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


def _case(table: Any, path: Path, number: int) -> Case:
    name = table.get("name") if isinstance(table, dict) else None
    where = f"{path}, case {name if isinstance(name, str) and name else number}"
    if not isinstance(table, dict):
        raise UsageError(f"{where}: it must be a [[case]] table.")
    if unknown := sorted(table.keys() - _KEYS):
        raise UsageError(f"{where}: {unknown[0]} is no key of a case.")
    for key in _TEXTS:
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise UsageError(f"{where}: {key} must be a text.")
    for key in _OPTIONAL_TEXTS:
        if not isinstance(table.get(key, ""), str):
            raise UsageError(f"{where}: {key} must be a text.")
    for key in _COUNTS:
        count = table.get(key)
        if count is not None and (type(count) is not int or count < 1):
            raise UsageError(f"{where}: {key} must be a number of at least 1.")
    properties = table.get("properties")
    if (
        not isinstance(properties, list)
        or not properties
        or not all(isinstance(each, str) for each in properties)
    ):
        raise UsageError(f"{where}: properties must be a list of names.")
    made_of = table.get("made_of", [])
    if not isinstance(made_of, list) or not all(isinstance(each, str) for each in made_of):
        raise UsageError(f"{where}: made_of must be a list of protocols.")
    if not set(table["name"]) <= _NAME_CHARACTERS:  # it becomes the name of a file
        raise UsageError(f"{where}: a name has small letters, digits, '-', '_' and '.' only.")
    if table["tier"] not in TIERS:
        raise UsageError(f"{where}: tier must be one of {', '.join(TIERS)}.")
    if table["expected"] not in (HOLDS, *properties):
        raise UsageError(f"{where}: expected must be {HOLDS} or one of its properties.")
    for key in _COUNTS:
        if key in table and table["expected"] != HOLDS:
            raise UsageError(f"{where}: {key} is pinned only for a case that holds.")
    module = path.parent / f"{table['module'].removesuffix('.tla')}.tla"
    cfg = path.parent / table["cfg"]
    for file in (module, cfg):
        if not file.is_file():
            raise UsageError(f"{where}: there is no file {file}.")
    _agrees(where, cfg, properties)
    texts = {key: table.get(key, "") for key in ("name", "protocol", "words", "expected", "tier")}
    return Case(
        **texts,
        module=module,
        cfg=cfg,
        properties=tuple(properties),
        rule=table["rule"],
        flaw=table.get("flaw", ""),
        note=table.get("note", ""),
        distinct=table.get("distinct"),
        depth=table.get("depth"),
        made_of=tuple(made_of),
    )


def _agrees(where: str, cfg: Path, properties: list[str]) -> None:
    """The catalog must not claim what TLC is not asked, nor the other way round."""
    asked = read_cfg(cfg)
    names = {*asked.names("INVARIANT"), *asked.names("PROPERTY")}
    if missing := sorted(set(properties) - names):
        raise UsageError(f"{where}: {cfg.name} does not ask for {missing[0]}.")
    if extra := sorted(names - set(properties)):
        raise UsageError(f"{where}: {cfg.name} asks for {extra[0]}, which properties lacks.")
