"""Show why something fails: the steps, the picture, the broken promise (`raincheck explain`).

The counterexample comes from the last check's cache, from a check's `.json` file, or else from TLC.
With `--figure` it draws a figure of the paper instead, from the model and from the code. With
`--serve` or `--page` it opens a page on one case or one recorded run (`conformance/explorer`).
"""

import argparse
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from raincheck.conformance.cases.bare import BareCase
from raincheck.conformance.cases.tables import HOLDS, TIERS, Case, load_cases, select
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.explorer.options import add_arguments as add_explorer
from raincheck.conformance.explorer.options import wants_page, words_of
from raincheck.conformance.figures.explain import PROTOCOL as RING
from raincheck.conformance.figures.explain import add_arguments as add_figure
from raincheck.conformance.figures.explain import explain_figure
from raincheck.conformance.outcome import INCONCLUSIVE
from raincheck.conformance.report.sequence import as_steps, as_text
from raincheck.conformance.tlc.counterexample import (
    FOLDER,
    read_counterexample,
    write_counterexample,
)
from raincheck.conformance.tlc.story import diagram_of
from raincheck.conformance.tlc.tlc import ERROR, VIOLATED, TlcResult
from raincheck.conformance.tools.processes import Processes

from .check import add_tool_arguments, cases_of, checker_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which counterexamples are explained."""
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="cases, protocols or globs; SPEC.tla and a .cfg file; the .json file of a "
        "counterexample; raincore --figure N; with --serve or --page one case, or recorded traces",
    )
    parser.add_argument(
        "--tier",
        choices=TIERS,
        default="quick",
        help="select the cases of protocols and globs (default: quick)",
    )
    parser.add_argument(
        "--steps", action="store_true", help="also list every variable that a step changes"
    )
    add_figure(parser)
    add_explorer(parser)
    add_tool_arguments(parser)


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Tell the story of each counterexample, and write it as text, picture and page."""
    if args.figure is not None:
        if args.names != [RING]:
            raise UsageError(f"--figure is for {RING}: raincheck explain {RING} --figure 12.")
        return explain_figure(args, ui)
    again = _reproduce(args)
    if wants_page(args):
        return _on_a_page(args, ui, again)
    kept = Path(args.names[0]) if args.names[0].endswith(".json") else None
    cases = cases_of(args) if kept is None else ()
    if args.dry_run:
        ui.announce(f"would ask TLC as: {again.replace(' explain ', ' check ', 1)} -n")
        return Outcome("explain", (), again)
    found = _asked(cases, args) if kept is None else _read(kept, args)
    for _, answer in found:
        if answer.verdict == ERROR:
            raise UsageError(answer.error)
    evidence = Evidence("explain", args.out)
    results = tuple(_explained(case, answer, args, evidence, ui) for case, answer in found)
    outcome = Outcome("explain", results, again)
    evidence.finish(outcome)
    return outcome


def _on_a_page(args: argparse.Namespace, ui: Ui, again: str) -> Outcome:
    # The page needs what `conform` needs as well, and the other ways to explain do not.
    from raincheck.conformance.explorer.opening import are_traces, explore_case, explore_traces

    if are_traces(args.names):
        return explore_traces(args, ui, again)
    if args.names[0].endswith(".json"):
        ((case, found),) = _read(Path(args.names[0]), args)
        return explore_case(args, ui, case, lambda _case: found, again)
    for name in args.names:  # no case is called so
        if "/" in name and not name.endswith((".tla", ".cfg")):
            raise UsageError(f"{name} holds no traces: name a folder or file of them, or a case.")
    cases = cases_of(args)
    if len(cases) != 1:
        names = ", ".join(case.name for case in cases[:5])
        raise UsageError(
            f"A page is of one case, and there are {len(cases)} ({names} …): name one."
        )
    return explore_case(args, ui, cases[0], lambda case: _asked([case], args)[0][1], again)


def _explained(
    case: Case, found: TlcResult, args: argparse.Namespace, evidence: Evidence, ui: Ui
) -> Result:
    figures: dict[str, object] = {"trace_length": len(found.trace)}
    figures |= {name: text for name, text in (("rule", case.rule), ("flaw", case.flaw)) if text}
    if found.verdict != VIOLATED or not found.trace:
        words = f" {case.words}." if case.words else ""
        ui.say(f"{case.name} holds: there is nothing to explain.{words}")
        return Result(case.name, case.protocol, HOLDS, case.expected, figures)
    diagram = diagram_of(case, found)
    ui.say(as_text(diagram))
    if args.steps or isinstance(case, BareCase):
        ui.say(as_steps(diagram))
    write_counterexample(evidence, case, found)
    ui.say(f"Picture: {args.out / FOLDER / f'{case.name}.html'}")
    verdict = found.violated or INCONCLUSIVE
    return Result(case.name, case.protocol, verdict, case.expected, figures)


def _reproduce(args: argparse.Namespace) -> str:
    words = ["raincheck", "explain", *args.names, *words_of(args)]
    words += ["--tier", args.tier] if args.tier != "quick" else []
    words += ["--catalog", str(args.catalog)] if args.catalog else []
    return shlex.join([*words, "--seed", str(args.seed)])


def _asked(cases: Sequence[Case], args: argparse.Namespace) -> list[tuple[Case, TlcResult]]:
    """Return the cases with TLC's answers; TLC is asked where no answer is cached."""
    with Processes() as processes:
        checker = checker_of(args, processes)
        return [(case, checker.ask(case).result) for case in cases]


def _read(path: Path, args: argparse.Namespace) -> list[tuple[Case, TlcResult]]:
    """Return the counterexample in the file, and its case."""
    found = read_counterexample(path)
    (case,) = select(load_cases(args.catalog), names=[_case_of(path)])
    return [(case, found)]


def _case_of(path: Path) -> str:
    name = json.loads(path.read_text(encoding="utf-8")).get("case")
    return name if isinstance(name, str) else path.stem
