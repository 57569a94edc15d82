"""Mutants: each is one piece of damage to a specification or to an implementation.

Law of this file: the damage is done to copies, in a folder or in memory, never to the files
themselves; an edit that no longer fits its file is an error, never a mutant without effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.cases.table import read_table
from raincheck.conformance.cases.tables import tables_of
from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols.registry import protocols

from .steps import check_step

_KEYS: Final = frozenset(
    {
        "file",
        "find",
        "replace",
        "edits",
        "undo",
        "cases",
        "property",
        "quick",
        "shows",
        "schedule",
        "instance",
    }
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One piece of damage, and where it must be noticed."""

    name: str
    shows: str
    protocol: str
    """The protocol whose table has the mutant."""
    file: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    undo: Mapping[str, Any] | None = None
    cases: tuple[str, ...] = ()
    breaks: str = ""
    """For a mutant of the specification: the property that TLC must find violated."""
    quick: bool = False
    schedule: tuple[Mapping[str, Any], ...] = ()
    """Steps that show the mutant, for damage that lockstep meets too rarely; they start in
    `instance`.
    """
    instance: Mapping[str, Any] | None = None
    """The arguments of `Binding.world` that make the schedule's instance."""

    @property
    def of_spec(self) -> bool:
        """Whether the damage is to the specification."""
        return self.file.endswith(".tla")


def load_mutants(path: Path | None = None) -> tuple[Mutant, ...]:
    """Return the mutants of the named table or folder of tables, else of all known protocols."""
    mutants: dict[str, Mutant] = {}
    known = [each.mutants for each in protocols().values() if each.mutants is not None]
    for table in known if path is None else tables_of(path):
        content = read_table(table)
        if content.keys() != {"mutant"} or not isinstance(content["mutant"], dict):
            raise UsageError(f"{table} is no table of mutants: it must have [mutant.…] only.")
        for name, each in content["mutant"].items():
            if name in mutants:
                raise UsageError(f"{table}: there are two mutants {name}: rename one.")
            mutants[name] = _mutant(name, each, table)
    return tuple(mutants.values())


def _mutant(name: str, table: Any, path: Path) -> Mutant:
    where = f"{path}, mutant {name}"
    if not isinstance(table, dict):
        raise UsageError(f"{where}: it must be a [mutant.…] table.")
    if unknown := sorted(table.keys() - _KEYS):
        raise UsageError(f"{where}: {unknown[0]} is no key of a mutant: correct it.")
    try:
        edits = [(edit["find"], edit["replace"]) for edit in table.get("edits", ())]
        if "find" in table:
            edits.append((table["find"], table["replace"]))
        mutant = Mutant(
            name,
            table["shows"],
            path.stem,
            table.get("file", ""),
            tuple(edits),
            table.get("undo"),
            tuple(table["cases"]),
            table.get("property", ""),
            table.get("quick", False),
            tuple(table.get("schedule", ())),
            table.get("instance"),
        )
        for step in mutant.schedule:
            check_step(step)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error} is missing or wrong.") from error
    if bool(mutant.edits) == bool(mutant.undo) or bool(mutant.edits) != bool(mutant.file):
        raise UsageError(f"{where}: it needs either undo, or file with find and replace.")
    if bool(mutant.schedule) != (mutant.instance is not None):
        raise UsageError(f"{where}: schedule and instance go together: give both.")
    if mutant.of_spec != bool(mutant.breaks) or (mutant.of_spec and not mutant.cases):
        raise UsageError(
            f"{where}: cases and property are needed for a .tla, and property is for it alone."
        )
    return mutant


def damaged(text: str, mutant: Mutant) -> str:
    """Return the text with the mutant's edits; raise UsageError unless each fits exactly once."""
    for find, replace in mutant.edits:
        if text.count(find) != 1:
            raise UsageError(
                f"mutant {mutant.name}: {find!r} occurs {text.count(find)} times in {mutant.file}, "
                f"not once: bring spec/mutants/{mutant.protocol}.toml up to date."
            )
        text = text.replace(find, replace)
    return text


def write_spec(mutant: Mutant, source: Path, folder: Path) -> None:
    """Write all specifications of the source into the folder, with the mutant's file damaged."""
    for path in source.glob("*.tla"):
        text = path.read_text(encoding="utf-8")
        if path.name == mutant.file:
            text = damaged(text, mutant)
        (folder / path.name).write_text(text, encoding="utf-8")
    if not (folder / mutant.file).is_file():
        raise UsageError(
            f"mutant {mutant.name}: there is no specification {mutant.file}: correct it."
        )
