"""Schedules out of the state graph, each replayed on the real cores (`raincheck generate`).

For each case of the catalog: explore its model, find walks that take every edge, replay each on
the implementation with the case's switches, compare after every step. A case whose graph is too
large is replayed in part, and its figures say so.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.replaying.lockstep import lockstep
from raincheck.conformance.replaying.moves import Move, printed
from raincheck.conformance.replaying.pair import Differs, Pair, system_of
from raincheck.conformance.replaying.probes import GUARDS, Probes
from raincheck.conformance.replaying.replay import Prepared, Replay, replay
from raincheck.conformance.tlc.catalog import TIERS, Case, load_catalog, select
from raincheck.conformance.tlc.cfgfile import read_cfg
from raincheck.model.sequencer_system import SequencerSystem, machine

from .errors import UsageError
from .evidence import Evidence, Outcome, Result, Ui
from .outcome import HOLDS, VIOLATED

WHOLE: Final = 25_000
"""A graph of at most so many states is replayed whole ..."""

PART: Final = 5_000
"""... and of a larger one the part that breadth-first search finds first, so many states."""

ACTIONS: Final = (
    *("Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend"),
    *("Leave", "Stop", "Crash", "Restart", "ViewChange", "Demote"),
)
"""The actions of the specification; one that no case reaches is a finding."""

EXAMPLES: Final = 100
"""How many random groups lockstep drives over each kind of views."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cases, one walk of one case, or a file of schedules."""
    parser.add_argument("--case", nargs="+", default=[], metavar="NAME", help="cases to replay")
    parser.add_argument("--protocol", default="", metavar="NAME", help="all cases of a protocol")
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
        if args.case or args.protocol or args.walk is not None:
            raise UsageError("--schedule brings its own cases: leave --case and --walk out.")
        return _replay_file(args, ui)
    cases = _replayable(args)
    if args.walk is not None and len(cases) != 1:
        raise UsageError("--walk is a walk of one case: name it with --case.")
    if args.dry_run:
        for case in cases:
            ui.announce(f"replay every edge of {case.name} ({case.cfg})")
        return Outcome("generate", (), _again(args))
    evidence = Evidence("generate", args.out)
    results, probes = [], Probes()
    reached: Counter[str] = Counter()
    again = _again(args)
    with ui.progress(len(cases), "generate") as steps, _Schedules(args.out_schedules) as schedules:
        for case in cases:
            prepared = prepare(case)
            schedules.write(prepared)
            if args.walk is not None:
                _tell_walk(prepared, args.walk, ui)
            numbers = None if args.walk is None else [args.walk]
            done = replay(prepared, walks=numbers, probes=probes)
            reached += done.actions
            results.append(result_of(case.protocol, prepared, done, whole=numbers is None))
            for mismatch in done.mismatches:
                record = prepared.schedule(mismatch.walk)
                evidence.write_text(f"{case.name}.mismatch.txt", mismatch.text() + "\n")
                evidence.write_text(f"{case.name}.schedule.jsonl", json.dumps(record) + "\n")
                again = f"raincheck generate --case {case.name} --walk {mismatch.walk}"
            steps.advance(1, case.name)
    if not args.case and args.walk is None:
        results.append(coverage_of(cases[0].protocol, reached, probes))
        results += lockstep_results(cases[0].protocol, args.seed, args.examples, evidence)
    outcome = Outcome("generate", tuple(results), again)
    evidence.finish(outcome)
    return outcome


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
        return machine(read_cfg(case.cfg).constants)
    except ValueError as error:
        model = f"model/{case.protocol}_system.py"
        raise UsageError(f"{case.cfg} does not fit {model}: {error}.") from error


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


def _replayable(args: argparse.Namespace) -> tuple[Case, ...]:
    cases = select(load_catalog(), names=args.case, protocol=args.protocol, tier=args.tier)
    for case in cases:
        if case.protocol != "sequencer":
            raise UsageError(
                f"{case.name}: there is no implementation of {case.protocol} to drive."
            )
    return cases


