"""Schedules out of the state graph, each replayed on the real cores (`raincheck generate`).

For each case of the catalog: explore its model, find walks that take every edge, replay each on
the implementation with the case's switches, compare after every step. A case whose graph is too
large is replayed in part, and its figures say so.
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import TIERS, Case, load_cases, protocols_in, select
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
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
from raincheck.conformance.replay import protocol as verticals
from raincheck.conformance.replay.cores import replay as faces_replay
from raincheck.conformance.replay.cores import told
from raincheck.conformance.replay.lockstep import lockstep
from raincheck.conformance.replay.moves import printed
from raincheck.conformance.replay.pair import system_of
from raincheck.conformance.replay.probes import GUARDS, Probes
from raincheck.conformance.replay.replay import Prepared, Replay, replay
from raincheck.conformance.replay.schedules import Schedules, play, play_faces, read_schedules
from raincheck.conformance.replay.undoing import PART_STEPS
from raincheck.conformance.tlc.spec import files_of
from raincheck.model.sequencer.system import SequencerSystem, machine

from .mirror import has_model

WHOLE: Final = 25_000
"""A graph of at most so many states is replayed whole ..."""

PART: Final = 5_000
"""... and of a larger one the part that breadth-first search finds first, so many states."""

ACTIONS: Final = (
    *("Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend"),
    *("Leave", "Stop", "Crash", "Restart", "ViewChange", "Demote"),
)
"""The actions of the specification; one that no case reaches is a finding."""

Step: TypeAlias = Callable[[Sequence[Case], "Job", Callable[[str], None]], list[Result]]
"""Replays the cases of a protocol."""

EXAMPLES: Final = 100
"""How many random groups lockstep drives over each kind of views."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cases, one walk of one case, or a file of schedules."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="cases, protocols, globs (default: all of --tier)"
    )
    parser.add_argument("--tier", choices=TIERS, default="quick", help="default: quick")
    parser.add_argument("--walk", type=int, metavar="N", help="only this walk, step by step")
    parser.add_argument(
        "--out-schedules", type=Path, metavar="FILE", help="write all walks, as JSON lines"
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"lockstep: random groups beside the walks of all cases (default {EXAMPLES})",
    )
    parser.add_argument(
        "--schedule", type=Path, metavar="FILE", help="replay a file of schedules instead"
    )


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Generate and replay; the schedule of a mismatch is kept as evidence."""
    if args.schedule is not None:
        if args.names or args.walk is not None:
            raise UsageError("--schedule brings its own cases: leave names and --walk out.")
        return _replay_file(args, ui)
    cases = select(load_cases(), names=args.names, tier=args.tier, modelled=True)
    if args.walk is not None and len(cases) != 1:
        raise UsageError("--walk is a walk of one case: name it.")
    if not args.names:
        # A specification of several protocols together has no implementation of its own.
        cases = tuple(case for case in cases if has_model(case.protocol))
    protocols = tuple(dict.fromkeys(case.protocol for case in cases))
    if args.dry_run:
        for case in cases:
            ui.announce(f"replay every edge of {case.name}: {case.words}")
        return Outcome("generate", (), _again(args))
    evidence = Evidence("generate", args.out)
    job = Job(args, evidence, ui, Schedules(args.out_schedules))
    results: list[Result] = []
    with ui.progress(len(cases), "generate") as steps, job.schedules:
        for protocol in protocols:
            mine = [case for case in cases if case.protocol == protocol]
            one = _sequencer if protocol == "sequencer" else _by_faces

            def gather(one: Step = one, mine: list[Case] = mine) -> Found:
                return Found(tuple(one(mine, job, lambda name: steps.advance(1, name))))

            found = gathered(job.store, "generate", partial(_key, mine, args), gather)
            results += found.results
    outcome = Outcome("generate", tuple(results), job.again)
    evidence.finish(outcome)
    return outcome


def _key(cases: Sequence[Case], args: argparse.Namespace) -> str:
    """Return the key of all that the replay of a protocol's cases depends on."""
    protocol = cases[0].protocol
    return key_of(
        cases=[(case.name, case.cfg_text(), files_key(files_of(case.module))) for case in cases],
        names=args.names,
        seed=args.seed,
        examples=args.examples,
        code=code_key(
            __name__,
            f"raincheck.model.{protocol}.system",
            f"raincheck.conformance.bindings.{protocol}.binding",
        ),
        tools=tools_key("networkx", "hypothesis"),
    )


