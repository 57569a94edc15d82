"""Schedules from the state graph, each replayed on the real cores (`raincheck generate`).

For each case of the catalog the verb explores the model, finds walks that take every edge, replays
each walk on the implementation with the case's switches, and compares after every step. A case
whose graph is too large is replayed in part, and its figures say so.
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from raincheck.conformance.bindings.binding import Binding, binding_of, bound_protocols
from raincheck.conformance.cases.tables import TIERS, Case, load_cases, protocols_in, select
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.evidence.store import (
    Found,
    Store,
    code_key,
    files_key,
    gathered,
    key_of,
    store_of,
    tools_key,
)
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols import registry
from raincheck.conformance.replay.cores import printed
from raincheck.conformance.replay.coverage import coverage, coverage_name
from raincheck.conformance.replay.lockstep import Instance, lockstep
from raincheck.conformance.replay.replay import PART_STEPS, Prepared, Replay, replay
from raincheck.conformance.replay.replayable import Replayable
from raincheck.conformance.replay.schedules import Schedules, play_record, read_schedules
from raincheck.conformance.tlc.spec import files_of
from raincheck.conformance.trace.recorded_walks import TRACED, recorded, recorded_name

EXAMPLES: Final = 100
"""How many runs lockstep makes over each group of instances."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which cases, one walk of one case, or a file of schedules."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="cases, protocols or globs (default: all of --tier)",
    )
    parser.add_argument(
        "--tier", choices=TIERS, default="quick", help="use the cases of this tier (default: quick)"
    )
    parser.add_argument(
        "--walk", type=int, metavar="N", help="replay only this walk, and print its steps"
    )
    parser.add_argument(
        "--out-schedules", type=Path, metavar="FILE", help="write all walks to a file of JSON lines"
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"number of random lockstep runs beside the walks of the cases (default: {EXAMPLES})",
    )
    parser.add_argument(
        "--traces",
        type=Path,
        metavar="DIR",
        help=f"record traces of {TRACED} walks of each protocol for raincheck conform",
    )
    parser.add_argument(
        "--schedule", type=Path, metavar="FILE", help="replay the schedules of a file instead"
    )


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Generate and replay; keep the schedule of a mismatch as evidence."""
    if args.schedule is not None:
        if args.names or args.walk is not None or args.traces is not None:
            raise UsageError(
                "--schedule brings its own cases: leave names, --walk and --traces out."
            )
        return _replay_file(args, ui)
    if args.traces is not None and not _whole(args):
        raise UsageError("--traces records whole protocols: leave cases and --walk out.")
    cases = _cases(args)
    if args.walk is not None and len(cases) != 1:
        raise UsageError("--walk numbers the walks of one case: name exactly one case.")
    protocols = tuple(dict.fromkeys(case.protocol for case in cases))
    if args.dry_run:
        for case in cases:
            ui.announce(f"replay every edge of {case.name}: {case.words}")
        return Outcome("generate", (), reproduce(args))
    if args.traces is not None and args.traces.exists() and any(args.traces.iterdir()):
        raise UsageError(f"--traces {args.traces} is not empty: name another folder.")
    evidence = Evidence("generate", args.out)
    job = Job(args, evidence, ui, Schedules(args.out_schedules))
    results: list[Result] = []
    with ui.progress(len(cases), "generate") as steps, job.schedules:
        for protocol in protocols:
            mine = [case for case in cases if case.protocol == protocol]

            def gather(mine: list[Case] = mine) -> Found:
                return Found(tuple(_protocol(mine, job, lambda name: steps.advance(1, name))))

            found = gathered(job.store, "generate", partial(_key, mine, args), gather)
            results += found.results
            evidence.so_far(results)
    outcome = Outcome("generate", tuple(results), job.again)
    if args.traces is not None and args.traces.is_relative_to(evidence.folder):
        evidence.take_over(args.traces)
    evidence.finish(outcome)
    return outcome


def _key(cases: Sequence[Case], args: argparse.Namespace) -> str:
    """Return the key of everything that the replay of a protocol's cases depends on."""
    protocol = cases[0].protocol
    return key_of(
        cases=[(case.name, case.cfg_text(), files_key(files_of(case.module))) for case in cases],
        names=args.names,
        seed=args.seed,
        examples=args.examples,
        code=code_key(__name__, *registry.protocol(protocol).modules("model", "binding")),
        tools=tools_key("networkx", "hypothesis"),
    )


def _whole(args: argparse.Namespace) -> bool:
    """Tell whether whole protocols are meant, not only some cases or one walk."""
    alone = len(args.names) > len(protocols_in(args.names, load_cases()))
    return not alone and args.walk is None


