"""Check the specifications with TLC, and each answer against the catalog (`raincheck check`).

Cases run side by side, one JVM each: a JVM with one worker uses one core, and most of a short run
is start-up that cannot be parallelised. The longest run first, so that none is left over at the
end.
"""

import argparse
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from raincheck.conformance.cases.bare import BareCase, bare_cases, is_bare
from raincheck.conformance.cases.tables import HOLDS, NOT_FOUND, TIERS, Case, load_cases, select
from raincheck.conformance.cases.tautologies import NOTHING, Denials, denials
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.evidence.store import Store, hash_of, store_of
from raincheck.conformance.outcome import INCONCLUSIVE
from raincheck.conformance.outcome import VIOLATED as SURPRISE
from raincheck.conformance.tlc.counterexample import write_counterexample
from raincheck.conformance.tlc.exercises import exercised_names, unexercised, watch_of
from raincheck.conformance.tlc.graphdump import KeptGraph, comes_with_the_answer, graph_key
from raincheck.conformance.tlc.resultcache import keep_answer, known_answer, question_key
from raincheck.conformance.tlc.spec import files_of
from raincheck.conformance.tlc.tlc import ERROR, VIOLATED, Options, TlcResult, run_tlc, tlc_command
from raincheck.conformance.tools.java import Java, find_java, tlc_jar
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.tools.sidebyside import side_by_side

from .mirror import has_model, machine_of

CFG_FOLDER: Final = "cfg"
_DEADLOCK: Final = "deadlock"  # the name by which a result has it
"""The part of the evidence that records the question to TLC."""

_LONG: Final = 300_000
"""The number of states, or of behaviours, from which Java's second compiler may pay off."""


@dataclass(frozen=True, slots=True)
class Answer:
    """TLC's answer to a case, and whether it came from the cache."""

    case: Case
    result: TlcResult
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Checker:
    """The tools of a run, and the store of earlier answers."""

    java: Java
    jar: Path
    options: Options
    store: Store | None
    processes: Processes
    sanity: bool = False
    """Whether to look out for exercises and for a fair behaviour."""
    graphs: str = ""
    """The tier of the `mirror` for which TLC's state graphs are kept, where they come with the
    answer; "" if none is kept.
    """

    def ask(self, case: Case) -> Answer:
        """Return TLC's answer, from the cache if the very same question was asked before."""
        options = options_for(case, self.options)
        asked = case.configuration()
        jar, major = hash_of(self.jar), self.java.major
        watch = watch_of(case) if self.sanity and case.expected in (HOLDS, NOT_FOUND) else None
        watched = watch.text() if watch is not None else ""
        key = question_key(files_of(case.module), asked.text, jar, major, options, watched)
        if self.store is not None and (known := known_answer(self.store, key)) is not None:
            return Answer(case, known, cached=True)
        graph = None
        part = case.expected not in (HOLDS, *case.temporal)
        # Several workers do not take the states in their order: what part they saw is not known.
        wanted = self.compared(case) and not (part and options.workers > 1)
        if self.store is not None and wanted and comes_with_the_answer(asked, case.distinct):
            where = graph_key(case.module, asked, jar, major, part=part)
            graph = KeptGraph(self.store, where)
        result = run_tlc(
            case.module,
            asked,
            options=options,
            processes=self.processes,
            java=self.java,
            jar=self.jar,
            graph=graph.file if graph is not None else None,
            watch=watch,
        )
        if self.store is not None:
            keep_answer(self.store, key, result)
        if graph is not None:
            graph.keep(result)
        return Answer(case, result)

    def compared(self, case: Case) -> bool:
        """Tell whether that `mirror` takes the case's graph; writing it costs TLC a third more."""
        if not self.graphs or not has_model(case.protocol):
            return False
        return TIERS.index(case.mirrored or case.tier) <= TIERS.index(self.graphs)


def options_for(case: Case, options: Options) -> Options:
    """Return TLC's options, with Java tuned for the case."""
    short = case.tier in TIERS[:-1] and _size(case) < _LONG
    return replace(options, short=short, check_deadlock=case.deadlock, simulate=case.simulate)


