"""One table of cases, `spec/cases/<protocol>.toml`: worlds, rules, and each case's differences.

Law of this file: a table that contradicts itself is refused whole, with the file, the case and the
key in the sentence; nothing is skipped, and nothing may be given twice.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.errors import UsageError
from raincheck.model.machine.values import Value

from .case import HOLDS, NOT_FOUND, TIERS, Assumption, Case, Simulation
from .settings import Settings, same

_TOP: Final = frozenset({"module", "specification", "made_of", "temporal", "unmodelled"})
_SECTIONS: Final = frozenset({"fixed", "implemented", "assumed", "usual", "ask"})
_NAMED: Final = frozenset({"assumption", "rules", "world", "case", "open"})

_SAID: Final = frozenset(
    {
        "words",
        "ask",
        "holds",
        "breaks",
        "simulate",
        "idle",
        "rule",
        "flaw",
        "tier",
        "note",
        "mirror",
    }
)
_SET_UP: Final = frozenset({"world", "rules", "undone", "with", "differs"})
_KEYS: Final = _SAID | _SET_UP | {"like"}
_PER_CASE: Final = frozenset({"ask", "holds", "breaks", "simulate", "idle", "note"})
"""The keys that a case that is `like` another one does not take over."""

_CASE_NAME: Final = re.compile(r"[a-z0-9_.-]+")  # it becomes the name of a file


def read_table(path: Path) -> dict[str, Any]:
    """Return a file's content; raise UsageError if it is not TOML."""
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Cannot read {path} ({error.strerror}): name a table.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}.") from error


@lru_cache(maxsize=32)
def _parsed(text: str) -> dict[str, Any]:
    """Return what the text says; a verb reads each table several times, and changes none."""
    return tomllib.loads(text)


_MADE: Final[dict[tuple[Path, Path], tuple[dict[str, Any], tuple[Case, ...]]]] = {}
"""The cases of a table that was read, by its file and its module's, with the content they are of.

`_parsed` gives the same content for the same text, so that another text is another content.
"""