@dataclass(slots=True)
class Job:
    """One run of the verb."""

    args: argparse.Namespace
    evidence: Evidence
    ui: Ui
    schedules: Schedules
    again: str = ""
    """The command that shows the last mismatch, or repeats the whole run."""

    def __post_init__(self) -> None:
        self.again = reproduce(self.args)

    @property
    def store(self) -> Store | None:
        """Return the store of earlier evidence, or None if the walks themselves are wanted."""
        unused = self.args.no_cache or self.shown or self.args.traces is not None
        return store_of(self.args.cache, unused=unused)

    @property
    def shown(self) -> bool:
        """Return whether the walks of each case are wanted, and not only their outcome."""
        return self.args.walk is not None or self.schedules.wanted

    @property
    def walks(self) -> list[int] | None:
        """Return the number of the one walk that is wanted, or None for all."""
        return None if self.args.walk is None else [self.args.walk]

    @property
    def everything(self) -> bool:
        """Return whether whole protocols are meant, not only some cases."""
        return _whole(self.args)

    def keep(self, case: str, walk: int, text: str, record: object) -> None:
        """Keep a mismatch as evidence."""
        self.evidence.write_text(f"{case}.mismatch.txt", text + "\n")
        self.evidence.write_text(f"{case}.schedule.jsonl", json.dumps(record) + "\n")
        self.again = f"raincheck generate {case} --walk {walk}"


def _protocol(cases: Sequence[Case], job: Job, done_with: Callable[[str], None]) -> list[Result]:
    """Replay the cases of a protocol; for a whole protocol, run lockstep too."""
    protocol = cases[0].protocol
    try:
        binding = binding_of(protocol)
    except (UsageError, Inconclusive) as lacking:
        if job.args.names:
            raise
        # The other protocols must not wait for one that is unfinished.
        return [Result(_unbound_name(protocol), protocol, INCONCLUSIVE, detail=str(lacking))]
    mine = Replayable(binding, cases)
    for name, rules in mine.left_out.items():
        job.ui.say(f"left out {name}: the implementation has no switch for {rules}")
        done_with(name)
    results = []
    reached: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    played: list[tuple[Case, Result, Replay, Counter[str]]] = []
    for case in mine.cases:
        if not job.shown and (twin := next((p for p in played if same_system(p[0], case)), None)):
            # Cases that ask different properties of one system have one graph.
            results.append(replace(twin[1], name=case.name))
            reached += twin[2].actions
            refused += twin[3]
            done_with(case.name)
            continue
        prepared = mine.prepare(case)
        if job.schedules.wanted:
            for number in range(1, len(prepared.walks) + 1):
                job.schedules.write(prepared.schedule(number))
        if job.args.walk is not None:
            _say_walk(prepared, job)
        probes = prepared.probes()
        most = None if prepared.complete else PART_STEPS
        done = replay(prepared, walks=job.walks, probes=probes, most_steps=most)
        reached += done.actions
        refused += probes.refused
        results.append(replayed(protocol, prepared, done, whole=job.walks is None))
        if prepared.complete and done.mismatch is None:
            played.append((case, results[-1], done, probes.refused))
        if done.mismatch is not None:
            text, record = done.mismatch.text(), prepared.schedule(done.walk)
            job.keep(prepared.name, done.walk, text, record)
        done_with(prepared.name)
    if job.everything:
        wanted = job.args.examples > 0 or job.args.traces is not None
        groups = mine.instances() if wanted else {}
        for group, instances in groups.items():
            if instances and job.args.examples > 0:
                found = locked(binding, group, instances, job.args.seed, job.args.examples)
                if found.detail:
                    job.evidence.write_text(f"{found.name}.mismatch.txt", found.detail + "\n")
                for each in instances:
                    refused += each.probes.refused
                results.append(found)
        covered = coverage(binding, cases, reached, refused, mine.left_out)
        if any(result.verdict == VIOLATED for result in results) and covered.verdict == VIOLATED:
            # A replay ends at its first mismatch, so what is not taken says nothing of its own.
            detail = "not judged: a replay ended early, at a mismatch"
            covered = replace(covered, verdict=INCONCLUSIVE, detail=detail)
        results.append(covered)
        if job.args.traces is not None:
            systems = [each.system for group in groups.values() for each in group]
            results.append(recorded(binding, systems, job.args.seed, job.args.traces))
    return results


def same_system(one: Case, other: Case) -> bool:
    """Tell whether two cases of a protocol are about one system, whatever they ask of it."""
    return one.constants == other.constants and one.replaced == other.replaced