def _size(case: Case) -> int:
    """Return how much TLC has to do, as far as the table says: states, or random behaviours."""
    return case.simulate.behaviours if case.simulate is not None else case.distinct or 0


def judge(answer: Answer, *, sanity: bool = False, said: Denials = NOTHING) -> Result:
    """Compare an answer with the catalog.

    With `sanity`, a case that holds needs its exercises, and its invariants must be false in some
    arbitrary states, of which `said` reports.
    """
    case, found = answer.case, answer.result
    figures: dict[str, object] = {
        "distinct_states": found.distinct_states,
        "generated_states": found.generated,
        "depth": found.depth,
        "seconds": found.seconds,
        "cached": answer.cached,
    }
    known = {"tier": case.tier, "rule": case.rule, "flaw": case.flaw}
    figures |= {name: text for name, text in known.items() if text}
    if case.simulate is not None:
        figures["behaviours"] = case.simulate.behaviours
    if found.trace:
        figures["trace_length"] = len(found.trace)
    verdict, detail = found.verdict, ""
    if found.verdict == ERROR:
        verdict, detail = INCONCLUSIVE, found.error
    elif found.verdict == VIOLATED:
        verdict = found.violated or SURPRISE
        if not found.violated:
            detail = f"one of {', '.join(found.candidates)} is violated; TLC does not say which"
        elif verdict != case.expected:
            detail = f"{_how_violated(verdict, found)}, {_wanted(case)}"
    elif case.expected not in (HOLDS, NOT_FOUND):
        detail = (
            f"the expected violation of {case.expected} is no longer found in "
            f"{found.distinct_states} states"
        )
    elif wrong := _pins(case, found):
        verdict, detail = SURPRISE, wrong
        figures["property"] = "pinned counts"
    elif sanity:
        figures["exercised"] = exercised_names(case, found)
        figures["not_asked_in_arbitrary_states"] = said.unasked(case)
        if vacuous := unexercised(case, found) or said.says_nothing(case):
            verdict, detail = INCONCLUSIVE, vacuous
    if case.simulate is not None and verdict == HOLDS:
        verdict = NOT_FOUND
    return Result(case.name, case.protocol, verdict, case.expected, figures, detail)


def _how_violated(name: str, found: TlcResult) -> str:
    """Return how a property is broken: in a state, by stopping, or by going round for ever."""
    states = len(found.trace)
    if name == _DEADLOCK:
        return f"no step is possible after {states} states (deadlock)"
    if found.kind == "assertion":
        after = f" after {states} states" if states else ""
        return f"an Assert of the specification failed{after}: {found.assertion}"
    if found.stuttering:
        return f"{name} is violated: after {states} states nothing more need happen (stuttering)"
    if found.back_to is not None:
        again = f"it may go from state {states} back to state {found.back_to} for ever"
        return f"{name} is violated: {again}"
    return f"{name} is violated after {states} states"


def _wanted(case: Case) -> str:
    return f"expected: {case.expected}"


def _pins(case: Case, found: TlcResult) -> str:
    """Return the pinned count that differs, in words, or ""."""
    counts = (
        ("distinct states", case.distinct, found.distinct_states),
        ("a depth", case.depth, found.depth),
    )
    wrong = [
        f"{what} of {now}, pinned {pinned}"
        if what.startswith("a ")
        else f"{now} {what}, pinned {pinned}"
        for what, pinned, now in counts
        if pinned is not None and pinned != now
    ]
    return f"TLC found {' and '.join(wrong)} in the table of cases" if wrong else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which cases are checked, and what the machine may spend on them."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="cases, protocols or globs (default: all of --tier); or any specification, as "
        "SPEC.tla and its .cfg files (default: SPEC.cfg)",
    )
    parser.add_argument(
        "--tier",
        choices=TIERS,
        default="quick",
        help="check the cases of this tier (default: quick)",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the selected cases without checking them"
    )
    parser.add_argument(
        "--no-deadlock",
        action="store_true",
        help="with SPEC.tla: do not report a state without a step as an error",
    )
    parser.add_argument(
        "--sanity",
        action="store_true",
        help="a case that holds must also reach a state in which each property is really asked, "
        "and have a fair behaviour, and each invariant be false in some state, reachable or not; "
        "else it is inconclusive",
    )
    parser.add_argument(
        "--keep-graphs",
        action="store_true",
        help="keep TLC's state graphs in the cache for raincheck mirror",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of cases checked in parallel (default: one per core)",
    )
    parser.add_argument(
        "--write-cfg",
        nargs="+",
        default=[],
        metavar=("DIR", "NAME"),
        help="write the modules and a .cfg file for each case (default: all) instead of checking, "
        "so that they can be opened in other tools",
    )
    add_tool_arguments(parser)


