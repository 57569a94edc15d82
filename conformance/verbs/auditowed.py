"""Whether the evidence of an audit's steps is whole, and of the steps that the audit plans.

Each step has to have left what its verb owes for its words; nothing of it may have changed since;
and steps that speak of the same runs must say the same of them.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.cases.tables import HOLDS
from raincheck.conformance.evidence.basis import Entry, Step
from raincheck.conformance.evidence.cells import ENGINES
from raincheck.conformance.evidence.checksum import altered
from raincheck.conformance.evidence.folder import INCOMPLETE
from raincheck.conformance.evidence.identity import some
from raincheck.conformance.evidence.owed import Owes, fault_in
from raincheck.conformance.evidence.plans import Plan
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.registry import project

from .mirror import LEFT_OUT

RUN: Final = "run"
CONFORM: Final = "conform"


def words_of(plan: Plan, out: Path) -> list[str]:
    """Return the words of the step, with the folders of the steps before it."""
    return [re.sub(r"^\{(.+)\}/", lambda found: f"{out / found[1]}/", each) for each in plan.words]


def unsound(plan: Plan, out: Path, summary: Mapping[str, Any], verdict: str) -> str:
    """Return why the summary in the step's folder is not what the step must have left, or ""."""
    if (out / plan.name / INCOMPLETE).exists():
        return "another run of it was begun in its folder and has not ended"
    found = altered(out / plan.name, summary)
    if not found and verdict != VIOLATED:  # a failure may name the command that shows it alone
        found = _of_other_words(plan, out, str(summary["reproduce"]))
    left_out = [str(each["name"]) for each in summary.get(LEFT_OUT, ())]
    return found or fault_in(owes(plan, out), summary["results"], left_out)


def owes(plan: Plan, out: Path) -> Owes:
    """Return the results that the step owes."""
    verb, words = plan.words[0], tuple(words_of(plan, out)[1:])
    # The traces tell what is owed of them; of all else the catalog does, which stays as it is.
    return _owes(verb, words) if verb == CONFORM else _known(verb, words, project())


@cache
def _known(verb: str, words: tuple[str, ...], _project: Path | None) -> Owes:
    return _owes(verb, words)


def _owes(verb: str, words: Sequence[str]) -> Owes:
    found: Owes = import_module(f".{verb}", __package__).owed(_parsed(verb, words))
    return found


def reproduced(plan: Plan, out: Path) -> str:
    """Return the command by which the step's summary says how it is had again, "" if unknown."""
    verb, *words = words_of(plan, out)
    return str(import_module(f".{verb}", __package__).reproduce(_parsed(verb, words)))


def _parsed(verb: str, words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    import_module(f".{verb}", __package__).add_arguments(parser)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--out", type=Path, default=Path())
    return parser.parse_args(words)


def _of_other_words(plan: Plan, out: Path, said: str) -> str:
    wanted = reproduced(plan, out)
    if not wanted or _placeless(plan, said) == _placeless(plan, wanted):
        return ""
    return f"it was made as `{said}`, and not as `{wanted}`"


def _placeless(plan: Plan, command: str) -> list[str]:
    """Return the words of a command, wherever the folders of the steps before it are."""
    words = shlex.split(command)
    ends = [Path(step, "traces") for step in plan.after]
    return [next((str(e) for e in ends if Path(w).parts[-2:] == e.parts), w) for w in words]


# ---------------------------------------------------------------------- steps beside each other


def beside_each_other(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps; a judge of traces that says something else of the runs than these do, or
    than the other judge, has a problem.
    """
    sound = [step for step in steps if not step.problem and not step.left_out]
    judges = [step for step in sound if step.name in ENGINES]
    recorded = [entry for step in sound if step.verb == RUN for entry in step.results]
    problems = {step.name: _apart(step, judges, recorded) for step in judges}
    return tuple(_with(step, problems.get(step.name, "")) for step in steps)


def _with(step: Step, problem: str) -> Step:
    verdict = INCONCLUSIVE if problem and step.verdict == HOLDS else step.verdict
    return replace(step, verdict=verdict, problem=step.problem or problem)


def _apart(step: Step, judges: Iterable[Step], recorded: Iterable[Entry]) -> str:
    mine = {_key(entry) for entry in step.results}
    for other in judges:
        if lacking := [name for name, protocol in map(_key, other.results)
                       if (name, protocol) not in mine]:  # fmt: skip
            return f"it has no result of {some(lacking)}, of which {other.name} has one"
    return "; ".join(_other_events(step, recorded))


def _other_events(step: Step, recorded: Iterable[Entry]) -> Iterator[str]:
    """Yield each run of which the step has judged more or fewer events than the run recorded."""
    for run in recorded:
        if "events" in run and "plan" in run:
            prefix, events = f"{run['name']}: ", int(run["events"])
            judged = [entry for entry in step.results if str(entry["name"]).startswith(prefix)]
            count = sum(int(entry.get("events", 0)) for entry in judged)
            if count != events:
                yield f"it judged {count} events of {run['name']}, which recorded {events}"


def _key(entry: Entry) -> tuple[str, str]:
    return str(entry["name"]), str(entry["protocol"])
