"""`raincheck conform`: check recorded traces, or the delivery logs of any system.

The properties of a trace are reported beside whether it conforms. If the traced system says that
it lacks a repair, or that its views are not virtually synchronous (`"VirtualSynchrony": false`
among the header's constants), the run is judged as one of that design, which the first line names,
and a violation of a property that rests on what is lacking is inconclusive. With --strict it is a
violation all the same.
"""

import argparse
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from raincheck.conformance.deliveries.live_logs import LiveLogs
from raincheck.conformance.deliveries.logs import delivery_files
from raincheck.conformance.deliveries.properties import NAMES, Verdicts
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.importers.reading import log_files
from raincheck.conformance.importers.table import DELIVERIES, importer_of, listed
from raincheck.conformance.outcome import Outcome, Result
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.explaintrace import describe, describe_problem
from raincheck.conformance.trace.findings import (
    HOLDS,
    INCONCLUSIVE,
    VIOLATED,
    WORDS,
    Finding,
    Promise,
)
from raincheck.conformance.trace.inputs import place
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.live.live import Live
from raincheck.conformance.trace.located import located
from raincheck.conformance.trace.run import check_paths, sorted_out
from raincheck.conformance.trace.tracefile import trace_files
from raincheck.conformance.ui import Ui

from .following import (
    TRACE,
    Follower,
    listening,
    miscounted,
    refuse_following,
    sources,
    unconfirmed,
)
from .following import add_arguments as add_following
from .sparking import add_arguments as add_spark
from .sparking import only_paths, refuse, session_of, words_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from raincheck.conformance.spark.streaming import SparkStream

NEED_SYNCHRONY = frozenset(
    {
        "TotalOrder",
        "UniformTotalOrder",
        "Agreement",
        "UniformAgreement",
        "Integrity",
        "Fifo",
        "VirtualSynchrony",
        "sequencer.GapFree",
        "sequencer.Fresh",
    }
)
"""The properties that need virtual synchrony. Integrity and Fifo need it too: when a sender has
left the view its entry of receivedTable is gone, and a late duplicate passes.
"""
UNIFORM = frozenset({"UniformTotalOrder", "UniformAgreement"})
"""Not promised unless delivery is safe: else reported, but never counted against a run."""
SHOWN = 5
BRIEF_BELOW = 200_000_000
"""Bytes of traces up to which Spark is tuned to start fast, not to run long."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `raincheck conform`."""
    parser.add_argument(
        "paths",
        nargs="*",
        type=place,
        metavar="PATH",
        help="trace files, delivery logs, or folders of them; with --engine spark on any file "
        "system that Spark reads, such as hdfs://HOST/FOLDER; with --follow also unix:PATH or "
        "tcp:ADDRESS:PORT, to listen there",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "spark"),
        default="local",
        help="where to check: in this process or on Spark (default: local)",
    )
    add_spark(parser)
    parser.add_argument(
        "--log-format",
        default=TRACE,
        metavar="FORMAT",
        help="format of the files: trace (the default), deliveries, or another system's",
    )
    parser.add_argument("--list", action="store_true", help="list the log formats, and stop")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="report a violated property even if its assumption does not hold",
    )
    parser.add_argument(
        "--properties",
        default="",
        metavar="A,B",
        help=f"with delivery logs: check only these properties; choose from {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="with delivery logs: every log is complete to its member's end",
    )
    add_following(parser)


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Check the files and leave the evidence."""
    again = reproduce(args)
    if args.list:
        for line in listed():
            ui.announce(line)
        return Outcome("conform", (), again)
    if not args.paths:
        raise UsageError("the following arguments are required: PATH")
    if args.dry_run:
        ui.announce(again)
        return Outcome("conform", (), again)
    if args.log_format == TRACE and (args.properties or args.complete):
        raise UsageError(
            "--properties and --complete are for --log-format deliveries and other systems' logs."
        )
    refuse(args)
    refuse_following(args)
    if args.follow or args.stream:
        return _follow(args, ui)
    # A wrong path must not destroy the evidence that an earlier run left in the folder.
    if args.engine == "spark":
        here = [path for path in args.paths if isinstance(path, Path)]
        return _on_spark(args, ui, _files(args, here) if here else [], again)
    _files(args, only_paths(args.paths, "the local engine"))
    evidence = Evidence("conform", args.out)
    results, problems = _check(args, ui, evidence, None)
    return _outcome(ui, evidence, results, problems, again)


def _on_spark(args: argparse.Namespace, ui: Ui, files: list[Path], again: str) -> Outcome:
    """Check the files on Spark, which also reads those of other file systems."""
    known = all(isinstance(path, Path) for path in args.paths)
    brief = known and sum(path.stat().st_size for path in files) < BRIEF_BELOW
    # Local paths are known to be there, so an interruption from now on leaves what looks begun.
    begun = Evidence("conform", args.out) if known else None
    with session_of(args, ui, brief) as session:
        from raincheck.conformance.spark.remote import copied

        evidence = begun or Evidence("conform", args.out)
        results, problems = _check(args, ui, evidence, session)
        outcome = _outcome(ui, evidence, results, problems, again)
        if args.publish:
            copied(session, evidence.folder, args.publish)
    return outcome


def _follow(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Judge the traces or delivery logs while they are written."""
    args.paths = only_paths(args.paths, "--follow or --stream")
    if args.log_format == TRACE:
        return _follow_traces(args, ui)
    return _follow_logs(args, ui)


