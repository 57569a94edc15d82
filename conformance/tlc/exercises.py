"""Exercises: states in which a property is really asked, and whether TLC reached one of each.

A property holds of itself where nothing ever happens: "two members deliver in the same order" says
nothing of a case in which only one delivers. So each property `P` of a specification has an
operator `PExercise` beside it, a predicate on states; and each constant `C` that lets something
happen, such as crashes, may have a `CExercise`: it has happened. TLC notes which of them it meets,
in the same run: an invariant that is always true registers the first state that satisfies each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from raincheck.conformance.cases.case import Case
from raincheck.conformance.cases.cfgfile import Configuration

from .spec import code_of, files_of

if TYPE_CHECKING:
    from .tlc import TlcResult

SUFFIX: Final = "Exercise"
"""The end of an exercise's name, behind the property's."""

MODULE: Final = "RaincheckExercises"
EXCUSED: Final = "Excused"
"""The end of the name of a temporal formula, behind that of a property of progress: it is said of
the behaviours of which the property says nothing, because the instance's bounds end them.
"""

IMPOSSIBLE: Final = f"{MODULE}Impossible"
"""The property of no behaviour: where it holds, no fair behaviour exists at all."""

ALL_EXCUSED: Final = f"{MODULE}AllExcused"
"""The property of the behaviours of which some property of progress says nothing."""

_NOTHING: Final[tuple[object, ...]] = (False, 0, frozenset())
"""The values of a constant that let nothing happen."""

_NOTE: Final = "raincheck exercise"
_NOTED: Final = re.compile(rf'<<"{_NOTE}", "(\w+)">>')


@dataclass(frozen=True, slots=True)
class Watch:
    """The exercises that a run looks out for, and the module that TLC runs for it."""

    module: str
    exercises: tuple[str, ...] = ()
    excuses: tuple[str, ...] = ()
    """The formulas that some fair behaviour must refute, in place of `IMPOSSIBLE`."""
    simulated: bool = False
    """Whether TLC makes random behaviours: what is set before their first step is then lost."""
    safe: bool = False
    """Whether the temporal properties ask for no progress: they speak of every behaviour's steps,
    so that none of them is vacuous for want of a fair one.
    """

    def text(self) -> str:
        """Return the module: the case's own, and an invariant for each exercise."""
        lines = [f"---- MODULE {MODULE} ----", f"EXTENDS {self.module}, TLC"]
        for number, name in enumerate(self.exercises, 1):
            unset = f"TLCSet({number}, FALSE)"
            lines += [
                f'{_start(number)} == TLCGet("level") < 3 => {unset}'
                if self.simulated
                else f"ASSUME {unset}",
                f"{_invariant(number)} ==",
                *([f"    {_start(number)} /\\"] if self.simulated else ()),
                f"    (TLCGet({number}) \\/ "
                f'({name} => TLCSet({number}, TRUE) /\\ PrintT(<<"{_NOTE}", "{name}">>)))',
            ]
        lines.append(f"{IMPOSSIBLE} == <>FALSE")
        if len(self.excuses) > 1:
            lines.append(f"{ALL_EXCUSED} == " + " \\/ ".join(self.excuses))
        return "\n".join([*lines, "====", ""])

    def asking(self, asked: Configuration) -> Configuration:
        """Return the configuration with the exercises' invariants beside its own."""
        names = " ".join(_invariant(number) for number in range(1, len(self.exercises) + 1))
        return asked.instead(f"{asked.text}\nINVARIANTS {names}\n") if names else asked

    def impossible(self, asked: Configuration) -> Iterator[tuple[Configuration, ...]]:
        """Yield groups of questions whether a fair behaviour exists of which each property of
        progress says something: it does if TLC refutes all of a group.

        One behaviour may be such for all properties, so it is looked for first.
        """
        if self.safe or not asked.names("PROPERTY"):
            return
        kept = asked.without_properties()
        each = tuple(asked.instead(f"{kept}PROPERTY {name}\n") for name in self.excuses)
        if len(each) > 1:
            yield (asked.instead(f"{kept}PROPERTY {ALL_EXCUSED}\n"),)
        yield each or (asked.instead(f"{kept}PROPERTY {IMPOSSIBLE}\n"),)


