"""The cells of a property's row: what each kind of evidence says about the property.

Law of this file: evidence counts for the protocol that it is about, once, whatever the engines; an
instance counts only if it is of the implemented protocol; generated traces are not the field's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from raincheck.conformance.cases.tables import HOLDS, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED

from .basis import Cell, Entry, Step, agrees, excused

Named: TypeAlias = Mapping[str, Mapping[str, Entry]]
"""The results of each step, by their names."""
ENGINES: Final = ("conform", "conform-spark")
"""The steps that judge traces."""


@dataclass(frozen=True, slots=True)
class Found:
    """The results of all steps."""

    by_name: Named
    """The results of each step; those of all runs of real processes are together."""
    field: bool
    """Whether the traces that were judged are of real processes."""


def found_in(steps: Sequence[Step]) -> Found:
    """Put the results of the steps together by name."""
    by_name: dict[str, dict[str, Entry]] = {}
    for step in steps:
        if step.left_out or (step.problem and not step.results):
            continue
        mine = by_name.setdefault("run" if step.verb == "run" else step.name, {})
        for entry in step.results:
            name, protocol = str(entry["name"]), entry["protocol"]
            names = (name, f"{name} ({protocol})", f"{name} ({protocol}, {step.name})")
            mine[next(each for each in names if each not in mine)] = entry
    judged = [step for step in steps if step.name in ENGINES]
    return Found(by_name, not any(step.generated for step in judged))


def tlc_cell(
    holding: Sequence[Case], cases: Sequence[Case], name: str, checked: Mapping[str, Entry]
) -> Cell:
    """Return TLC's answers for the cases that promise the property."""
    good = [case for case in holding if agrees(checked[case.name])]
    if len(good) < len(holding):
        bad = [case for case in holding if case not in good]
        if against := [case for case in bad if not _undecided(checked[case.name], name)]:
            return Cell(VIOLATED, ", ".join(case.name for case in against))
        return Cell(INCONCLUSIVE, f"not decided by {', '.join(case.name for case in bad)}")
    holding = [case for case in holding if name not in case.idle]
    simulated = [case.simulate for case in holding if case.simulate is not None]
    holding = [case for case in holding if case.simulate is None]
    if simulated and not holding:
        made = sum(each.behaviours for each in simulated)
        return Cell(INCONCLUSIVE, f"not found in {made:,} behaviours")
    if not holding:
        return Cell(INCONCLUSIVE, f"asked in {len(good)} instances, exercised in none")
    states = sum(int(checked[case.name].get("distinct_states", 0)) for case in holding)
    broken = sum(1 for case in cases if case.expected == name)
    return Cell(HOLDS, f"{len(holding)} instances, {states:,} states; broken in {broken} cases")


def _undecided(entry: Entry, name: str) -> bool:
    """Tell whether TLC came to no answer, or found another property violated before this one."""
    found = str(entry.get("property") or entry["verdict"])
    return found == INCONCLUSIVE or found not in (name, VIOLATED)


def mirror_cell(holding: Sequence[Case], mirrored: Mapping[str, Entry]) -> Cell:
    """Return the comparisons of the graphs of these cases."""
    holding = [case for case in holding if case.simulate is None]
    there = [mirrored[case.name] for case in holding if case.name in mirrored]
    if not there:
        return Cell(INCONCLUSIVE, "no graph was compared")
    if not all(map(agrees, there)):
        return Cell(VIOLATED, "a graph differs")
    edges = sum(int(entry.get("edges", 0)) for entry in there)
    verdict = HOLDS if len(there) == len(holding) else INCONCLUSIVE
    return Cell(verdict, f"{len(there)} of {len(holding)} graphs equal, {edges:,} edges")


def proof_cell(proofs: Mapping[str, Entry] | None, name: str) -> Cell:
    """Return the results of `prove` that name the property."""
    silent = "not proved: bounded evidence only"
    found = [entry for entry in (proofs or {}).values() if speaks_of(entry, name)]
    if not found:
        return Cell(INCONCLUSIVE, silent if proofs is not None else "was not run")
    if any(entry["verdict"] == VIOLATED for entry in found):
        return Cell(VIOLATED, str(found[0].get("detail", "")).partition("\n")[0])
    if not all(entry["verdict"] == HOLDS for entry in found):
        return Cell(INCONCLUSIVE, str(found[0].get("detail", "")).partition("\n")[0])
    if not all(agrees(entry) for entry in (proofs or {}).values()):
        return Cell(INCONCLUSIVE, "the invariant it follows from is not proved")
    return Cell(HOLDS, "proved for any number of messages, views and members")


def code_cell(
    holding: Sequence[Case], cases: Sequence[Case], name: str, generated: Mapping[str, Entry] | None
) -> Cell:
    """Return what replay and lockstep say of the code: of the cases that ask for the property, and
    of the protocol as a whole.
    """
    if generated is None:
        return Cell(INCONCLUSIVE, "was not run")
    known = {case.name: case for case in cases}
    mine = [
        entry
        for entry in generated.values()
        if (case := known.get(str(entry["name"]))) is None or name in case.properties
    ]
    bad = [e for e in mine if not agrees(e) and not excused(e) and not _made(e)]
    if bad:
        undecided = all(entry["verdict"] == INCONCLUSIVE for entry in bad)
        names = ", ".join(str(entry["name"]) for entry in bad[:3])
        return Cell(INCONCLUSIVE if undecided else VIOLATED, names)
    replayed = [generated[case.name] for case in holding if case.name in generated]
    steps = sum(int(entry.get("steps", 0)) for entry in mine if "examples" in entry)
    covered = sum(int(entry.get("covered", 0)) for entry in replayed)
    if not covered and not steps:
        return Cell(INCONCLUSIVE, "nothing was replayed")
    return Cell(HOLDS, f"{covered:,} edges in {len(replayed)} instances; {steps:,} random steps")


def _made(entry: Entry) -> bool:
    """Tell whether a result only says that traces were recorded, or that they have another form."""
    return "walks" in entry and "folder" in entry and entry["verdict"] == INCONCLUSIVE


def speaks_of(entry: Entry, name: str) -> bool:
    """Tell whether the result is about this property."""
    said = str(entry["name"]).removesuffix(f" ({entry['protocol']})")
    of_protocol = f"{entry['protocol']}.{name}"
    endings = (f": {name}", f" {name}", f"-{name}", f"/{name}", f" {of_protocol}")
    return said in (name, of_protocol) or said.endswith(endings)
