"""The steps of an audit as processes: two side by side, each after those that it needs."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Condition
from typing import Any, Final

from raincheck.conformance.cases.tables import HOLDS
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.basis import Step
from raincheck.conformance.evidence.folder import INCOMPLETE, SUMMARY, Ui
from raincheck.conformance.evidence.identity import differing, digest_of, some
from raincheck.conformance.evidence.plans import Plan
from raincheck.conformance.evidence.reading import json_in, text_in
from raincheck.conformance.outcome import EXIT_CODES, INCONCLUSIVE, VIOLATED, Outcome, Result
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.tools.sidebyside import side_by_side
from raincheck.conformance.ui import Steps

from .auditowed import unsound, words_of

CACHE: Final = "cache"
"""The audit's own store, while it runs."""
IDENTITY: Final = "identity.json"
REUSED: Final = "reused"
PLAN: Final = "plan.json"
"""The words of each step, by which a resumed audit knows that it is the same one."""
SIDE_BY_SIDE: Final = 2
_OTHER_FORM: Final = (KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""What is raised where a JSON value does not have the members that it should have."""
GRACE: Final = 10.0
"""Seconds that a step has, when the audit is interrupted, to end the processes that it started."""


def run_all(
    chosen: Sequence[Plan], out: Path, ui: Ui, *, reuse: bool, ended: Mapping[str, Step]
) -> tuple[Step, ...]:
    """Run the steps that have not ended, two at a time, each after the steps that it needs; return
    all in order.
    """
    done = dict(ended)
    waiting = [plan for plan in chosen if plan.name not in done]
    changed = Condition()
    there = {plan.name for plan in chosen}
    # Each step is a raincheck process with JVMs or members in process groups of their own.
    with Processes(grace=GRACE) as processes, ui.progress(len(waiting), "audit") as progress:

        def next_plan() -> Plan | None:
            """Wait for a step that can begin; return None if none is left."""
            while waiting:
                for plan in waiting:
                    if not (set(plan.after) & there) - done.keys():
                        waiting.remove(plan)
                        return plan
                changed.wait()
            return None

        def run_some() -> None:
            while True:
                with changed:
                    plan = next_plan()
                if plan is None:
                    return
                try:
                    step = run_one(plan, out, processes, reuse=reuse)
                except BaseException:
                    with changed:
                        waiting.clear()
                        changed.notify_all()
                    raise
                with changed:
                    done[plan.name] = step
                    _tell(step, ui, progress)
                    changed.notify_all()

        work = [run_some] * SIDE_BY_SIDE
        side_by_side(work, len(work), each=lambda _: None, stop=processes.stop)
    return tuple(done[plan.name] for plan in chosen)


def _tell(step: Step, ui: Ui, progress: Steps) -> None:
    progress.advance(1, step.name)
    summary = step.problem or f"{step.as_expected} of {len(step.results)} results as expected"
    ui.say(f"{step.name}: {step.verdict} ({summary}; {step.seconds:.0f} s)")


def command_of(plan: Plan, out: Path, *, reuse: bool = False) -> list[str]:
    """Return the command of the step's process."""
    words = [*words_of(plan, out), *([] if reuse else ["--cache", str(out / CACHE)])]
    return [sys.executable, "-m", "raincheck", *words, "--out", str(out / plan.name)]


def run_one(plan: Plan, out: Path, processes: Processes, *, reuse: bool) -> Step:
    """Run one step, and read what it has left."""
    command = command_of(plan, out, reuse=reuse)
    if any((out / plan.name / name).exists() for name in (SUMMARY, INCOMPLETE)):
        shutil.rmtree(out / plan.name)  # of an earlier audit or part
    started = time.monotonic()
    finished = processes.run([*command, "--quiet"], Path.cwd())
    (out / plan.name).mkdir(exist_ok=True)
    with suppress(OSError):
        (out / plan.name / "said.txt").write_text(finished.output, encoding="utf-8")
    seconds = time.monotonic() - started
    if finished.code in EXIT_CODES.values() and (out / plan.name / SUMMARY).is_file():
        return read(plan, out, seconds)
    said = [line for line in finished.output.strip().splitlines() if line.strip()]
    problem = said[-1] if said else f"it ended with exit code {finished.code} and said nothing"
    return missing(plan, out, problem, seconds)


def plan_text(chosen: Sequence[Plan]) -> str:
    """Return what an audit writes of the steps that it is about to do."""
    return json.dumps({plan.name: plan.words for plan in chosen}, indent=2) + "\n"


def interrupted(chosen: Sequence[Plan], out: Path, identity: Mapping[str, Any]) -> dict[str, Step]:
    """Return the steps that an interrupted audit of the same kind has ended, by name.

    Raises UsageError if the folder has no such audit, or one of other sources, tools or steps.
    """
    if (out / SUMMARY).is_file() or not (out / INCOMPLETE).is_file():
        raise UsageError(f"--resume: {out} has no interrupted audit: name its folder with --out.")
    made = made_from(out, identity["sources"])
    if made.get("tools") != identity["tools"]:
        raise UsageError(f"--resume: the audit in {out} was begun with other tools: audit again.")
    try:
        planned = text_in(out / PLAN)
    except (OSError, ValueError) as error:
        raise UsageError(f"--resume: {out} does not say its steps: audit again.") from error
    if planned != plan_text(chosen):
        raise UsageError(
            f"--resume: the audit in {out} was begun with other steps: give the options that it "
            "was begun with."
        )
    digest, ended = digest_of(identity["sources"]), {}
    for plan in chosen:
        if (out / plan.name / SUMMARY).is_file() and sources_of(out / plan.name) == digest:
            step = read(plan, out, None)
            if not step.problem:
                ended[plan.name] = step
    return ended


def made_from(folder: Path, sources: Mapping[str, str]) -> dict[str, Any]:
    """Return the identity of the audit in the folder, which must be of the same sources."""
    try:
        made: dict[str, Any] = json_in(folder / IDENTITY)
        theirs: dict[str, str] = {str(name): each for name, each in made["sources"].items()}
    except (OSError, ValueError, *_OTHER_FORM) as error:
        raise UsageError(
            f"{folder} does not say of which sources its evidence is: audit again."
        ) from error
    if other := differing(theirs, sources):
        raise UsageError(
            f"The evidence of {folder} is of other sources ({some(other)}): audit again."
        )
    return made


def identity_text(identity: Mapping[str, Any], *, reuse: bool) -> str:
    """Return what an audit writes of the sources and tools that it speaks of, and of whether it may
    reuse evidence.
    """
    return json.dumps({**identity, REUSED: reuse}, indent=2) + "\n"


def reused(folder: Path) -> bool:
    """Tell whether the audit in the folder could reuse evidence that it had not made."""
    try:
        return bool(json_in(folder / IDENTITY)[REUSED])
    except (OSError, ValueError, *_OTHER_FORM):
        return False  # there is no such audit


def earlier(chosen: Sequence[Plan], source: Path, sources: dict[str, str]) -> tuple[Step, ...]:
    """Return the steps of an earlier audit; raise UsageError if one was made from other sources."""
    steps = []
    for plan in chosen:
        there = (source / plan.name / SUMMARY).is_file()
        step = read(plan, source, None) if there else _absent(plan, source)
        if there and not step.problem and sources_of(source / plan.name) != digest_of(sources):
            raise UsageError(
                f"{source / plan.name} is not of the audit in {source}: it was made from other "
                "sources: audit again."
            )
        steps.append(step)
    return tuple(steps)


def sources_of(folder: Path) -> str:
    """Return the digest of the sources that the evidence in the folder was made from."""
    try:
        return str(json_in(folder / SUMMARY)["run"]["sources"])
    except (OSError, ValueError, *_OTHER_FORM):
        return ""


def strangers(steps: Sequence[Step], out: Path, digest: str) -> list[str]:
    """Return the steps that were made from other sources than the audit."""
    return [
        step.name
        for step in steps
        if not step.problem and not step.left_out and sources_of(out / step.folder) != digest
    ]


def _absent(plan: Plan, source: Path) -> Step:
    return missing(plan, source, f"{source} has no complete evidence of it", 0.0)


def missing(plan: Plan, out: Path, problem: str, seconds: float) -> Step:
    """Return a step that has no results, or only those that it had found before it ended."""
    found: tuple[dict[str, Any], ...] = ()
    with suppress(OSError, ValueError, *_OTHER_FORM):
        partial = json_in(out / plan.name / INCOMPLETE)
        found = tuple(each for each in partial["results"] if each["verdict"] != "holds")
    return Step(
        plan.name,
        plan.words[0],
        _command_line(plan, out),
        INCONCLUSIVE,
        round(seconds, 1),
        plan.name,
        found,
        problem,
        plan.generated,
    )


def left_out(plan: Plan, out: Path) -> Step:
    """Return a step that was left out on demand."""
    return Step(
        plan.name,
        plan.words[0],
        _command_line(plan, out),
        INCONCLUSIVE,
        0.0,
        plan.name,
        generated=plan.generated,
        left_out=True,
    )


def read(plan: Plan, out: Path, seconds: float | None) -> Step:
    """Return the step with the results in its folder."""
    try:
        summary = json_in(out / plan.name / SUMMARY)
        if seconds is None:
            seconds = float(summary["run"]["seconds"])
        verdict = str(summary["verdict"])
        results = tuple(summary["results"])
        amount = Outcome(plan.name, tuple(map(Result.from_json, results)), "").verdict
        problem = unsound(plan, out, summary, verdict)
        if verdict != amount:  # results were taken out, or written over
            problem = f"it says {verdict}, and its results amount to {amount}"
            verdict = VIOLATED if VIOLATED in (verdict, amount) else INCONCLUSIVE
        elif problem and verdict == HOLDS:
            verdict = INCONCLUSIVE
        return Step(
            plan.name,
            plan.words[0],
            _command_line(plan, out),
            verdict if verdict in EXIT_CODES else VIOLATED,
            round(seconds, 1),
            plan.name,
            results,
            problem,
            plan.generated,
        )
    except (OSError, ValueError, *_OTHER_FORM) as error:
        return missing(plan, out, f"its summary.json cannot be read: {error}", seconds or 0.0)


def _command_line(plan: Plan, out: Path) -> str:
    return shlex.join(["raincheck", *words_of(plan, out)])
