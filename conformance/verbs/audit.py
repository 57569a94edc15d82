"""`raincheck audit`: every kind of evidence, gathered into one page that can be signed.

It runs the other verbs as processes of their own, two side by side, so that each result can be
reproduced alone. The steps pass evidence on through a store that belongs to this audit alone;
evidence gathered earlier is not trusted, except with `--reuse`. `evidence.verdicts` then says what
the results amount to.
"""

import argparse
import json
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from raincheck.conformance.cases.tables import TIERS, load_assumptions, load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.basis import Basis, Step
from raincheck.conformance.evidence.changes import changes
from raincheck.conformance.evidence.folder import RUNS as RUNS_FOLDER
from raincheck.conformance.evidence.folder import SUMMARY, Evidence, Outcome, Result, Ui
from raincheck.conformance.evidence.identity import differing, digest_of, identity, some, sources
from raincheck.conformance.evidence.plans import RUNS, Plan, plans
from raincheck.conformance.evidence.reading import json_in
from raincheck.conformance.evidence.summary import headline, summary_of
from raincheck.conformance.evidence.verdicts import compile_basis
from raincheck.conformance.outcome import INCONCLUSIVE
from raincheck.conformance.replay.mutants import load_mutants
from raincheck.conformance.report.auditpage import audit_html
from raincheck.conformance.report.places import placed
from raincheck.conformance.report.sarif import sarif_json, workflow_commands

from . import auditparts, auditsteps
from .auditowed import beside_each_other
from .auditsteps import CACHE, IDENTITY, PLAN
from .doctor import examine