def _say_walk(prepared: Prepared, job: Job) -> None:
    number, walks = job.args.walk, len(prepared.walks)
    if not 1 <= number <= walks:
        raise UsageError(f"{prepared.name} has walks 1 to {walks}, not {number}.")
    moves = prepared.moves(prepared.walks[number - 1])
    job.ui.say(f"{prepared.name}, walk {number} of {walks}:")
    words = printed(moves, prepared.schedule(number))
    job.ui.say("\n".join(f"{n:4}  {each}" for n, each in enumerate(words, 1)))


def replayed(protocol: str, prepared: Prepared, done: Replay, *, whole: bool = True) -> Result:
    """Return the verdict of a replay: it holds without a mismatch and without an edge left out."""
    figures: dict[str, object] = {
        name: getattr(done, name)
        for name in ("states", "edges", "covered", "walks", "steps", "refusals", "seconds")
    }
    if not prepared.complete:
        figures["part"] = True
    detail = done.mismatch.text() if done.mismatch else ""
    left_out = done.missing if whole and prepared.complete and not done.mismatch else []
    if left_out:
        detail = f"{len(left_out)} edges were not replayed:\n" + "\n".join(left_out[:20])
    elif not prepared.complete and not detail:
        detail = f"only the first {done.states} states of a larger graph"
    bad = bool(done.mismatch or left_out)
    return Result(done.case, protocol, VIOLATED if bad else HOLDS, figures=figures, detail=detail)


def locked(
    binding: Binding, group: str, instances: Sequence[Instance], seed: int, runs: int
) -> Result:
    """Return the result of that many runs in lockstep."""
    started = time.monotonic()
    walked = lockstep(binding, instances, seed=seed, runs=runs)
    figures = walked.figures() | {"seconds": round(time.monotonic() - started, 2)}
    protocol = binding.protocol
    name = locked_name(protocol, group)
    verdict, detail = VIOLATED if walked.mismatch else HOLDS, walked.text()
    return Result(name, protocol, verdict, figures=figures, detail=detail)


def _replay_file(args: argparse.Namespace, ui: Ui) -> Outcome:
    again = shlex.join(["raincheck", "generate", "--schedule", str(args.schedule)])
    records = list(read_schedules(args.schedule))
    if args.dry_run:
        ui.announce(f"replay {len(records)} schedule(s) of {args.schedule}")
        return Outcome("generate", (), again)
    cases = {case.name: case for case in load_cases()}
    results = [
        play_record(record, cases, f"{args.schedule}:{line}")
        for line, record in enumerate(records, 1)
    ]
    return Outcome("generate", tuple(results), again)


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that a run with these options owes, except of a file of schedules."""
    cases = _cases(args)
    names = [
        Owed(name, protocol)
        for protocol in dict.fromkeys(case.protocol for case in cases)
        for name in _names([case for case in cases if case.protocol == protocol], args)
    ]
    return Owes(tuple(names))


def _cases(args: argparse.Namespace) -> tuple[Case, ...]:
    """Return the cases whose graphs are walked."""
    cases = select(load_cases(), names=args.names, tier=args.tier, modelled=True)
    if args.names:
        return cases
    # A specification of several protocols together has no implementation of its own, and one that
    # is not implemented yet has none.
    bound = bound_protocols()
    return tuple(case for case in cases if case.protocol in bound)


def _names(cases: Sequence[Case], args: argparse.Namespace) -> Iterator[str]:
    """Yield the names of the results of a protocol's cases."""
    protocol = cases[0].protocol
    try:
        mine = Replayable(binding_of(protocol), cases)
    except (UsageError, Inconclusive):
        yield _unbound_name(protocol)
        return
    yield from (case.name for case in mine.cases)
    if _whole(args):
        if args.examples > 0:
            yield from (locked_name(protocol, group) for group in mine.groups())
        yield coverage_name(protocol)
        if args.traces is not None:
            yield recorded_name(protocol)


def _unbound_name(protocol: str) -> str:
    return f"{protocol}-replay"


def locked_name(protocol: str, group: str) -> str:
    """Return the name of the result of lockstep over a group of instances."""
    return f"{protocol}-lockstep-{group}" if group else f"{protocol}-lockstep"


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that replays the same again."""
    words = ["raincheck", "generate", *args.names]
    words += ["--tier", args.tier] if args.tier != "quick" else []
    words += ["--walk", str(args.walk)] if args.walk is not None else []
    words += ["--traces", str(args.traces)] if args.traces is not None else []
    words += ["--examples", str(args.examples)] if args.examples != EXAMPLES else []
    words += ["--seed", str(args.seed)] if args.seed != 1 else []
    return shlex.join(words)