def _tell_walk(prepared: Prepared, number: int, ui: Ui) -> None:
    if not 1 <= number <= len(prepared.walks):
        raise UsageError(f"{prepared.name} has walks 1 to {len(prepared.walks)}, not {number}.")
    walk = prepared.walks[number - 1]
    ui.say(f"{prepared.name}, walk {number} of {len(prepared.walks)}:")
    ui.say(printed(prepared.moves(walk)))


class _Schedules:
    """A file of schedules that appears whole or not at all; nothing if none is wanted."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.draft = None if path is None else path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> _Schedules:
        if self.draft is not None:
            try:
                self._file = self.draft.open("w", encoding="utf-8", newline="\n")
            except OSError as error:
                raise UsageError(
                    f"Cannot write {self.path} ({error.strerror}): name another file."
                ) from error
        return self

    def write(self, prepared: Prepared) -> None:
        if self.draft is not None:
            for number in range(1, len(prepared.walks) + 1):
                self._file.write(json.dumps(prepared.schedule(number)) + "\n")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.draft is None or self.path is None:
            return
        self._file.close()
        if kind is None:
            self.draft.replace(self.path)
        else:
            self.draft.unlink(missing_ok=True)


# ------------------------------------------------------------------ schedules from a file


def _replay_file(args: argparse.Namespace, ui: Ui) -> Outcome:
    again = shlex.join(["raincheck", "generate", "--schedule", str(args.schedule)])
    records = list(read_schedules(args.schedule))
    if args.dry_run:
        ui.announce(f"replay {len(records)} schedule(s) of {args.schedule}")
        return Outcome("generate", (), again)
    cases = {case.name: case for case in load_catalog()}
    results = []
    for line, (record, moves) in enumerate(records, 1):
        where = f"{args.schedule}:{line}"
        system = system_of(record)
        if system is None:
            if record.get("case") not in cases:
                raise UsageError(f"{where}: the catalog has no case {record.get('case')!r}.")
            system = system_for(cases[record["case"]])
        name = f"{record.get('case', 'schedule')}:{line}"
        results.append(play(system, name, moves, where))
    return Outcome("generate", tuple(results), again)


def play(system: SequencerSystem, name: str, moves: Sequence[Move], where: str) -> Result:
    """Play a schedule on the model and on the real cores side by side."""
    pair = Pair(system, name=name)
    try:
        for move in moves:
            pair.play(move)
    except Differs as parted:
        figures: dict[str, object] = {"steps": len(pair.moves)}
        text = parted.mismatch.text()
        return Result(name, "sequencer", VIOLATED, figures=figures, detail=text)
    except (ValueError, KeyError) as error:
        raise UsageError(f"{where}: {error}; the schedule is not one of this instance.") from error
    return Result(name, "sequencer", HOLDS, figures={"steps": len(pair.moves)})


def read_schedules(path: Path) -> Iterator[tuple[dict[str, Any], list[Move]]]:
    """Yield each record of a file of schedules with its moves; raise UsageError if one is bad."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path} ({error}): name a file of schedules.") from error
    if not lines:
        raise UsageError(f"{path} is empty: name a file of schedules.")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            yield record, [Move.from_json(step) for step in record["steps"]]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}:{number} is no schedule: {error}.") from error


def _again(args: argparse.Namespace) -> str:
    words = ["raincheck", "generate"]
    words += ["--case", *args.case] if args.case else []
    words += ["--protocol", args.protocol] if args.protocol else []
    words += ["--tier", args.tier] if args.tier != "quick" else []
    words += ["--walk", str(args.walk)] if args.walk is not None else []
    words += ["--examples", str(args.examples)] if args.examples != EXAMPLES else []
    words += ["--seed", str(args.seed)] if args.seed != 1 else []
    return shlex.join(words)