def _follow_logs(args: argparse.Namespace, ui: Ui) -> Outcome:
    there, places = sources(args.paths)
    if places:
        raise UsageError("Sockets are for traces: name the files or folders of the delivery logs.")
    asked = _asked(args)
    logs = LiveLogs(there, asked, args.complete, args.log_format)
    started = time.monotonic()
    # A wrong path must not destroy the evidence that is there.
    evidence = Evidence("conform", args.out)
    failing = partial(_broken, log_format=args.log_format)
    results: list[Result] = []
    problems: list[Problem] = []
    with ExitStack() as ends:
        stream: SparkStream[Verdicts] | None = None
        if args.stream:
            from raincheck.conformance.spark import followed, streaming

            session = ends.enter_context(session_of(args, ui, brief=True))
            here = str(Path.cwd())
            kind = followed.DeliveryLogs(tuple(asked), args.complete, args.log_format, here)
            checkpoint = args.checkpoint or args.out / "checkpoint"
            stream = streaming.SparkStream(session, there, checkpoint, kind)
        live = logs if stream is None else stream
        follower = Follower[Verdicts](live, args.on_violation, ui, failing)
        verdicts = follower.run()
    for log in verdicts:
        results += log_results(log, time.monotonic() - started, args.log_format)
        problems += log.problems
    results += unconfirmed(follower.told, (), results)
    if stream is not None:
        results += miscounted(stream.miscounted(verdicts))
    return _followed(args, ui, evidence, follower, results, problems)


def _follow_traces(args: argparse.Namespace, ui: Ui) -> Outcome:
    started = time.monotonic()
    there, places = sources(args.paths)
    checkpoint = args.checkpoint or args.out / "checkpoint"
    folder = (checkpoint if args.stream else args.out) / "received"
    # A wrong path must not destroy the evidence that is there.
    evidence = Evidence("conform", args.out)
    read = [*there, *([folder] if places else [])]
    failing = partial(_failing, strict=args.strict)
    with ExitStack() as ends:
        # What is sent meanwhile waits in files.
        receiver = listening(places, folder, ui, anew=not args.stream)
        if receiver is not None:
            ends.callback(receiver.close)
        stream: SparkStream[RunVerdict] | None = None
        if args.stream:
            from raincheck.conformance.spark import followed, streaming

            session = ends.enter_context(session_of(args, ui, brief=True))
            stream = streaming.SparkStream(session, read, checkpoint, followed.TRACES)
        live = Live(read) if stream is None else stream
        follower = Follower[RunVerdict](live, args.on_violation, ui, failing)
        follower.receiver = receiver
        verdicts = list(map(located, follower.run()))
    results, problems = _judged(verdicts, args, evidence, time.monotonic() - started)
    results += unconfirmed(follower.told, verdicts, results)
    if stream is not None:
        results += miscounted(stream.miscounted(verdicts))
    # Of the files, which stay, the same is said once more.
    args.paths = read
    return _followed(args, ui, evidence, follower, results, problems)


def _followed(
    args: argparse.Namespace,
    ui: Ui,
    evidence: Evidence,
    follower: Follower[Any],
    results: list[Result],
    problems: list[Problem],
) -> Outcome:
    args.follow = args.stream = False
    args.on_violation, args.checkpoint = [], None
    again = reproduce(args)
    alarms = follower.alarms
    figures = {"told": len(follower.told), "alarms": alarms.given, "alarms_failed": alarms.failed}
    figures |= {"alarms_left_out": alarms.left_out} if alarms.left_out else {}
    return _outcome(ui, evidence, results, problems, again, {"follow": figures})


