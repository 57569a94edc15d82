"""The record of a protocol: all that the verbs need to know of it.

A record is a table of a `raincheck.toml`:

    [protocol.two_phase_commit]
    cases = "spec/cases/two_phase_commit.toml"
    mutants = "spec/mutants/two_phase_commit.toml"
    model = "two_phase_commit.model"
    binding = "two_phase_commit.binding"

Only `cases` must be there. A verb for which a record offers nothing says so. Files are relative to
the folder of the `raincheck.toml`; modules are imported when a verb needs them and not before.

`links` names the links of the evidence that the record promises (LINKS); without it, they are those
of its modules. An audit calls a promised link without evidence incomplete, and names the others as
not offered. `circles` names circles of assumptions between protocols, and what breaks them:

    circles = [{ of = ["gms", "flush"], by = "case layers-crash" }]
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from raincheck.conformance.errors import Inconclusive, UsageError

_FILES: Final = ("cases", "mutants")
_RESULT: Final = re.compile(r"(case|proof) \S+")
MODULES: Final = {
    "model": "machine",
    "binding": "BINDING",
    "proof": "theory",
    "story": "tell",
    "run": "run",
}
"""The purpose of each module of a record, and the name that the module must define."""

LINKS: Final = ("specification", "model", "code", "traces", "proofs", "field")
"""The links of the evidence: TLC's answers, the model as the specification's mirror, the code in
step with the model, traces judged, theorems proved, and real processes.
"""
_NEEDED: Final = {"model": "model", "code": "binding", "traces": "binding", "proofs": "proof"}
"""The module without which a record cannot promise a link. Real processes may be those of another
record, whose groups run this protocol too.
"""

_LACKS: Final = {
    "model": "no model of its specification",
    "binding": "no binding of its model to an implementation",
    "proof": "no proof",
    "run": "no processes that can be run",
}


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle of assumptions between protocols, and the results that break it together."""

    of: tuple[str, ...]
    by: tuple[str, ...]
    """ "case NAME" for a composition that TLC checks, "proof NAME" for a result of `prove`. Each
    assumption in the circle must be asked by one of them.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """Everything that one protocol offers to the verbs."""

    name: str
    """The name, as in `raincheck check NAME`; the names of its cases begin with it."""
    cases: Path
    """Its table of cases. The module that the table names is beside it or in the folder above."""
    home: Path
    """The folder of the `raincheck.toml`; the files that mutants damage are relative to it."""
    mutants: Path | None = None
    """The table of mutants of its specification and its implementation, which must be noticed."""
    model: str = ""
    """A module with `machine(constants) -> Machine`, for `mirror` and for replay."""
    binding: str = ""
    """A module with `BINDING`: how the model and the core name the same things."""
    proof: str = ""
    """A module with `theory(basis=None) -> Theory`, for `prove`."""
    story: str = ""
    """A module that says in words what a step of a counterexample means (`tlc/story.py`)."""
    run: str = ""
    """A module with `add_arguments(parser)` and `run(args, ui) -> Outcome`: real processes."""
    links: tuple[str, ...] = ()
    """The links of the evidence that the record promises."""
    circles: tuple[Circle, ...] = ()
    """The circles of assumptions that its cases or its proof break."""

    def offers(self, what: str) -> bool:
        """Return whether the record has such a module: "model", "binding", "proof", "story" or
        "run".
        """
        return bool(getattr(self, what))

    def modules(self, *what: str) -> tuple[str, ...]:
        """Return the names of these modules, as far as the record has them."""
        return tuple(name for each in what if (name := getattr(self, each)))

    def module(self, what: str) -> ModuleType:
        """Import such a module; raise Inconclusive if the record has none, UsageError if it is
        wrong.

        A module that exists and fails while it is imported raises its own exception.
        """
        name: str = getattr(self, what)
        if not name:
            raise Inconclusive(
                f"{self.name} offers {_LACKS.get(what, f'no {what}')}: name it as `{what}` in "
                f"{self.where}."
            )
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            raise UsageError(
                f"{self.where}: {what} is {name}, but there is no module {error.name}: correct it."
            ) from error
        if not hasattr(found, MODULES[what]):
            raise UsageError(f"{self.where}: {name} has no {MODULES[what]}: define it.")
        return found

    def get(self, what: str) -> Any:
        """Return the one name in the module that the verb needs."""
        return getattr(self.module(what), MODULES[what])

    @property
    def where(self) -> str:
        """Return where the record is written, for use in sentences."""
        return f"{self.home / FILE}, protocol {self.name}"


FILE: Final = "raincheck.toml"

_KEYS: Final = {each.name for each in fields(Protocol)} - {"name", "home"}


def record_of(name: str, table: Any, home: Path) -> Protocol:
    """Return the record in a `[protocol.NAME]` table; raise UsageError if the table is wrong."""
    where = f"{home / FILE}, protocol {name}"
    if not name.replace("_", "").isalnum() or name != name.lower():
        raise UsageError(f"{where}: a name has small letters, digits and '_' only.")
    if not isinstance(table, Mapping):
        raise UsageError(f"{where}: it must be a [protocol.…] table.")
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"{where}: {key} is no key: choose from {', '.join(sorted(_KEYS))}.")
        if key not in ("links", "circles") and (not isinstance(value, str) or not value.strip()):
            raise UsageError(f"{where}: {key} must be a text.")
    if "cases" not in table:
        raise UsageError(f"{where}: cases must name the table of its cases.")
    said: dict[str, Any] = dict(table)
    for key in _FILES:
        if key in said:
            said[key] = home / said[key]
            if not said[key].is_file():
                raise UsageError(f"{where}: {key} is {said[key]}, which is no file: correct it.")
    if said["cases"].stem != name:
        raise UsageError(f"{where}: its table of cases must be called {name}.toml.")
    said["links"] = _links(table, where)
    said["circles"] = tuple(_circle(each, where) for each in _list(table, "circles", where))
    return Protocol(name=name, home=home, **said)


def _list(table: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = table.get(key, [])
    if not isinstance(found, list):
        raise UsageError(f"{where}: {key} must be a list.")
    return found


def _links(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the links that the record promises, or those of its modules; raise UsageError if it
    promises one that it cannot have.
    """
    offered = [link for link in LINKS if _NEEDED.get(link, "cases") in table]
    if "links" not in table:
        return tuple(link for link in offered if link != "field" or "run" in table)
    said = _list(table, "links", where)
    for link in said:
        if link not in LINKS:
            raise UsageError(f"{where}: links has {link}: choose from {', '.join(LINKS)}.")
        if link not in offered:
            raise UsageError(
                f"{where}: links has {link}, but {_NEEDED[link]} is missing: name it, or take the "
                "link away."
            )
    if "specification" not in said:
        raise UsageError(f"{where}: links lacks specification, which every record has: add it.")
    return tuple(link for link in LINKS if link in said)


def _circle(raw: Any, where: str) -> Circle:
    """Return one circle and what breaks it: one result, or several."""
    of = raw.get("of") if isinstance(raw, Mapping) else None
    by = raw.get("by") if isinstance(raw, Mapping) else None
    if not isinstance(of, list) or len(set(map(str, of))) < 2:
        raise UsageError(f"{where}: circles: of must name at least two protocols.")
    results = tuple(map(str, by)) if isinstance(by, list) else (str(by),)
    if not results or not all(_RESULT.fullmatch(each) for each in results):
        raise UsageError(f'{where}: circles: by must be "case NAME" or "proof NAME", or a list.')
    return Circle(tuple(map(str, of)), results)
