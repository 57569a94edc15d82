"""`raincheck audit`: every kind of evidence, gathered into one page that can be signed.

It runs the other verbs as processes of their own, two side by side, so that each result can be
reproduced alone. The steps pass evidence on through a store that belongs to this audit alone;
evidence gathered earlier is not trusted, except with `--reuse`. `evidence.verdicts` then says what
the results amount to.
"""

import argparse
import json
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition

from raincheck.conformance.cases.tables import TIERS, load_assumptions, load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.basis import Step
from raincheck.conformance.evidence.folder import Evidence, Outcome, Ui
from raincheck.conformance.evidence.verdicts import compile_basis
from raincheck.conformance.outcome import EXIT_CODES, INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.registry import offering, protocols
from raincheck.conformance.report.auditpage import audit_html
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.tools.sidebyside import side_by_side
from raincheck.conformance.ui import Steps

from .run import usual_run

RECORDED = "{run}/traces"
GENERATED = "{generate}/traces"
"""In a step's words: the folders in which the steps `run` and `generate` leave traces."""
CACHE = "cache"
"""The audit's own store, while it runs."""
SIDE_BY_SIDE = 2
GRACE = 10.0
"""Seconds that a step has, when the audit is interrupted, to end the processes that it started."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A step of the audit: the verb and its words, and the step that must be done before it."""

    name: str
    words: tuple[str, ...]
    after: str = ""


def plans(tier: str, seed: int, runs: int) -> tuple[Plan, ...]:
    """Return the steps that the protocols here offer, the longest first, so that the last two end
    at about the same time.
    """
    seeded = ("--seed", str(seed))
    field = usual_run()
    source, traces = ("generate", GENERATED) if field is None else ("run", RECORDED)
    found = [Plan("check", ("check", "--tier", tier, "--sanity", "--keep-graphs", *seeded))]
    if field is not None:
        usual = getattr(field.module("run"), "AUDIT", ())
        found.append(Plan("run", ("run", field.name, *usual, "--runs", str(runs), *seeded)))
    if offering("binding"):
        spark = ("conform", traces, "--engine", "spark", *seeded)
        found.append(Plan("conform-spark", spark, after=source))
    if offering("model"):
        found.append(Plan("mirror", ("mirror", "--tier", tier, *seeded), after="check"))
    if offering("binding"):
        kept = ("--traces", GENERATED) if field is None else ()
        found.append(Plan("generate", ("generate", *kept, *seeded)))
    if any(each.mutants for each in protocols().values()):
        found.append(Plan("mutate", ("mutate", "--quick", *seeded)))
    if offering("proof"):
        found.append(Plan("prove", ("prove", *seeded)))
    if offering("binding"):
        found.append(Plan("conform", ("conform", traces, *seeded), after=source))
    return tuple(found)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `raincheck audit`."""
    parser.add_argument(
        "--tier",
        choices=TIERS,
        default="quick",
        help="check the cases of this tier and those before it (default: quick)",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=2,
        metavar="N",
        help="number of runs of real processes under faults (default: 2)",
    )
    parser.add_argument(
        "--skip", default="", metavar="STEP,…", help="omit these steps; the page says so"
    )
    parser.add_argument(
        "--reuse",
        action="store_true",
        help="reuse evidence of earlier runs if nothing that it depends on has changed",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="DIR",
        help="write the page of an earlier audit from its folder",
    )


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run every step, write the page, and return the outcome of all of them."""
    if args.runs < 1:
        raise UsageError(f"--runs is {args.runs}: it must be at least 1.")
    if args.source is not None and not args.source.is_dir():
        raise UsageError(f"--from {args.source} is no folder: name that of an earlier audit.")
    chosen = _chosen(args)
    again = _reproduce(args)
    if args.dry_run:
        for plan in chosen:
            ui.announce(shlex.join(_command(plan, args.out, reuse=args.reuse)))
        return Outcome("audit", (), again)
    evidence = Evidence("audit", args.out)
    if args.source is not None:
        steps = tuple(_earlier(plan, args.source) for plan in chosen)
    else:
        own = args.out / CACHE
        shutil.rmtree(own, ignore_errors=True)  # of an earlier audit in the same folder
        try:
            steps = _run_all(chosen, args.out, ui, reuse=args.reuse)
        finally:
            shutil.rmtree(own, ignore_errors=True)
    basis = compile_basis(steps, load_cases(), load_assumptions())
    outcome = Outcome("audit", basis.results(), again)
    evidence.write_text("report.html", audit_html(basis, outcome, args.source or args.out))
    evidence.finish(outcome)
    ui.say(f"The page: {args.out / 'report.html'}")
    return outcome