def _broken(log: Verdicts, log_format: str) -> list[Result]:
    """Return the promises that a delivery log breaks."""
    results = log_results(log, 0.0, log_format)
    return [each for each in results if each.verdict == VIOLATED]


def _asked(args: argparse.Namespace) -> list[str]:
    """Return the properties that were asked for by name."""
    return [name.strip() for name in args.properties.split(",") if name.strip()]


def _failing(verdict: RunVerdict, strict: bool) -> list[Result]:
    """Return the promises of a run that are violated and not excused."""
    results = [_property(verdict, promise, strict) for promise in verdict.promises]
    return [each for each in results if each.verdict == VIOLATED and not each.as_expected]


def _outcome(
    ui: Ui,
    evidence: Evidence,
    results: list[Result],
    problems: list[Problem],
    again: str,
    more: Mapping[str, object] | None = None,
) -> Outcome:
    evidence.write_json("quarantine.json", [problem._asdict() for problem in problems])
    for problem in problems[:SHOWN]:
        ui.say(describe_problem(problem))
    if len(problems) > SHOWN:
        ui.say(f"… and {len(problems) - SHOWN} more records in quarantine.json")
    headline = tuple(_designs(results))
    outcome = Outcome("conform", tuple(results), again, more=more or {}, headline=headline)
    evidence.finish(outcome)
    return outcome


def _files(args: argparse.Namespace, paths: Iterable[Path]) -> list[Path]:
    """Return the files that are to be read; raise UsageError if there is none."""
    if args.log_format == TRACE:
        return trace_files(paths)
    if args.log_format == DELIVERIES:
        return delivery_files(paths)
    return log_files(paths, importer_of(args.log_format))


def _designs(results: Iterable[Result]) -> Iterator[str]:
    """Yield a line for each run whose headers say that it is of another design."""
    for each in results:
        if lacked := each.figures.get("other_design"):
            yield f"{each.name}: judged as of another design than the implemented one: {lacked}"


def _check(
    args: argparse.Namespace, ui: Ui, evidence: Evidence, session: "SparkSession | None"
) -> tuple[list[Result], list[Problem]]:
    started = time.monotonic()
    if args.log_format != TRACE:
        names = _asked(args)
        if session is None:
            log = check_deliveries(args.paths, names, args.complete, args.log_format)
        else:
            from raincheck.conformance.spark.properties import check_deliveries as on_spark

            log = on_spark(session, args.paths, names, args.complete, args.log_format)
        return log_results(log, time.monotonic() - started, args.log_format), log.problems
    if session is None:
        with ui.progress(None, "events") as steps:
            verdicts = check_paths(args.paths, steps.advance)
    else:
        from raincheck.conformance.spark.pipeline import check_paths as check_on_spark

        verdicts = check_on_spark(session, args.paths, lines=True)
        return _judged(verdicts, args, evidence, time.monotonic() - started)
    verdicts = list(map(located, verdicts))
    return _judged(verdicts, args, evidence, time.monotonic() - started)


def _judged(
    verdicts: list[RunVerdict], args: argparse.Namespace, evidence: Evidence, seconds: float
) -> tuple[list[Result], list[Problem]]:
    """Return the results of these verdicts, and leave their findings in words."""
    results: list[Result] = []
    for verdict in verdicts:
        results += run_results(verdict, args.strict, seconds)
        if verdict.findings:
            text = "\n\n".join(describe(finding) for finding in verdict.findings)
            name = "".join(c if c.isalnum() or c in "-_." else "_" for c in result_name(verdict))
            evidence.write_text(f"{name}.findings.txt", text + "\n")
    return results, [problem for verdict in verdicts for problem in verdict.problems]


def result_name(verdict: RunVerdict) -> str:
    """Return the names of the run and the protocol, if its files are of one."""
    return _of_run(verdict.run, verdict.protocol)


def _of_run(run: str, protocol: str) -> str:
    return f"{run}: {protocol}" if protocol else run