def add_tool_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that `explain` needs as well."""
    parser.add_argument(
        "--catalog",
        type=Path,
        metavar="PATH",
        help="a table of cases, or a folder of tables, instead of the built-in ones",
    )
    parser.add_argument(
        "--heap", default="1g", metavar="SIZE", help="heap of each JVM (default: 1g)"
    )
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="time limit of each case (default: none)"
    )


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Check the chosen cases and write the evidence."""
    if args.write_cfg:
        return write_by_hand(args, ui)
    cases = cases_of(args)
    again = reproduce(args)
    if args.list:
        return _listed(cases, ui, again)
    jobs = args.jobs if args.jobs is not None else _cores()
    if jobs < 1:
        raise UsageError(f"--jobs {jobs} runs nothing: give 1 or more.")
    options = _options(args)
    if args.dry_run:
        ui.announce("# in a folder that raincheck check --write-cfg has written:")
        java, jar = find_java(), tlc_jar()
        for case in cases:
            ui.announce(_dry(case, options_for(case, options), java, jar))
        return Outcome("check", (), again)
    evidence = Evidence("check", args.out)
    with Processes() as processes:
        checker = checker_of(args, processes)
        answers = ask_all(checker, cases, jobs, ui)
    said = denials_of(args, cases) if args.sanity else {}
    results = []
    for answer in answers:
        case = answer.case
        result = judge(answer, sanity=args.sanity, said=said.get(case.protocol, NOTHING))
        results.append(result)
        # The evidence has the question beside the answer.
        evidence.write_text(f"{CFG_FOLDER}/{case.cfg_name}", case.cfg_text())
        if answer.result.trace:
            write_counterexample(evidence, case, answer.result)
    outcome = Outcome("check", tuple(results), again)
    evidence.finish(outcome)
    return outcome


def denials_of(args: argparse.Namespace, cases: Sequence[Case]) -> dict[str, Denials]:
    """Return what arbitrary states say of each protocol that has a model, in all its cases."""
    if is_bare(args.names):
        return {}
    catalog = load_cases(args.catalog)
    return {
        protocol: denials([case for case in catalog if case.protocol == protocol], machine_of)
        for protocol in dict.fromkeys(case.protocol for case in cases)
        if has_model(protocol)
    }


