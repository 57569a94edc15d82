"""A case: one question to TLC, with the values of all constants, and the expected answer."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from raincheck.model.machine.tlavalue import format
from raincheck.model.machine.values import Value

from .cfgfile import Configuration, parse_cfg

HOLDS: Final = "holds"

NOT_FOUND: Final = "not found"
"""The answer to a case that is simulated: it is no evidence that anything holds."""

TIERS: Final = ("quick", "full", "deep")
"""The tiers: for every commit, for a release, for a night; each includes those before it."""

_WIDTH: Final = 96


@dataclass(frozen=True, slots=True)
class Simulation:
    """Random behaviours that TLC makes of a case that is too large to be checked whole."""

    behaviours: int
    depth: int
    """The most steps of a behaviour."""
    seed: int


@dataclass(frozen=True, slots=True)
class Case:
    """One question to TLC, and the answer that it must give."""

    name: str
    protocol: str
    module: Path
    words: str
    """A description of the instance."""
    properties: tuple[str, ...]
    expected: str
    """"holds", the name of the property that TLC must find violated, or "not found" in simulated
    behaviours.
    """
    tier: str
    rule: str
    """The rules of the original design that it is about, such as "R6, R7"."""
    flaw: str = ""
    note: str = ""
    mirrored: str = ""
    """The tier in which `mirror` compares the case, if that is not the case's own tier."""
    distinct: int | None = None
    depth: int | None = None
    made_of: tuple[str, ...] = ()
    """The protocols whose specifications run together in it. Such a case has no model, since each
    of these protocols has one of its own.
    """
    specification: str = "Spec"
    constants: Mapping[str, Value] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    """The constants that are replaced by definitions."""
    temporal: frozenset[str] = frozenset()
    """Its properties that are not invariants."""
    idle: frozenset[str] = frozenset()
    """Its properties and constants whose exercise it does not reach: of these it is no evidence."""
    simulate: Simulation | None = None
    """The behaviours in which nothing may be found violated, if its expected answer is that."""
    unmodelled: frozenset[str] = frozenset()
    """The invariants that TLC alone evaluates: the model has none of that name."""
    implemented: Mapping[str, Value] = field(default_factory=dict)
    """The protocol's rules, with the values of the implemented protocol."""
    assumed: Mapping[str, Value] = field(default_factory=dict)
    """The assumptions on the protocol's surroundings, with the values that grant them."""
    open: Mapping[str, str] = field(default_factory=dict)
    """Properties of its protocol that are known to break beyond all cases, and what breaks them."""
    table: str = ""
    """Its place: the table's file and the case."""
    deadlock: bool = False
    """Whether a state without a step is a violation."""

    @property
    def as_implemented(self) -> bool:
        """Whether it is about the implemented protocol: all rules have the implemented values.

        The surrounding layers are not part of the protocol: an assumption may be taken back.
        """
        return not self.unlike

    @property
    def unlike(self) -> tuple[str, ...]:
        """The rules whose values differ from the implemented protocol's."""
        return _other(self.constants, self.implemented)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The assumptions that are not granted."""
        return _other(self.constants, self.assumed)

    @property
    def cfg_name(self) -> str:
        """The name of the file for a TLA+ user who opens the case by hand."""
        return f"{self.name}.cfg"

    def cfg_text(self) -> str:
        """Return the configuration for TLC, as a TLA+ user would write it."""
        return "".join(f"{line}\n" for line in self._lines())

    def configuration(self) -> Configuration:
        """Return the parsed configuration."""
        return parse_cfg(self.cfg_text(), self.table or self.cfg_name, Path(self.cfg_name))

    def _lines(self) -> Iterator[str]:
        answer = "holds" if self.expected == HOLDS else f"{self.expected} is violated"
        if self.simulate is not None:
            answer = f"no violation is found in {self.simulate.behaviours:,} random behaviours"
        words = f"{self.words[:1].upper()}{self.words[1:]}. {self.note}".rstrip()
        for text in (words, f"Expected: {answer}."):
            yield from (f"\\* {line}" for line in textwrap.wrap(text, _WIDTH))
        yield f"SPECIFICATION {self.specification}"
        if self.constants or self.replaced:
            yield from ("", "CONSTANTS")
        yield from (f"  {name} <- {by}" for name, by in self.replaced.items())
        around = {*self.implemented, *self.assumed}
        for title, names in (
            ("Who there is, and what may happen.", [k for k in self.constants if k not in around]),
            ("Assumptions on what is around.", list(self.assumed)),
            ("The rules.", list(self.implemented)),
        ):
            if names:
                yield from ("", f"  \\* {title}")
            for name in names:
                other = name in self.unlike
                text = f"  {name} = {format(self.constants[name])}"
                yield f"{text}  \\* not as implemented" if other else text
        yield ""
        invariants = [name for name in self.properties if name not in self.temporal]
        temporal = [name for name in self.properties if name in self.temporal]
        for keyword, names in (("INVARIANTS", invariants), ("PROPERTIES", temporal)):
            if names:
                yield f"{keyword} {' '.join(names)}"


def _other(found: Mapping[str, Value], wanted: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple(name for name, value in wanted.items() if found.get(name) != value)


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption of a specification, and the layer that promises it."""

    name: str
    protocol: str
    layer: str
    words: str
    evidence: tuple[str, ...] = ()
    """The results of the audit that discharge it; empty while none does."""
    note: str = ""
    only: tuple[str, ...] = ()
    """The properties of the protocol that rest on it, if the others do not."""
    cost: str = ""
    """The loss if it is wrong; an assumption that nothing discharges must say so."""
