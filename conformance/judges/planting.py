"""Planted inputs: an input of which one rule alone complains, and the words of the complaint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from raincheck.conformance.trace.findings import HOLDS, Finding
from raincheck.conformance.trace.judged import RunVerdict

from .muting import muted
from .rules import PACKAGE, Rule, Source

Complaints: TypeAlias = list[str]
"""All complaints of a checker, a sentence each; none about a good input."""
Ask: TypeAlias = Callable[[Path], Complaints]
"""Writes an input into that empty folder and judges it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """An input that breaks one rule."""

    good: Ask
    """The input before the fault: nobody complains."""
    bad: Ask
    """The input with the fault."""
    words: str
    """The complaint, made as long as the rule is there and never without it."""
    verdict: str = ""
    """The run's verdict then, if there is one."""
    then: str = ""
    """The complaint of another rule when this one is muted; empty if the input then passes."""
    breaks: type[Exception] | None = None
    """The exception raised without the rule, if the checker relies on it to continue."""
    why: str = ""
    """The reason why others complain too, or why the checker cannot continue."""


Planted: TypeAlias = Mapping[str, Plant]
"""Planted inputs, by the rule's key."""


class Shown(NamedTuple):
    """An input that shows what a checker does around its rules."""

    ask: Ask
    said: tuple[str, ...]
    """All that is said of it."""


def planted_for(source: Source) -> Planted:
    """Return the inputs planted for the rules of that module."""
    if not source.planted:
        return {}
    module = import_module(f"{PACKAGE}.judges.{source.planted}")
    return dict(module.PLANTED.get(source.module, {}))


def redundant_of(source: Source) -> dict[str, str]:
    """Return the rules of that module that no input could miss, and why."""
    module = import_module(f"{PACKAGE}.judges.{source.planted}")
    return dict(getattr(module, "REDUNDANT", {}).get(source.module, {}))


def unshown(plant: Plant, rule: Rule, ask: Callable[[Ask], Complaints]) -> str:
    """Return why the planted input does not show that the rule is there; "" if it does.

    `ask` judges an input; a good one may be asked for more than once.
    """
    if told := ask(plant.good):
        return f"somebody complains of the good input: {told}"
    told = ask(plant.bad)
    if not any(plant.words in each for each in told):
        return f"nobody says {plant.words!r}, but {told}"
    if plant.verdict and not any(each.endswith(f": {plant.verdict}") for each in told):
        return f"the verdict is not {plant.verdict}: {told}"
    if bool(plant.then or plant.breaks) != bool(plant.why):
        return "who else complains, and the reason why, must be given together"
    try:
        with muted(rule):
            told = ask(plant.bad)
    except Exception as error:  # noqa: BLE001 - a checker without a rule may do anything
        if plant.breaks is not None and type(error) is plant.breaks:
            return ""
        return f"without the rule there is {type(error).__name__}: {error}"
    if plant.breaks is not None:
        return f"without the rule {plant.breaks.__name__} is not raised: {told}"
    if any(plant.words in each for each in told):
        return f"without the rule somebody still says {plant.words!r}: {told}"
    if plant.then:
        wanted = any(plant.then in each for each in told)
        return "" if wanted else f"without the rule nobody says {plant.then!r}, but {told}"
    return f"without the rule others complain: {told}" if told else ""


def sentences(verdicts: Iterable[RunVerdict]) -> Complaints:
    """Return the findings about runs; a run that holds has none."""
    told = []
    for verdict in verdicts:
        if verdict.verdict != HOLDS:
            told.append(f"{verdict.run}: {verdict.verdict}")
        told += [sentence(finding) for finding in verdict.findings]
        told += [f"{Path(p.path).name} line {p.line}: {p.reason}" for p in verdict.problems]
    return told


def sentence(finding: Finding) -> str:
    """Return a finding with all its details."""
    who = f"{finding.node}.{finding.incarnation} event {finding.index} {finding.action}".strip()
    text = f"{finding.verdict} {finding.part}, {who}: {finding.reason}"
    for conjunct in finding.conjuncts:
        text += f"; false: {conjunct.text}"
    for each in finding.differences:
        text += f"; {each.name}: {_json(each.recorded)}, not {_json(each.expected)}"
    return text


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