def write_by_hand(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Write the cases as files that a TLA+ user can open: a .cfg each, beside the modules."""
    folder, names = Path(args.write_cfg[0]), (*args.write_cfg[1:], *args.names)
    cases = select(load_cases(args.catalog), names=names, tier=TIERS[-1])
    again = shlex.join(
        ["raincheck", "check", "--write-cfg", str(folder), *names]
        + (["--catalog", str(args.catalog)] if args.catalog else [])
    )
    texts = {case.cfg_name: f"{_by_hand(case)}{case.cfg_text()}" for case in cases}
    modules = {path for case in cases for path in files_of(case.module)}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in sorted(modules)}
    if args.dry_run:
        for name in texts:
            ui.announce(str(folder / name))
        return Outcome("check", (), again)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"Cannot write into {folder} ({error.strerror}): name another.") from error
    ui.say(f"{folder}: {len(cases)} .cfg and {len(modules)} .tla")
    return Outcome("check", (), again)


def _by_hand(case: Case) -> str:
    """Return the comment that says how TLC is run on a written file, to give the same answer."""
    deadlock = "" if case.deadlock else "-deadlock "
    simulate = case.simulate
    how = "" if simulate is None else f"-simulate -depth {simulate.depth} -seed {simulate.seed} "
    line = f"java -cp tla2tools.jar tlc2.TLC {deadlock}{how}-config {case.cfg_name}"
    why = "" if case.deadlock else "\\* -deadlock: a state without a next step is no error.\n"
    return f"\\* {line} {case.module.name}\n{why}"


def checker_of(args: argparse.Namespace, processes: Processes) -> Checker:
    """Return the checker that the options ask for."""
    store = store_of(args.cache, unused=args.no_cache)
    sanity = getattr(args, "sanity", False)
    graphs = args.tier if getattr(args, "keep_graphs", False) else ""
    return Checker(find_java(), tlc_jar(), _options(args), store, processes, sanity, graphs)


def ask_all(checker: Checker, cases: tuple[Case, ...], jobs: int, ui: Ui) -> list[Answer]:
    """Ask all cases, some at a time; return the answers in the order of the cases.

    An interruption or an error in the files ends all JVMs.
    """
    ordered = sorted(cases, key=lambda case: -_size(case))
    found: dict[str, Answer] = {}
    # One of several configurations that TLC cannot use must not cost the others their verdicts.
    alone = len(cases) == 1 or not all(isinstance(case, BareCase) for case in cases)
    with ui.progress(len(cases), "check") as steps:

        def keep(answer: Answer) -> None:
            if answer.result.set_up and alone:
                raise UsageError(answer.result.error)
            found[answer.case.name] = answer
            steps.advance(1, f"{answer.case.name}{' (cached)' if answer.cached else ''}")

        questions = [partial(checker.ask, case) for case in ordered]
        side_by_side(questions, jobs, each=keep, stop=checker.processes.stop)
    return [found[case.name] for case in cases]


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that asks the same again."""
    words = ["raincheck", "check", *args.names]
    if args.tier != "quick":
        words += ["--tier", args.tier]
    words += ["--sanity"] if args.sanity else []
    words += ["--no-deadlock"] if args.no_deadlock else []
    if args.catalog:
        words += ["--catalog", str(args.catalog)]
    words += ["--timeout", f"{args.timeout:g}"] if args.timeout is not None else []
    return shlex.join([*words, "--seed", str(args.seed)])


def cases_of(args: argparse.Namespace) -> tuple[Case, ...]:
    """Return the cases that the words of the command line mean."""
    if is_bare(args.names):
        return bare_cases(args.names, deadlock=not getattr(args, "no_deadlock", False))
    return select(load_cases(args.catalog), names=args.names, tier=args.tier)


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that a run with these options owes."""
    return Owes(tuple(Owed(each.name, each.protocol, each.expected) for each in cases_of(args)))


def _listed(cases: Sequence[Case], ui: Ui, again: str) -> Outcome:
    """List the cases, and run none."""
    width = max(len(case.name) for case in cases)
    for case in cases:
        line = (
            f"{case.name:{width}}  {case.protocol:14}  {case.tier:5}  {case.expected}: {case.words}"
        )
        ui.announce(line)
    keys = ("name", "protocol", "tier", "expected", "words")
    rows = [{key: getattr(case, key) for key in keys} for case in cases]
    return Outcome("check", (), f"{again} --list", {"cases": rows})


def _options(args: argparse.Namespace) -> Options:
    if args.timeout is not None and not args.timeout > 0:
        raise UsageError(f"--timeout is {args.timeout:g}: it must be above 0.")
    if not re.fullmatch(r"[1-9][0-9]*[kKmMgG]?", args.heap):
        raise UsageError(f"--heap {args.heap} is no size: give a number and k, m or g, as in 1g.")
    return Options(heap=args.heap, seed=args.seed, timeout=args.timeout)


def _dry(case: Case, options: Options, java: Java, jar: Path) -> str:
    module, cfg, folder = Path(case.module.name), Path(case.cfg_name), Path(tempfile.gettempdir())
    return shlex.join(tlc_command(module, cfg, folder, options, java=java, jar=jar))


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