def _invariant(number: int) -> str:
    return f"{MODULE}{number}"


def _start(number: int) -> str:
    return f"{MODULE}Start{number}"


def watch_of(case: Case) -> Watch:
    """Return the exercises that a case must reach, as far as its specification has them."""
    defined = _defined(case.module)
    asked = (name for name in case.properties if name in defined)
    around = {*case.implemented, *case.assumed}
    may_happen = (
        name
        for name, value in case.constants.items()
        if name in defined and name not in around and value not in _NOTHING
    )
    names = tuple(name + SUFFIX for name in (*asked, *may_happen))
    excused = (name + EXCUSED for name in case.properties if name in case.temporal)
    excuses = tuple(name for name in excused if name in _named(case.module, EXCUSED))
    temporal = [name for name in case.properties if name in case.temporal]
    safe = bool(temporal) and all(_is_refinement(case.module, name) for name in temporal)
    return Watch(case.module.stem, names, excuses, case.simulate is not None, safe)


def _is_refinement(module: Path, name: str) -> bool:
    """Tell whether a property is another module's Spec, if that has no fairness: `Init /\\
    [][Next]_vars`.
    """
    codes = {path.stem: code_of(path.read_text(encoding="utf-8")) for path in files_of(module)}
    for code in codes.values():
        if said := re.search(rf"^{name} == (\w+)!(\w+)$", code, re.MULTILINE):
            instance, spec = said.groups()
            made = re.search(rf"^{instance} == INSTANCE (\w+)", code, re.MULTILINE)
            other = codes.get(made[1], "") if made else ""
            safe = rf"^{spec} == Init /\\ \[\]\[Next\]_\w+[ \t]*\n(?=\n*\S)"
            return re.search(safe, other, re.MULTILINE) is not None
    return False


def exercised_names(case: Case, result: TlcResult) -> list[str]:
    """Return the case's properties and constants whose exercise TLC reached."""
    return _reached(watch_of(case), result)


def _reached(watch: Watch, result: TlcResult) -> list[str]:
    return [name.removesuffix(SUFFIX) for name in watch.exercises if name in result.exercised]


def unexercised(case: Case, result: TlcResult) -> str:
    """Return why a case that holds says less than it seems to, in words, or ""."""
    defined = _defined(case.module)
    if not case.properties:
        return "it asks for no invariant and no property, so that nothing could be violated"
    if lacking := [name for name in case.properties if name not in defined]:
        return (
            f"{', '.join(lacking)}: no {SUFFIX} in {case.module.name} says when it is really asked"
        )
    watch = watch_of(case)
    seen = _reached(watch, result)
    watched = (name.removesuffix(SUFFIX) for name in watch.exercises)
    if missed := [name for name in watched if name not in seen and name not in case.idle]:
        states = result.distinct_states or result.generated
        return (
            f"vacuous: no state of {states} exercises {', '.join(missed)}; "
            "make the instance larger, or call them idle"
        )
    if busy := [name for name in seen if name in case.idle]:
        return f"exercises {', '.join(busy)}, which {case.table or 'the table'} calls idle"
    if not result.fair:
        return f"vacuous: {', '.join(sorted(case.temporal))}: no fair behaviour has to keep it"
    return ""


def _defined(module: Path) -> frozenset[str]:
    """Return the names that have an exercise in the module or in one that it needs."""
    return frozenset(name.removesuffix(SUFFIX) for name in _named(module, SUFFIX))


@cache
def _named(module: Path, end: str) -> frozenset[str]:
    """Return the definitions with that end in the module or in one that it needs."""
    code = "\n".join(code_of(path.read_text(encoding="utf-8")) for path in files_of(module))
    return frozenset(re.findall(rf"^(\w+{end})[ \t]*==", code, re.MULTILINE))


def reached(output: str) -> tuple[str, ...]:
    """Return the exercises that TLC's output notes, in its order."""
    return tuple(dict.fromkeys(_NOTED.findall(output)))
