"""Witnesses: the planted faults that each kind of evidence has caught, so that it can be believed.

A verdict "holds" says something only if it could have been otherwise. Planted faults are the cases
in which a rule is taken back, the mutants of specifications and implementations, and the inputs
planted for each rule of the checkers. Any result of any verb may name what it has caught itself:
its figure `caught` is a list of words, and a theorem's figure `broken` counts the states that break
its promise and of which it is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from raincheck.conformance.cases.tables import HOLDS, NOT_FOUND, Case
from raincheck.conformance.replay.mutants import Mutant

from .basis import Entry, Fault, agrees

KINDS: Final = {"check": "TLC", "mirror": "mirror", "prove": "Z3", "generate": "code"}
"""The kind of evidence that a verb's results are."""
_OWN: Final = {
    "sequencer": ("bindings/sequencer", "trace/sequencer", "field/stack"),
    "raincore": ("bindings/raincore", "trace/ring", "field/ring"),
}
"""The folders of checkers that judge one protocol only; the others judge all alike."""
_INVARIANT: Final = re.compile(r"(\w+)\.(\w+) is violated")
"""A planted input that breaks an invariant of a protocol names both."""


def faults_of(
    by_name: Mapping[str, Mapping[str, Entry]], cases: Iterable[Case], mutants: Sequence[Mutant]
) -> tuple[Fault, ...]:
    """Return the planted faults that were tried, and whether each was caught."""
    cases = tuple(cases)
    return (
        *_taken_back(by_name, cases),
        *_mutated(by_name.get("mutate", {}), mutants),
        *_judged(by_name.get("judges", {}), cases),
        *_said(by_name),
    )


def witness(faults: Iterable[Fault], protocol: str, name: str, kind: str, *, exact: bool) -> str:
    """Return the first fault that this kind of evidence about the property has caught.

    With `exact`, only a fault that is about this property counts; else also one that is about every
    step of the protocol, or of all protocols alike.
    """
    caught = [f for f in faults if f.kind == kind and f.caught and f.protocol in (protocol, "")]
    about = [fault for fault in caught if fault.about == name and fault.protocol == protocol]
    general = [] if exact else [fault for fault in caught if not fault.about]
    general.sort(key=lambda fault: fault.protocol != protocol)
    return next((fault.name for fault in (*about, *general)), "")


def _taken_back(
    by_name: Mapping[str, Mapping[str, Entry]], cases: Iterable[Case]
) -> Iterator[Fault]:
    """Yield the cases that TLC found broken, and the models in which the same is broken."""
    for case in cases:
        if case.expected in (HOLDS, NOT_FOUND):
            continue
        checked = by_name.get("check", {}).get(case.name)
        if checked is not None:
            yield Fault(
                f"case {case.name}",
                case.protocol,
                "TLC",
                case.expected,
                agrees(checked),
                case.words,
            )
        mirrored = by_name.get("mirror", {}).get(case.name)
        if mirrored is not None and "violation_depth" in mirrored:
            yield Fault(
                f"case {case.name} in the model",
                case.protocol,
                "mirror",
                case.expected,
                agrees(mirrored),
                case.words,
            )


def _mutated(entries: Mapping[str, Entry], mutants: Sequence[Mutant]) -> Iterator[Fault]:
    """Yield the mutants: of a specification about one property, of code about all steps."""
    known = {mutant.name: mutant for mutant in mutants}
    for entry in entries.values():
        if "killed_by" not in entry:
            continue
        mutant = known.get(str(entry["name"]))
        of_spec = mutant is not None and mutant.of_spec
        yield Fault(
            f"mutant {entry['name']}",
            str(entry["protocol"]),
            "TLC" if of_spec else "code",
            mutant.breaks if mutant is not None and of_spec else "",
            agrees(entry) and bool(entry["killed_by"]),
            mutant.shows if mutant is not None else str(entry.get("undone", "")),
        )


def _judged(entries: Mapping[str, Entry], cases: Iterable[Case]) -> Iterator[Fault]:
    """Yield the inputs that are planted for the rules of the checkers."""
    promised: dict[str, set[str]] = {}
    for case in cases:
        promised.setdefault(case.protocol, set()).update(case.properties)
    for entry in entries.values():
        survivors = entry.get("survivors")
        if isinstance(survivors, Mapping):
            for name in entry.get("damages", ()):
                if _own(name) not in {"", *promised}:
                    continue
                reason = str(survivors.get(name, ""))
                yield Fault(name, "", "judges", "", name not in survivors, reason)
        if not entry.get("planted"):
            continue
        name, words = str(entry["name"]), str(entry["planted"])
        protocol, about = _own(name), ""
        if one := _INVARIANT.match(words):
            protocol, about = one[1], one[2]
        elif "violated" in words:
            known = promised.get(protocol, set())
            about = next((each for each in re.findall(r"\w+", words) if each in known), "")
        if protocol and protocol not in promised:
            continue
        yield Fault(
            name if name.startswith("step ") else f"rule {name}",
            protocol,
            "traces",
            about,
            agrees(entry),
            words,
        )


def _own(name: str) -> str:
    """Return the protocol whose checker a rule belongs to, "" if it judges all alike."""
    return next((p for p, own in _OWN.items() if any(f"/{each}" in name for each in own)), "")


def _said(by_name: Mapping[str, Mapping[str, Entry]]) -> Iterator[Fault]:
    """Yield what results themselves say that they have caught."""
    for step, entries in by_name.items():
        for entry in entries.values():
            if step == "prove" and "property" in entry and "broken" in entry:
                broken, about = int(entry["broken"]), str(entry["property"])
                yield Fault(
                    f"{broken} states that break {about}",
                    str(entry["protocol"]),
                    "Z3",
                    about,
                    agrees(entry) and broken > 0,
                    "the theorem is false of each of them",
                )
            if "recall" in entry and "accused" in entry:
                noticed = int(entry.get("noticed", 0))
                yield Fault(
                    f"{noticed} damaged runs",
                    str(entry["protocol"]),
                    "traces",
                    "",
                    agrees(entry) and noticed > 0,
                    f"recall {entry['recall']}, {entry['accused']} accused wrongly",
                )
            caught = entry.get("caught", ())
            for words in caught if isinstance(caught, list | tuple) else ():
                kind = KINDS.get(step, "traces")
                about = str(entry.get("property", ""))
                yield Fault(str(words), str(entry["protocol"]), kind, about, agrees(entry), "")


def kill_rates(faults: Iterable[Fault]) -> dict[str, tuple[int, int]]:
    """Return by kind of evidence how many faults were caught, and how many were tried."""
    found: dict[str, tuple[int, int]] = {}
    for fault in faults:
        caught, tried = found.get(fault.kind, (0, 0))
        found[fault.kind] = (caught + fault.caught, tried + 1)
    return found