@dataclass(slots=True)
class Job:
    """One run of the verb."""

    args: argparse.Namespace
    evidence: Evidence
    ui: Ui
    schedules: Schedules
    again: str = ""
    """The command that shows the last mismatch, or all of it."""

    def __post_init__(self) -> None:
        self.again = _again(self.args)

    @property
    def store(self) -> Store | None:
        """Where evidence of earlier runs is; none where the walks themselves are wanted."""
        shown = self.args.walk is not None or self.schedules.wanted
        return store_of(self.args.cache, unused=self.args.no_cache or shown)

    @property
    def walks(self) -> list[int] | None:
        """The one walk that is wanted, or all."""
        return None if self.args.walk is None else [self.args.walk]

    @property
    def everything(self) -> bool:
        """Whether whole protocols are meant, not only some cases."""
        names = self.args.names
        alone = len(names) > len(protocols_in(names, load_cases()))
        return not alone and self.args.walk is None

    def keep(self, case: str, walk: int, text: str, record: object) -> None:
        """Keep a mismatch as evidence."""
        self.evidence.write_text(f"{case}.mismatch.txt", text + "\n")
        self.evidence.write_text(f"{case}.schedule.jsonl", json.dumps(record) + "\n")
        self.again = f"raincheck generate {case} --walk {walk}"


def _sequencer(cases: Sequence[Case], job: Job, done_with: Callable[[str], None]) -> list[Result]:
    """SEQUENCER has a replay of its own, which knows runs of messages."""
    results, probes = [], Probes()
    reached: Counter[str] = Counter()
    for case in cases:
        prepared = prepare(case)
        if job.schedules.wanted:
            for number in range(1, len(prepared.walks) + 1):
                job.schedules.write(prepared.schedule(number))
        if job.args.walk is not None:
            _check_walk(case.name, job.args.walk, len(prepared.walks))
            moves = prepared.moves(prepared.walks[job.args.walk - 1])
            job.ui.say(f"{case.name}, walk {job.args.walk} of {len(prepared.walks)}:")
            job.ui.say(printed(moves))
        done = replay(prepared, walks=job.walks, probes=probes)
        reached += done.actions
        results.append(result_of(case.protocol, prepared, done, whole=job.walks is None))
        for mismatch in done.mismatches:
            record = prepared.schedule(mismatch.walk)
            job.keep(case.name, mismatch.walk, mismatch.text(), record)
        done_with(case.name)
    if job.everything:
        results.append(coverage_of(cases[0].protocol, reached, probes))
        args = job.args
        results += lockstep_results(cases[0].protocol, args.seed, args.examples, job.evidence)
    return results


def _by_faces(cases: Sequence[Case], job: Job, done_with: Callable[[str], None]) -> list[Result]:
    """Every other protocol is replayed by its binding."""
    protocol = cases[0].protocol
    try:
        binding = binding_of(protocol)
    except UsageError as lacking:
        if job.args.names:
            raise
        # The others are not to wait for one that is still being written.
        return [Result(f"{protocol}-replay", protocol, INCONCLUSIVE, detail=str(lacking))]
    mine = verticals.Replayable(binding, cases)
    for name, rules in mine.left_out.items():
        job.ui.say(f"left out {name}: the implementation has no switch for {rules}")
        done_with(name)
    results = []
    reached: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for prepared in mine.prepared():
        if job.schedules.wanted:
            for number in range(1, len(prepared.walks) + 1):
                job.schedules.write(verticals.schedule_of(prepared, number))
        if job.args.walk is not None:
            _check_walk(prepared.name, job.args.walk, len(prepared.walks))
            moves = prepared.moves(prepared.walks[job.args.walk - 1])
            job.ui.say(f"{prepared.name}, walk {job.args.walk} of {len(prepared.walks)}:")
            job.ui.say("\n".join(f"{n:4}  {told(move)}" for n, move in enumerate(moves, 1)))
        offers = prepared.offers()
        most = None if prepared.complete else PART_STEPS
        done = faces_replay(prepared, walks=job.walks, offers=offers, most_steps=most)
        reached += done.actions
        refused += offers.refused
        results.append(verticals.replayed(protocol, prepared, done, whole=job.walks is None))
        if done.mismatch is not None:
            record = verticals.schedule_of(prepared, done.walk)
            job.keep(prepared.name, done.walk, done.mismatch.text(), record)
        done_with(prepared.name)
    if job.everything:
        instances = mine.instances()
        if job.args.examples > 0 and instances:
            found = verticals.locked(binding, instances, job.args.seed, job.args.examples)
            if found.detail:
                job.evidence.write_text(f"{found.name}.mismatch.txt", found.detail + "\n")
            for each in instances:
                refused += each.offers.refused
            results.append(found)
        results.append(verticals.coverage(binding, cases, reached, refused, mine.left_out))
    return results


def _check_walk(name: str, number: int, walks: int) -> None:
    if not 1 <= number <= walks:
        raise UsageError(f"{name} has walks 1 to {walks}, not {number}.")


