"""The steps of an audit: which verbs it runs, with which words, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.conformance.cases.tables import TIERS
from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import offering, project, protocols

USUAL: Final = "stack"
"""The protocol that runs if none is named, if it has such a record; else the first that can run."""
DAMAGES: Final = 120
"""The number of damages of the checkers in the quick tier; in the others all are done."""
DAMAGED: Final = {"quick": 64, "full": 1_300, "deep": 1_300}
"""The number of recorded runs of each protocol that are damaged, by tier."""
RUNS: Final = {"quick": 2, "full": 20, "deep": 20}
"""The number of runs of real processes, by tier."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A step of the audit: the verb and its words, and the steps that must be done before it."""

    name: str
    words: tuple[str, ...]
    after: tuple[str, ...] = ()
    generated: bool = False
    """Whether the traces that it judges are those of generated walks."""
    traced: bool = True
    """Whether its processes record traces; else the run itself judges what they delivered."""


def traces_of(step: str) -> str:
    """Return the word that stands for the folder in which a step leaves traces."""
    return f"{{{step}}}/traces"


def usual_run() -> Protocol | None:
    """Return the protocol whose processes run if none is named, if any can."""
    there = {each.name: each for each in offering("run")}
    return there.get(USUAL) or next(iter(there.values()), None)


def plans(tier: str, seed: int, runs: int) -> tuple[Plan, ...]:
    """Return the steps that the protocols here offer, the longest first, so that the last two end
    at about the same time.
    """
    seeded = ("--seed", str(seed))
    quick = tier == TIERS[0]
    tiered = () if quick else ("--tier", tier)
    found = [Plan("check", ("check", "--tier", tier, "--sanity", "--keep-graphs", *seeded))]
    fields = _field_runs(runs, seeded, quick=quick)
    found += fields
    traced = tuple(plan.name for plan in fields if plan.traced)
    judged, generated = traced or ("generate",), not traced
    traces = tuple(map(traces_of, judged))
    if offering("binding"):
        spark = ("conform", *traces, "--engine", "spark", *seeded)
        found.append(Plan("conform-spark", spark, judged, generated=generated))
    if offering("model"):
        found.append(Plan("mirror", ("mirror", "--tier", tier, *seeded), ("check",)))
    if offering("binding"):
        kept = () if traced else ("--traces", traces_of("generate"))
        found.append(Plan("generate", ("generate", *tiered, *kept, *seeded)))
    if any(each.mutants for each in protocols().values()):
        found.append(Plan("mutate", ("mutate", *(["--quick"] if quick else []), *seeded)))
    if offering("proof"):
        # A second seed proves nothing more: it says that a proof is no luck of Z3's.
        found.append(Plan("prove", ("prove", *(["--seeds", "1"] if quick else []), *seeded)))
    if offering("binding"):
        if project() is None:  # a project's audit is of the project, not of the checkers
            damages = str(DAMAGES if quick else 0)
            found.append(Plan("judges", ("mutate", "--judges", "--damages", damages, *seeded)))
        damaged = str(DAMAGED.get(tier, DAMAGED["full"]))
        found.append(Plan("damage", ("mutate", "--traces", damaged, *seeded)))
        words = ("conform", *traces, *seeded)
        found.append(Plan("conform", words, judged, generated=generated))
    return tuple(found)


def _field_runs(runs: int, seeded: tuple[str, ...], *, quick: bool) -> list[Plan]:
    """Return a step for each group of real processes; the usual one's is called `run`.

    There are further ones where a module names such ways to run; they may say how often.
    """
    usual, found = usual_run(), []
    for each in sorted(offering("run"), key=lambda record: record is not usual):
        name = "run" if each is usual else f"run-{each.name}"
        module = each.module("run")
        words = ("run", each.name, *getattr(module, "AUDIT", ()), "--runs", str(runs), *seeded)
        found.append(Plan(name, words, traced=bool(getattr(module, "TRACED", True))))
        more: Mapping[str, tuple[str, ...]] = getattr(module, "QUICK" if quick else "FULL", {})
        for kind, options in more.items():
            words = ("run", each.name, "--runs", str(runs), *options, *seeded)
            found.append(Plan(f"{name}-{kind}", words))
    return found
