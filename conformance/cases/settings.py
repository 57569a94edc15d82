"""The constants of a table of cases: the instance's world, the assumptions, the rules."""

import re
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.errors import UsageError
from raincheck.model.machine.values import Value

_CONSTANT: Final = re.compile(r"[A-Za-z_]\w*")
_PUT: Final = "<- "


def same(one: Value, other: Value) -> bool:
    """Tell whether two values are equal and of one type: TRUE is not 1."""
    return type(one) is type(other) and one == other


@dataclass(slots=True)
class Settings:
    """The constants that a table sets, and the values that a case gets from them."""

    path: Path
    content: InitVar[Mapping[str, Any]]
    fixed: dict[str, Value] = field(default_factory=dict)
    """The constants that all cases have."""
    replaced: dict[str, str] = field(default_factory=dict)
    """The definitions that replace constants."""
    implemented: dict[str, Value] = field(default_factory=dict)
    assumed: dict[str, Value] = field(default_factory=dict)
    usual: dict[str, Value] = field(default_factory=dict)
    worlds: dict[str, dict[str, Value]] = field(default_factory=dict)
    rules: dict[str, dict[str, Value]] = field(default_factory=dict)

    def __post_init__(self, content: Mapping[str, Any]) -> None:
        for name, raw in content.get("fixed", {}).items():
            if isinstance(raw, str) and raw.startswith(_PUT):
                self.replaced[name] = raw.removeprefix(_PUT).strip()
            else:
                self.fixed[name] = self._value(raw, f"{self.path}, fixed", name)
        seen = {**dict.fromkeys((*self.fixed, *self.replaced), "fixed")}
        for key, into in (
            ("implemented", self.implemented),
            ("assumed", self.assumed),
            ("usual", self.usual),
        ):
            for name, raw in content.get(key, {}).items():
                if name in seen:
                    raise UsageError(
                        f"{self.path}: {name} is in [{seen[name]}] and in [{key}]: give it once."
                    )
                seen[name] = key
                into[name] = self._value(raw, f"{self.path}, {key}", name)
        for name, raw in content.get("world", {}).items():
            where = f"{self.path}, world {name}"
            self.worlds[name] = self._changes(raw, where, {**self.usual, **self.assumed})
        for name, raw in content.get("rules", {}).items():
            self.rules[name] = self._changes(raw, f"{self.path}, rules {name}", self.implemented)

    def values(self, said: Mapping[str, Any], where: str) -> dict[str, Value]:
        """Return the values of all constants: the world's, the rules', and the case's own."""
        base = {**self.fixed, **self.usual, **self.assumed, **self.implemented}
        for key, known in (("world", self.worlds), ("rules", self.rules)):
            if key in said:
                name = said[key]
                if not isinstance(name, str) or name not in known:
                    raise UsageError(f"{where}: {key} {name} is not in this table: correct it.")
                base |= known[name]
        base |= self._undone(said, where)
        free = {name: value for name, value in base.items() if name not in self.fixed}
        return base | self._changes(said.get("with", {}), f"{where}, with", free)

    def _undone(self, said: Mapping[str, Any], where: str) -> dict[str, Value]:
        """Return the value of the one rule, or assumption, that is taken back."""
        if "undone" not in said:
            return {}
        undone = said["undone"]
        usual = {**self.assumed, **self.implemented}
        if isinstance(undone, dict):
            if len(undone) != 1:
                raise UsageError(f"{where}: undone names one rule: move the others to with.")
            return self._changes(undone, f"{where}, undone", usual)
        if undone not in usual:
            raise UsageError(f"{where}: undone {undone} is no rule and no assumption: correct it.")
        if not isinstance(usual[undone], bool):
            raise UsageError(f'{where}: say undone = {{ {undone} = "…" }}, with its other value.')
        if undone in said.get("with", {}):
            raise UsageError(f"{where}: {undone} is undone already: take it out of with.")
        return {undone: not usual[undone]}

    def _changes(self, raw: Any, where: str, base: Mapping[str, Value]) -> dict[str, Value]:
        """Return the values of a table that changes a base; each must differ from the base's."""
        if not isinstance(raw, dict):
            raise UsageError(f"{where}: it must be a table of constants.")
        found = {}
        for name, each in raw.items():
            if name not in base:
                near = get_close_matches(name, base, n=1)
                hint = f"did you mean {near[0]}, which the table has?" if near else "take it out."
                raise UsageError(f"{where}: {name} is no constant that may differ: {hint}")
            value = self._value(each, where, name)
            if type(value) is not type(base[name]):
                raise UsageError(f"{where}: {name} is of another kind than elsewhere: correct it.")
            if same(value, base[name]):
                raise UsageError(f"{where}: {name} has that value anyway: leave it out.")
            found[name] = value
        return found

    def _value(self, raw: Any, where: str, name: str) -> Value:
        if not _CONSTANT.fullmatch(name):
            raise UsageError(f"{where}: {name!r} is no name of a constant: correct it.")
        if isinstance(raw, list):
            values = [self._value(each, where, name) for each in raw]
            if len(set(values)) < len(values):
                raise UsageError(f"{where}: {name} names something twice: a list is a set.")
            return frozenset(values)
        if isinstance(raw, str) and raw.lower() in ("true", "false"):
            raise UsageError(
                f"{where}: {name} is the text {raw!r}: write {raw.lower()}, without quotes."
            )
        if isinstance(raw, str) and raw.startswith(_PUT):
            raise UsageError(f"{where}: {name} has {raw}: only [fixed] may have that.")
        if not isinstance(raw, bool | int | str):
            raise UsageError(f"{where}: {name} must be true or false, a number, a text or a list.")
        return raw