@dataclass(slots=True)
class CaseTable:
    """A table of cases, as it is being read."""

    path: Path
    content: dict[str, Any] = field(init=False)
    settings: Settings = field(init=False)
    asks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _used: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.content = content = read_table(self.path)
        if unknown := sorted(content.keys() - _TOP - _SECTIONS - _NAMED):
            raise self._wrong(f"{unknown[0]} is no part of a table of cases: correct it")
        for key in ("module", "specification"):
            if not isinstance(content.get(key), str) or not content[key].strip():
                raise self._wrong(f"{key} must be a text")
        for key in ("made_of", "temporal", "unmodelled"):
            self._names(content.get(key, []), str(self.path), key)
        for key in (*_SECTIONS, *_NAMED):
            if not isinstance(content.get(key, {}), dict):
                raise self._wrong(f"{key} must be a table")
        for name, words in content.get("open", {}).items():
            if not isinstance(words, str) or not words.strip():
                raise self._wrong(
                    f"open.{name} must be a text: what breaks the property, and where"
                )
        if not content.get("case"):
            raise self._wrong("it has no [case.…]: give at least one")
        self.settings = Settings(self.path, content)
        for name, lines in content.get("ask", {}).items():
            self.asks[name] = self._asked(lines, f"{self.path}, ask {name}")
        if not self.module.is_file():
            raise self._wrong(f"there is no file {self.module}: correct module")

    @property
    def protocol(self) -> str:
        """The protocol of the table, by the file's name."""
        return self.path.stem

    @property
    def module(self) -> Path:
        """The module of all its cases: beside the table, or in the folder above."""
        name = f"{str(self.content['module']).removesuffix('.tla')}.tla"
        beside = self.path.parent / name
        return beside if beside.is_file() else self.path.parent.parent / name

    def cases(self) -> list[Case]:
        """Return the cases; raise UsageError if the table contradicts itself.

        The same content gives the same cases: who gets them changes none.
        """
        key = (self.path, self.module)
        content, known = _MADE.get(key, ({}, ()))
        if content is not self.content:
            known = tuple(self._cases())
            _MADE[key] = (self.content, known)
        return list(known)

    def _cases(self) -> Iterable[Case]:
        tables: dict[str, Any] = self.content["case"]
        found = {name: self._case(name, table) for name, table in tables.items()}
        for name, table in tables.items():
            self._compare(name, table, found)
        self._all_used(found.values())
        asked = {name for case in found.values() for name in case.properties}
        if unknown := sorted(self.content.get("open", {}).keys() - asked):
            raise self._wrong(f"open.{unknown[0]} is asked in no case: correct the name")
        return found.values()

    def assumptions(self) -> list[Assumption]:
        """Return the assumptions of the specification."""
        found = []
        for name, table in self.content.get("assumption", {}).items():
            where = f"{self.path}, assumption {name}"
            try:
                lists = {
                    key: self._names(table.get(key, []), where, key) for key in ("evidence", "only")
                }
                texts = {key: value for key, value in table.items() if key not in lists}
                if not all(isinstance(text, str) for text in texts.values()):
                    raise TypeError("its values must be texts")
                fields: dict[str, Any] = {**texts, **lists}
                found.append(Assumption(name, self.protocol, **fields))
            except (TypeError, AttributeError) as error:
                raise UsageError(f"{where}: {error}.") from error
        return found

    # ------------------------------------------------------------------ one case

    def _case(self, name: str, table: Any) -> Case:
        where = self._where(name)
        said = self._said(name, table, where)
        asked, expected, pinned = self._answer(said, where)
        constants = self._constants(said, where)
        return Case(
            name=f"{self.protocol.replace('_', '-')}-{name}",
            protocol=self.protocol,
            module=self.module,
            open=self.content.get("open", {}),
            properties=asked,
            expected=expected,
            words=said["words"],
            tier=said["tier"],
            rule=said["rule"],
            flaw=said.get("flaw", ""),
            note=said.get("note", ""),
            mirrored=said.get("mirror", said["tier"]),
            distinct=pinned.get("distinct"),
            depth=pinned.get("depth"),
            made_of=tuple(self.content.get("made_of", ())),
            unmodelled=frozenset(self.content.get("unmodelled", ())) & set(asked),
            specification=self.content["specification"],
            constants=constants,
            replaced=self.settings.replaced,
            temporal=frozenset(self.content.get("temporal", ())) & set(asked),
            idle=self._idle(said, {*asked, *constants}, where),
            simulate=self._simulation(said, asked, where),
            implemented=self.settings.implemented,
            assumed=self.settings.assumed,
            table=where,
        )

    def _said(self, name: str, table: Any, where: str) -> dict[str, Any]:
        """Return the case's keys, and those of the case that it is like."""
        if not _CASE_NAME.fullmatch(name):
            raise UsageError(f"{where}: a name has small letters, digits, '-', '_' and '.' only.")
        if not isinstance(table, dict):
            raise UsageError(f"{where}: it must be a [case.…] table.")
        if unknown := sorted(table.keys() - _KEYS):
            raise UsageError(f"{where}: {unknown[0]} is no key of a case: correct it.")
        said = dict(table)
        if "like" in table:
            other = self.content["case"].get(table["like"])
            if not isinstance(other, dict) or "like" in other:
                raise UsageError(
                    f"{where}: like {table['like']} is no case without like: name one."
                )
            if twice := sorted(table.keys() & _SET_UP):
                raise UsageError(f"{where}: {twice[0]} comes from the case in like: remove it.")
            taken = {key: each for key, each in other.items() if key not in _PER_CASE}
            said = {**taken, **said}
        for key in ("words", "rule", "tier"):
            if key not in said:
                raise UsageError(f"{where}: {key} is missing: give it a text.")
            if not isinstance(said[key], str) or not said[key].strip():
                raise UsageError(f"{where}: {key} must be a text.")
        for key in ("flaw", "note", "differs", "breaks"):
            if not isinstance(said.get(key, ""), str):
                raise UsageError(f"{where}: {key} must be a text.")
        for key in ("tier", "mirror"):
            if said.get(key, said["tier"]) not in TIERS:
                raise UsageError(f"{where}: {key} must be one of {', '.join(TIERS)}.")
        return said

    def _answer(
        self, said: Mapping[str, Any], where: str
    ) -> tuple[tuple[str, ...], str, dict[str, int]]:
        """Return the properties, the expected answer, and the pinned counts."""
        if len(said.keys() & {"holds", "breaks", "simulate"}) != 1:
            raise UsageError(
                f"{where}: it either holds or breaks a property, or is simulated: give one key."
            )
        expected = said.get("breaks", NOT_FOUND if "simulate" in said else HOLDS)
        asked = self._asked(said.get("ask", [expected] if "breaks" in said else []), where)
        if not asked:
            raise UsageError(f"{where}: ask must name at least one property.")
        temporal = self.content.get("temporal", [])
        asked = (*(a for a in asked if a not in temporal), *(a for a in asked if a in temporal))
        if expected not in (HOLDS, NOT_FOUND, *asked):
            raise UsageError(f"{where}: breaks {expected}, which it does not ask: add it.")
        pinned = said.get("holds", {})
        if not isinstance(pinned, dict) or not pinned.keys() <= {"distinct", "depth"}:
            raise UsageError(f"{where}: holds may have distinct and depth only.")
        for key, count in pinned.items():
            if type(count) is not int or count < 1:
                raise UsageError(f"{where}: {key} must be a number of at least 1.")
        return asked, expected, pinned

    def _simulation(
        self, said: Mapping[str, Any], asked: Collection[str], where: str
    ) -> Simulation | None:
        """Return the behaviours to simulate: they say nothing of a property of progress."""
        if "simulate" not in said:
            return None
        raw = said["simulate"]
        if (
            not isinstance(raw, dict)
            or raw.keys() != {"behaviours", "depth", "seed"}
            or not all(type(each) is int and each > 0 for each in raw.values())
        ):
            raise UsageError(f"{where}: simulate needs behaviours, depth and seed, above 0.")
        if said["tier"] == TIERS[0]:
            raise UsageError(
                f"{where}: a {TIERS[0]} case is checked, not simulated: use {TIERS[1]}."
            )
        if late := sorted(set(asked) & set(self.content.get("temporal", ()))):
            raise UsageError(f"{where}: {late[0]} is temporal and cannot be simulated: remove it.")
        return Simulation(**raw)

    def _idle(self, said: Mapping[str, Any], known: Collection[str], where: str) -> frozenset[str]:
        """Return what the case does not exercise, by its own word."""
        idle = self._names(said.get("idle", []), where, "idle")
        if idle and "breaks" in said:
            raise UsageError(f"{where}: idle is for a case that holds: remove it.")
        for place, name in enumerate(idle):
            if name not in known or name in idle[:place]:
                raise UsageError(
                    f"{where}: idle has {name}, which is not a property that it asks or a constant,"
                    " or has it twice."
                )
        return frozenset(idle)

    def _asked(self, raw: Any, where: str) -> tuple[str, ...]:
        """Return the properties; a name in small letters means a set of them."""
        found: list[str] = []
        for name in self._names([raw] if isinstance(raw, str) else raw, where, "ask"):
            if name in self.asks:
                self._used.add(("ask", name))
                found += self.asks[name]
            elif name[:1].islower():
                raise UsageError(
                    f"{where}: ask {name} is not in [ask]: correct it or add it there."
                )
            else:
                found.append(name)
        if twice := [name for name in found if found.count(name) > 1]:
            raise UsageError(f"{where}: ask has {twice[0]} twice.")
        return tuple(found)

    def _constants(self, said: Mapping[str, Any], where: str) -> dict[str, Value]:
        self._used |= {(key, str(said[key])) for key in ("world", "rules") if key in said}
        return self.settings.values(said, where)

    # ------------------------------------------------------------------ all together

    def _compare(self, name: str, table: Mapping[str, Any], found: Mapping[str, Case]) -> None:
        """Check that an undone case differs from its repaired twin in one rule, or says why in
        more.
        """
        if "like" in table:
            return
        where, case = self._where(name), found[name]
        differs = bool(table.get("differs", "").strip())
        undone = table.get("undone")
        if undone is None:
            if "differs" in table:
                raise UsageError(f"{where}: differs is for a case that has undone: remove it.")
            if "undone" in name:
                raise UsageError(f"{where}: undone must name the rule that it takes back.")
            return
        rule = next(iter(undone)) if isinstance(undone, dict) else undone
        twins = (name.replace("-undone", "-repaired"), f"{name.partition('-undone')[0]}-repaired")
        twin = next((found[each] for each in twins if each != name and each in found), None)
        if twin is not None:
            more = [k for k, v in case.constants.items() if not same(v, twin.constants[k])]
        else:
            promised = {*self.settings.implemented, *self.settings.assumed}
            more = [key for key in table.get("with", {}) if key in promised]
        more = [key for key in more if key != rule]
        if more and not differs:
            of = f"from {twin.name}" if twin is not None else "in its rules"
            raise UsageError(f"{where}: it differs {of} in {more[0]} too: differs must say why.")
        if differs and not more:
            raise UsageError(f"{where}: it differs in {rule} alone: remove differs.")

    def _all_used(self, cases: Iterable[Case]) -> None:
        known: dict[str, Iterable[str]] = {
            "world": self.settings.worlds,
            "rules": self.settings.rules,
            "ask": self.asks,
        }
        for key, names in known.items():
            if idle := [name for name in names if (key, name) not in self._used]:
                raise self._wrong(f"no case uses {key} {idle[0]}: remove it")
        asked = {name for case in cases for name in case.properties}
        for key in ("temporal", "unmodelled"):
            if idle := [name for name in self.content.get(key, []) if name not in asked]:
                raise self._wrong(f"no case asks for {idle[0]}, which {key} has: remove it")

    def _names(self, raw: Any, where: str, key: str) -> tuple[str, ...]:
        if not isinstance(raw, list) or not all(isinstance(each, str) and each for each in raw):
            raise UsageError(f"{where}: {key} must be a list of names.")
        return tuple(raw)

    def _where(self, name: str) -> str:
        return f"{self.path}, case {name}"

    def _wrong(self, why: str) -> UsageError:
        return UsageError(f"{self.path}: {why}.")