def run_results(verdict: RunVerdict, strict: bool, seconds: float = 0.0) -> list[Result]:
    """Return one result for conformance, and one for each property of the run."""
    figures: dict[str, object] = {
        "answer": WORDS[verdict.verdict],
        "events": verdict.events,
        "files": verdict.files,
        "quarantined": len(verdict.problems),
        "findings": len(verdict.findings),
        "conforming": verdict.conforming,
        "actions": verdict.actions,
        "seconds": round(seconds, 3),
    }
    if verdict.other_design:
        figures["other_design"] = verdict.other_design
        figures["answer"] = f"{WORDS[verdict.verdict]}, of another design than the implemented one"
    if verdict.not_compared:
        figures["not_compared"] = verdict.not_compared
    first = verdict.first
    if first is not None:
        figures["first"] = _place(first)
        figures["found"] = msgspec.to_builtins(verdict.findings)
    detail = describe(first) if first is not None else ""
    if not detail and verdict.problems:
        detail = describe_problem(verdict.problems[0])
    results = [
        Result(
            result_name(verdict), verdict.protocol, verdict.verdict, figures=figures, detail=detail
        )
    ]
    return results + [_property(verdict, promise, strict) for promise in verdict.promises]


def _property(verdict: RunVerdict, promise: Promise, strict: bool) -> Result:
    name = f"{verdict.run}: {promise.name}"
    figures: dict[str, object] = {"judged": promise.judged}
    if promise.witness:
        figures["witness"] = promise.witness
    if promise.parts:
        figures["parts"] = promise.parts
    found, expected, detail = promise.verdict, HOLDS, promise.reason
    if found == VIOLATED:
        detail = f"{promise.name} is violated: {promise.witness}"
        if promise.name in UNIFORM and not (strict or verdict.safe):
            expected = VIOLATED
            figures["assumption"] = "delivery that waits for stability"
        elif assumption := promise.assumption or _lacked(verdict, promise):
            detail += f"; it rests on what this run does not have: {assumption}"
            if not strict:
                found = INCONCLUSIVE
                figures["assumption"] = assumption
                detail += " (--strict counts it)"
    return Result(name, verdict.protocol, found, expected, figures, detail, promise.idle)


def _lacked(verdict: RunVerdict, promise: Promise) -> str:
    """Return the assumption about its views that this system does not meet."""
    return "" if verdict.synchronous or promise.name not in NEED_SYNCHRONY else "VirtualSynchrony"


def log_results(log: Verdicts, seconds: float, log_format: str = DELIVERIES) -> list[Result]:
    """Return one result for each property of the delivery logs."""
    shared: dict[str, object] = {
        "deliveries": log.facts.rows,
        "members": log.facts.members,
        "messages": log.facts.messages,
        "quarantined": len(log.problems),
        "seconds": round(seconds, 3),
    }
    results = []
    for promise in log.properties:
        figures = shared | {"judged": promise.judged}
        figures |= {"witness": promise.witness} if promise.witness else {}
        detail = promise.reason
        if promise.verdict == VIOLATED:
            detail = f"smallest witness: {promise.witness}"
        verdict, idle = promise.verdict, promise.idle
        results.append(Result(promise.name, log_format, verdict, HOLDS, figures, detail, idle))
    return results


def _place(finding: Finding) -> dict[str, object]:
    return {
        "node": finding.node,
        "incarnation": finding.incarnation,
        "index": finding.index,
        "action": finding.action,
        "path": finding.path,
        "line": finding.line,
        "reason": finding.reason,
    }


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that the traces in the folders owe, by the first record of each file.

    What each run promises is known only when it has been judged.
    """
    files: list[Path] = []
    for path in args.paths:
        with suppress(UsageError):  # they may be gone since; then the run's own step says so
            files += trace_files([path])
    names = (Owed(_of_run(*each), each[1]) for each in sorted(sorted_out(files).runs))
    return Owes(tuple(names), others=frozenset({HOLDS, VIOLATED}))


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that checks the same again."""
    words: list[str] = ["raincheck", "conform", *map(str, args.paths)]
    words += ["--engine", args.engine, "--log-format", args.log_format]
    words += words_of(args)
    flags: Sequence[tuple[bool, list[str]]] = (
        (args.list, ["--list"]),
        (args.strict, ["--strict"]),
        (bool(args.properties), ["--properties", args.properties]),
        (args.complete, ["--complete"]),
        (args.follow, ["--follow"]),
        (args.stream, ["--stream"]),
        (bool(args.checkpoint), ["--checkpoint", str(args.checkpoint)]),
        *((True, ["--on-violation", each]) for each in args.on_violation),
        (args.seed != 1, ["--seed", str(args.seed)]),
    )
    for given, more in flags:
        words += more if given else []
    return shlex.join(words)
