"""Show why something fails: the steps, the picture, the broken promise (`raincheck explain`).

The counterexample comes from the cache of the last check, from its `.json`, or else from TLC.
With `--figure` it draws a figure of the paper instead, from the model and from the code.
"""

import argparse
import json
import shlex
from pathlib import Path

from raincheck.conformance.cases.tables import HOLDS, Case, load_cases, select
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
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

from .check import add_tool_arguments, checker_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which counterexample."""
    parser.add_argument(
        "case",
        metavar="CASE",
        help="a case of the catalog, the .json file of a counterexample, or raincore --figure N",
    )
    parser.add_argument(
        "--steps", action="store_true", help="also list every variable that changes"
    )
    add_figure(parser)
    add_tool_arguments(parser)


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Tell the story of the counterexample, and write it as text, picture and page."""
    if args.figure is not None:
        if args.case != RING:
            raise UsageError(f"--figure is for {RING}: raincheck explain {RING} --figure 12.")
        return explain_figure(args, ui)
    if args.case == RING:
        raise UsageError(f"{RING} is a protocol: name one of its cases, or add --figure 12.")
    again = shlex.join(["raincheck", "explain", args.case, "--seed", str(args.seed)])
    if args.dry_run:
        ui.announce(f"would ask TLC as: {again.replace(' explain ', ' check --case ', 1)} -n")
        return Outcome("explain", (), again)
    case, found = _find(args)
    if found.verdict == ERROR:
        raise UsageError(found.error)
    evidence = Evidence("explain", args.out)
    figures: dict[str, object] = {"rule": case.rule, "trace_length": len(found.trace)}
    if case.flaw:
        figures["flaw"] = case.flaw
    if found.verdict != VIOLATED or not found.trace:
        ui.say(f"{case.name} holds: there is nothing to explain. {case.words}.")
        result = Result(case.name, case.protocol, HOLDS, case.expected, figures)
    else:
        diagram = diagram_of(case, found)
        ui.say(as_text(diagram))
        if args.steps:
            ui.say(as_steps(diagram))
        write_counterexample(evidence, case, found)
        ui.say(f"Picture: {args.out / FOLDER / f'{case.name}.html'}")
        verdict = found.violated or INCONCLUSIVE
        result = Result(case.name, case.protocol, verdict, case.expected, figures)
    outcome = Outcome("explain", (result,), again)
    evidence.finish(outcome)
    return outcome


def _find(args: argparse.Namespace) -> tuple[Case, TlcResult]:
    """The case and its counterexample, TLC being asked if nobody did so before."""
    cases = load_cases(args.catalog)
    if args.case.endswith(".json"):
        path = Path(args.case)
        found = read_counterexample(path)
        return select(cases, names=[_case_of(path)])[0], found
    case = select(cases, names=[args.case])[0]
    with Processes() as processes:
        answer = checker_of(args, processes).ask(case)
    return case, answer.result


def _case_of(path: Path) -> str:
    name = json.loads(path.read_text(encoding="utf-8")).get("case")
    return name if isinstance(name, str) else path.stem