def _chosen(args: argparse.Namespace) -> tuple[Plan, ...]:
    known = plans(args.tier, args.seed, args.runs)
    skip = {name.strip() for name in args.skip.split(",") if name.strip()}
    if strange := sorted(skip - {plan.name for plan in known}):
        names = ", ".join(plan.name for plan in known)
        raise UsageError(f"--skip {strange[0]}: there is no such step; the steps are {names}.")
    if not (chosen := tuple(plan for plan in known if plan.name not in skip)):
        raise UsageError("--skip leaves no step to be done: name fewer.")
    return chosen


def _run_all(chosen: Sequence[Plan], out: Path, ui: Ui, *, reuse: bool) -> tuple[Step, ...]:
    """Run the steps, two at a time, each after the step that it needs; return them in order."""
    done: dict[str, Step] = {}
    waiting = list(chosen)
    changed = Condition()
    # Each step is a raincheck process with JVMs or members in process groups of their own.
    with Processes(grace=GRACE) as processes, ui.progress(len(chosen), "audit") as progress:

        def next_plan() -> Plan | None:
            """Wait for a step that can begin; return None if none is left."""
            missing = {plan.name for plan in chosen}
            while waiting:
                for plan in waiting:
                    if plan.after not in missing - done.keys():
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
                    step = _run_one(plan, out, processes, reuse=reuse)
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


def _words(plan: Plan, out: Path) -> list[str]:
    places = {
        RECORDED: str(out / "run" / "traces"),
        GENERATED: str(out / "generate" / "traces"),
    }
    return [places.get(word, word) for word in plan.words]


def _command(plan: Plan, out: Path, *, reuse: bool = False) -> list[str]:
    words = [*_words(plan, out), *([] if reuse else ["--cache", str(out / CACHE)])]
    return [sys.executable, "-m", "raincheck", *words, "--out", str(out / plan.name)]


def _run_one(plan: Plan, out: Path, processes: Processes, *, reuse: bool) -> Step:
    command = _command(plan, out, reuse=reuse)
    started = time.monotonic()
    finished = processes.run([*command, "--quiet"], Path.cwd())
    (out / plan.name).mkdir(exist_ok=True)
    with suppress(OSError):
        (out / plan.name / "said.txt").write_text(finished.output, encoding="utf-8")
    if finished.code in EXIT_CODES.values() and (out / plan.name / "summary.json").is_file():
        return _read(plan, out, time.monotonic() - started)
    said = [line for line in finished.output.strip().splitlines() if line.strip()]
    problem = said[-1] if said else f"it ended with exit code {finished.code} and said nothing"
    return _missing(plan, out, problem, time.monotonic() - started)


def _earlier(plan: Plan, source: Path) -> Step:
    if not (source / plan.name / "summary.json").is_file():
        return _missing(plan, source, f"{source} has no complete evidence of it", 0.0)
    return _read(plan, source, None)


def _missing(plan: Plan, out: Path, problem: str, seconds: float) -> Step:
    return Step(
        plan.name,
        plan.words[0],
        _command_line(plan, out),
        INCONCLUSIVE,
        round(seconds, 1),
        plan.name,
        problem=problem,
    )


def _read(plan: Plan, out: Path, seconds: float | None) -> Step:
    try:
        text = (out / plan.name / "summary.json").read_text(encoding="utf-8")
        summary = json.loads(text)
        if seconds is None:
            seconds = float(summary["run"]["seconds"])
        return Step(
            plan.name,
            plan.words[0],
            _command_line(plan, out),
            _verdict(str(summary["verdict"])),
            round(seconds, 1),
            plan.name,
            tuple(summary["results"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        return _missing(plan, out, f"its summary.json cannot be read: {error}", seconds or 0.0)


def _verdict(word: str) -> str:
    return word if word in EXIT_CODES else VIOLATED


def _command_line(plan: Plan, out: Path) -> str:
    return shlex.join(["raincheck", *_words(plan, out)])


def _reproduce(args: argparse.Namespace) -> str:
    words = ["raincheck", "audit", "--tier", args.tier, "--runs", str(args.runs)]
    if args.skip:
        words += ["--skip", args.skip]
    if args.reuse:
        words += ["--reuse"]
    if args.source is not None:
        words += ["--from", str(args.source)]
    return shlex.join([*words, "--seed", str(args.seed)])