FULL = "latest-full.json"
"""Beside the folders of the runs: which was the latest audit that had all of its evidence."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `raincheck audit`."""
    parser.add_argument(
        "--tier",
        choices=TIERS,
        default="quick",
        help="quick: what fits into minutes; full: all evidence, within hours (default: quick)",
    )
    parser.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="number of runs of each group of real processes under faults (default: "
        f"{RUNS['quick']}, in the other tiers {RUNS['full']})",
    )
    parser.add_argument(
        "--skip",
        default="",
        metavar="STEP,…",
        help="leave these steps out; the audit is then incomplete, and says so",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="STEP,…",
        help="do these steps alone, as one part of an audit; --from puts the parts together",
    )
    parser.add_argument(
        "--reuse",
        action="store_true",
        help="reuse evidence of earlier runs if nothing that it depends on has changed; the page "
        "says so",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the interrupted audit in the folder of --out: the steps that had ended "
        "stand, if sources, tools and options are the same; the page says so",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="write the page of an earlier audit of the same sources from its folder, or of one "
        "that was made in parts from their folders",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="SUMMARY",
        help="also say what has changed since the audit that left this summary.json",
    )


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run every step, write the page, and return the outcome of all of them."""
    args.runs = RUNS[args.tier] if args.runs is None else args.runs
    if args.runs < 1:
        raise UsageError(f"--runs is {args.runs}: it must be at least 1.")
    for each in args.source or ():
        if not each.is_dir():
            raise UsageError(f"--from {each} is no folder: name that of an earlier audit.")
    if args.resume and args.source is not None:
        raise UsageError("--resume runs the steps that are left and --from runs none: choose one.")
    known, skip = _chosen(args)
    chosen = tuple(plan for plan in known if plan.name not in skip)
    again = _reproduce(args)
    old = _old(args.against)
    if args.dry_run:
        for plan in chosen:
            ui.announce(shlex.join(auditsteps.command_of(plan, args.out, reuse=args.reuse)))
        return Outcome("audit", (), again)
    steps: tuple[Step, ...]
    folder = args.out
    if args.source is not None:
        found = _identity()
        found |= auditparts.made_by(chosen, args.source, found["sources"])
        auditparts.check(chosen, args.source, args.out)
        evidence = Evidence("audit", args.out)
        folder = auditparts.together(chosen, args.source, args.out)
        steps = auditsteps.earlier(chosen, folder, found["sources"])
    else:
        evidence, steps, found = _gather(args, chosen, ui)
    by_name = {step.name: step for step in beside_each_other(steps)}
    steps = tuple(by_name.get(plan.name) or auditsteps.left_out(plan, args.out) for plan in known)
    basis = compile_basis(steps, load_cases(), load_assumptions(), load_mutants())
    results = (*_same_sources(steps, folder, found["sources"]), *basis.results())
    outcome = Outcome("audit", placed(results, basis, folder), again)
    outcome = _with_summary(outcome, basis, args, found, old)
    evidence.write_text("report.html", audit_html(basis, outcome, folder, args.out))
    evidence.write_text("results.sarif", sarif_json(outcome))
    evidence.finish(outcome)
    _keep_full(outcome, basis, args, found)
    if os.environ.get("GITHUB_ACTIONS"):
        for line in workflow_commands(outcome):
            ui.announce(line)
    ui.say(f"The page: {args.out / 'report.html'}")
    return outcome


def _gather(
    args: argparse.Namespace, chosen: tuple[Plan, ...], ui: Ui
) -> tuple[Evidence, tuple[Step, ...], dict[str, Any]]:
    """Run the steps, those that an interrupted audit has left to do; return what they found."""
    ended: dict[str, Step] = {}
    own = args.out / CACHE
    if args.resume:
        found = _identity()
        ended = auditsteps.interrupted(chosen, args.out, found)
        ui.say(f"{len(ended)} of {len(chosen)} steps had ended before the interruption.")
        evidence = Evidence("audit", args.out)
        reuse = args.reuse or auditsteps.reused(args.out)
        evidence.write_text(IDENTITY, auditsteps.identity_text(found, reuse=reuse))
    else:
        evidence = Evidence("audit", args.out)  # what is interrupted from now on has begun
        found = _identity()
        evidence.write_text(IDENTITY, auditsteps.identity_text(found, reuse=args.reuse))
        evidence.write_text(PLAN, auditsteps.plan_text(chosen))
        shutil.rmtree(own, ignore_errors=True)  # of an earlier audit in the same folder
    steps = auditsteps.run_all(chosen, args.out, ui, reuse=args.reuse, ended=ended)
    shutil.rmtree(own, ignore_errors=True)  # an interrupted audit keeps it, to be resumed
    return evidence, steps, found


def _identity() -> dict[str, Any]:
    """Return which sources and tools this audit speaks of."""
    return identity({each.name: str(each.figures.get("version", "")) for each in examine()})


def _with_summary(
    outcome: Outcome,
    basis: Basis,
    args: argparse.Namespace,
    found: dict[str, Any],
    old: dict[str, Any] | None,
) -> Outcome:
    """Return the outcome with all that summary.json says beyond the results."""
    said = {
        "tier": args.tier,
        "seed": args.seed,
        "reused": args.reuse or any(map(auditsteps.reused, args.source or [args.out])),
        "resumed": bool(args.resume),
        "written_again_from": " ".join(map(str, args.source or ())),
        "against": str(args.against or ""),
        "latest_full": _latest_full(args.out),
    }
    head, more = summary_of(basis, said, found)
    if old is not None:
        new = {**head, **more, "verdict": outcome.verdict}
        head["changes"] = [list(each) for each in changes(old, new)]
    return replace(outcome, head=head, more=more, headline=headline(head))


def _chosen(args: argparse.Namespace) -> tuple[tuple[Plan, ...], set[str]]:
    """Return the steps of the audit, and the names of those to leave out."""
    known = plans(args.tier, args.seed, args.runs)
    names = [plan.name for plan in known]
    skip, only = _steps("--skip", args.skip, names), _steps("--only", args.only, names)
    if skip and only:
        raise UsageError(
            "--only names the steps to be done, --skip those to leave out: choose one."
        )
    if skip == set(names):
        raise UsageError("--skip leaves no step to be done: name fewer.")
    return known, set(names) - only if only else skip


def _steps(option: str, words: str, names: list[str]) -> set[str]:
    """Return the steps that an option names."""
    named = {name.strip() for name in words.split(",") if name.strip()}
    if strange := sorted(named - set(names)):
        raise UsageError(
            f"{option} {strange[0]}: there is no such step; the steps are {', '.join(names)}."
        )
    return named


def _old(path: Path | None) -> dict[str, Any] | None:
    """Return the summary of an earlier audit; raise UsageError if it is none."""
    if path is None:
        return None
    try:
        found = json_in(path)
        if found["verb"] == "audit" and {"schema", "properties", "cases"} <= found.keys():
            return dict(found)
        why = "it is no summary of an audit, or of one before summaries had a schema"
    except OSError as error:
        why = str(error.strerror)
    except (ValueError, KeyError, TypeError, AttributeError):
        why = "it is no summary.json"
    raise UsageError(f"--against {path}: {why}: name the summary.json of an audit.")


def _same_sources(
    steps: tuple[Step, ...], folder: Path, before: dict[str, str]
) -> tuple[Result, ...]:
    """Return a result for sources that changed while the audit ran; none if all are the same."""
    other = differing(before, sources(again=True))
    strange = auditsteps.strangers(steps, folder, digest_of(before))
    if not other and not strange:
        return ()
    words = [f"changed while the audit ran: {some(other)}"] if other else []
    words += [f"steps made from other sources: {some(strange)}"] if strange else []
    return (Result("sources", "all", INCONCLUSIVE, detail="; ".join(words)),)


def _keep_full(
    outcome: Outcome, basis: Basis, args: argparse.Namespace, found: dict[str, Any]
) -> None:
    """Remember the latest complete audit of more than the quick tier, for the pages that follow."""
    place = args.out.absolute().parent
    if args.tier == TIERS[0] or basis.incomplete or place.name != RUNS_FOLDER:
        return
    kept = {
        "folder": args.out.name,
        "tier": args.tier,
        "commit": found["commit"],
        "clean": found["clean"],
        "verdict": outcome.verdict,
    }
    (place / FULL).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _latest_full(out: Path) -> dict[str, Any]:
    """Return which was the latest complete audit of more than the quick tier, if it is there."""
    place = out.absolute().parent
    try:
        kept = dict(json_in(place / FULL))
        said = json_in(place / str(kept["folder"]) / SUMMARY)
        same = all(kept[key] == said[key] for key in ("tier", "verdict"))
        return kept if same and kept["commit"] == said["identity"]["commit"] else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _reproduce(args: argparse.Namespace) -> str:
    words = ["raincheck", "audit", "--tier", args.tier, "--runs", str(args.runs)]
    if args.skip:
        words += ["--skip", args.skip]
    if args.only:
        words += ["--only", args.only]
    if args.reuse:
        words += ["--reuse"]
    if args.source is not None:
        words += ["--from", *map(str, args.source)]
    if args.against is not None:
        words += ["--against", str(args.against)]
    return shlex.join([*words, "--seed", str(args.seed)])