def prepare(case: Case, whole: int = WHOLE, part: int = PART) -> Prepared:
    """Return the case's graph and walks; only a part of a graph that is too large."""
    system = system_for(case)
    if (case.distinct or 0) > whole:
        return Prepared(case.name, system, part)
    prepared = Prepared(case.name, system, whole)
    return prepared if prepared.complete else Prepared(case.name, system, part)


def system_for(case: Case) -> SequencerSystem:
    """Return the case's model."""
    try:
        return machine(case.constants)
    except ValueError as error:
        model = f"model/{case.protocol}/system.py"
        raise UsageError(f"{case.name} does not fit {model}: {error}.") from error


def result_of(protocol: str, prepared: Prepared, done: Replay, *, whole: bool = True) -> Result:
    """Return the verdict of a replay: no mismatch, and no edge left out that was to be taken."""
    figures: dict[str, object] = {
        "states": done.states,
        "edges": done.edges,
        "covered": done.covered,
        "walks": done.walks,
        "steps": done.steps,
        "refusals": done.refusals,
        "seconds": done.seconds,
    }
    if not prepared.complete:
        figures["part"] = True
    detail = "\n".join(mismatch.text() for mismatch in done.mismatches)
    left_out = done.missing if whole and not done.mismatches else []
    if left_out:
        detail = f"{len(left_out)} edges were not replayed:\n" + "\n".join(left_out[:20])
    elif not prepared.complete and not detail:
        detail = f"only the first {done.states} states of a larger graph"
    bad = bool(done.mismatches or left_out)
    return Result(done.case, protocol, VIOLATED if bad else HOLDS, figures=figures, detail=detail)


def coverage_of(protocol: str, reached: Counter[str], probes: Probes) -> Result:
    """Return whether every action was taken and every guard was seen false, over all cases."""
    absent = [action for action in ACTIONS if not reached[action]]
    untried = probes.untried()
    figures: dict[str, object] = {
        "actions": len(ACTIONS),
        "reached": len(ACTIONS) - len(absent),
        "guards": sum(map(len, GUARDS.values())),
        "seen_false": sum(map(len, GUARDS.values())) - len(untried),
        "edges_by_action": dict(sorted(reached.items())),
    }
    lines = [f"never taken: {action}" for action in absent]
    lines += [f"never false: {guard}" for guard in untried]
    verdict = VIOLATED if lines else HOLDS
    return Result(
        f"{protocol}-coverage", protocol, verdict, figures=figures, detail="\n".join(lines)
    )


def lockstep_results(protocol: str, seed: int, examples: int, evidence: Evidence) -> list[Result]:
    """Drive random groups, runs of messages included, over both kinds of views."""
    found = []
    for views, synchronous in (("synchronous", True), ("weak", False)):
        if examples < 1:
            break
        started = time.monotonic()
        walked = lockstep(seed_=seed, examples=examples, virtual_synchrony=synchronous)
        name = f"{protocol}-lockstep-{views}"
        detail = ""
        if walked.mismatch is not None:
            detail = walked.text()
            evidence.write_text(f"{name}.mismatch.txt", detail + "\n")
        figures = walked.figures() | {"seconds": round(time.monotonic() - started, 2)}
        verdict = VIOLATED if detail else HOLDS
        found.append(Result(name, protocol, verdict, figures=figures, detail=detail))
    return found


def _replay_file(args: argparse.Namespace, ui: Ui) -> Outcome:
    again = shlex.join(["raincheck", "generate", "--schedule", str(args.schedule)])
    records = list(read_schedules(args.schedule))
    if args.dry_run:
        ui.announce(f"replay {len(records)} schedule(s) of {args.schedule}")
        return Outcome("generate", (), again)
    cases = {case.name: case for case in load_cases()}
    results = []
    for line, (record, moves) in enumerate(records, 1):
        where = f"{args.schedule}:{line}"
        protocol = record.get("protocol", "sequencer")
        name = f"{record.get('case', 'schedule')}:{line}"
        if protocol != "sequencer":
            if record.get("case") not in cases:
                raise UsageError(f"{where}: the catalog has no case {record.get('case')!r}.")
            results.append(play_faces(protocol, cases[record["case"]], name, record, where))
            continue
        system = system_of(record)
        if system is None:
            if record.get("case") not in cases:
                raise UsageError(f"{where}: the catalog has no case {record.get('case')!r}.")
            system = system_for(cases[record["case"]])
        results.append(play(system, name, moves, where))
    return Outcome("generate", tuple(results), again)


def _again(args: argparse.Namespace) -> str:
    words = ["raincheck", "generate", *args.names]
    words += ["--tier", args.tier] if args.tier != "quick" else []
    words += ["--walk", str(args.walk)] if args.walk is not None else []
    words += ["--examples", str(args.examples)] if args.examples != EXAMPLES else []
    words += ["--seed", str(args.seed)] if args.seed != 1 else []
    return shlex.join(words)
