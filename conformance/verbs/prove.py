"""Prove the safety properties with Z3, for any number of members, messages and views.

Law of this file: only a step that is proved with every seed holds. A step that a solver leaves open
is inconclusive; a step with a counterexample to induction is violated, and the state is shown. A
property holds only where the theory is tied to the model, too (conformance/evidence/prooftie.py).
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import z3

from raincheck.conformance.cases.names import meant
from raincheck.conformance.cases.table import CaseTable
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui, as_json_text
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.evidence.proofcircle import circle, circle_name
from raincheck.conformance.evidence.prooftext import explained, readable, rows
from raincheck.conformance.evidence.prooftie import tied, tied_names
from raincheck.conformance.evidence.store import (
    Found,
    code_key,
    gathered,
    key_of,
    store_of,
    tools_key,
)
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import offering
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.claims import Proof, proof_in
from raincheck.model.proof.induction import Attempt, Obligation, Prover, Theory, obligations

SEEDS = "1,2"
TIMEOUT = 20
SHOWN = 3
"""The number of open obligations that are explained; the others are only named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `raincheck prove`."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="protocols or globs (default: all that have a proof)",
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME",
        help="prove only this property; may be repeated (default: all)",
    )
    parser.add_argument(
        "--seeds", default=SEEDS, metavar="N,N", help=f"random seeds for Z3 (default: {SEEDS})"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="undo this repair or drop this assumption, and show where the proof fails",
    )
    parser.add_argument(
        "--timeout",
        type=int,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"time limit of one obligation (default: {TIMEOUT})",
    )


@dataclass(slots=True)
class _Tally:
    """The attempts that belong to one action or one property."""

    attempts: list[Attempt] = field(default_factory=list)

    @property
    def open(self) -> list[Obligation]:
        """Return the obligations that some seed did not prove, each once."""
        return list(
            {id(a.obligation): a.obligation for a in self.attempts if not a.proved}.values()
        )

    def figures(self, seeds: Sequence[int]) -> dict[str, object]:
        """Return the columns of the result."""
        seconds = {
            f"seconds_seed_{seed}": round(
                sum(a.seconds for a in self.attempts if a.seed == seed), 3
            )
            for seed in seeds
        }
        mine = {id(a.obligation): a.obligation for a in self.attempts}.values()
        return {
            "obligations": len(mine),
            "untouched": sum(each.denied is False for each in mine),
            "seconds": round(sum(a.seconds for a in self.attempts), 3),
            **seconds,
        }


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Prove each protocol's theory, or say which step fails and why."""
    seeds = _seeds(args.seeds)
    tasks = _tasks(args)
    again = reproduce(args)
    if args.dry_run:
        for task in tasks:
            ui.announce(f"would have Z3 {z3.get_version_string()} prove {task.asked(seeds)}")
        return Outcome("prove", (), again)
    evidence = Evidence("prove", args.out)
    store = store_of(args.cache, unused=args.no_cache)
    results: list[Result] = []
    for task in tasks:
        key = partial(task.key, seeds, args)
        found = gathered(store, "prove", key, partial(task.done, seeds, args.timeout * 1000, ui))
        for name, text in found.files.items():
            evidence.write_text(name, text)
        results += found.results
    outcome = Outcome("prove", tuple(results), again)
    evidence.finish(outcome)
    return outcome


@dataclass(frozen=True, slots=True)
class _Task:
    """One protocol's proof, or the requested part of it."""

    record: Protocol
    proof: Proof
    dropped: Sequence[str]
    basis: Any
    subject: Theory
    wanted: Sequence[str]
    prefix: str
    """Put before the names of its evidence, if there are several protocols."""

    @property
    def work(self) -> list[Obligation]:
        """The obligations."""
        return [
            each
            for each in obligations(self.subject)
            if each.kind != "implied" or each.claim in self.wanted
        ]

    def asked(self, seeds: Sequence[int]) -> str:
        """Return in words what is to be proved; no obligation is made for that."""
        subject = self.subject
        return (
            f"that each of {len(subject.invariant)} conjuncts of {self.proof.protocol} is true"
            f" initially and after {len(subject.transitions)} transitions, and"
            f" {', '.join(self.wanted)}, seeds {', '.join(map(str, seeds))}"
        )

    @property
    def names(self) -> Iterator[str]:
        """Yield the names of all results, in their order."""
        subject = self.subject
        yield from (_step_name(subject, place) for place in _places(subject))
        yield _vacuity_name(subject)
        if not self.dropped:
            yield from tied_names(self.proof, self.wanted)
        yield from (f"{subject.name}-{name}" for name in self.wanted)
        if not self.dropped:
            for composed in self.proof.compositions():
                yield circle_name(self.proof.protocol, composed)

    def key(self, seeds: Sequence[int], args: argparse.Namespace) -> str:
        """Return the key of everything that the verdict depends on."""
        return key_of(
            protocol=self.proof.protocol,
            without=self.dropped,
            wanted=self.wanted,
            prefix=self.prefix,
            seeds=seeds,
            timeout=args.timeout,
            code=code_key(__name__, self.proof.module, *self.record.modules("model")),
            cases=self.record.cases.read_text(encoding="utf-8"),
            tools=tools_key("z3-solver"),
        )

    def done(self, seeds: Sequence[int], timeout: int, ui: Ui) -> Found:
        """Prove it, and leave the evidence."""
        subject = self.subject
        tallies = _prove(self.work, seeds, timeout, ui)
        search = Search(subject)
        reports: dict[tuple[str, str], str] = {}
        unproved = [each for tally in tallies.values() for each in tally.open]
        if unproved:
            ui.say(f"{len(unproved)} obligations are open: looking for counterexamples")
            reports = explained(unproved, subject, self.proof, self.basis, search, SHOWN)
        steps = _steps(subject, tallies, seeds, reports)
        attempts = [each for tally in tallies.values() for each in tally.attempts]
        files = {
            f"{self.prefix}invariant.txt": readable(subject),
            f"{self.prefix}obligations.json": as_json_text(rows(attempts)),
        }
        ties: list[Result] = []
        circles: list[Result] = []
        if not self.dropped:
            # An undone theory allows more than the model of the implemented protocol does.
            ui.say(f"{subject.name}: the theory beside the model")
            ties, page = tied(self.proof, subject, self.wanted, self._machines())
            files[f"{self.prefix}ties.txt"] = page
            circles = self._circles(seeds, timeout, files, ui)
        for (claim, transition), text in reports.items():
            name = f"{claim}-{transition.replace(': ', '-').replace(' ', '-')}"
            files[f"counterexamples/{self.prefix}{name}.txt"] = text + "\n"
        grounds = (*steps, _vacuity(subject, search, ui), *ties)
        results = (
            *grounds,
            *(_property(subject.name, name, tallies, grounds, seeds) for name in self.wanted),
            *circles,
        )
        return Found(results, files)

    def _circles(
        self, seeds: Sequence[int], timeout: int, files: dict[str, str], ui: Ui
    ) -> list[Result]:
        """Return a result for each circle of assumptions that the proof breaks."""
        results = []
        for composed in self.proof.compositions():
            ui.say(f"{self.subject.name}: beside {composed.theory.name}")
            result, attempts = circle(self.proof.protocol, composed, seeds, timeout)
            files[f"{result.name}.json"] = as_json_text(attempts)
            files[f"{result.name}.txt"] = readable(composed.theory)
            results.append(result)
        return results

    def _machines(self) -> Callable[[str], Any]:
        """Return the model's machine of each of the protocol's cases, by the case's name."""
        constants = {each.name: each.constants for each in CaseTable(self.record.cases).cases()}
        machine = self.record.get("model")
        return lambda case: machine(constants[case])


# ---------------------------------------------------------------------- what was asked


def _seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise UsageError(f"--seeds {text}: give numbers with commas between, as in 1,2.") from None
    if any(seed < 0 for seed in seeds):
        raise UsageError(f"--seeds {text}: give seeds that are not negative.")
    return seeds


def _tasks(args: argparse.Namespace) -> list[_Task]:
    """Return what is to be proved; raise UsageError if a name belongs to nothing."""
    there = {each.name: each for each in offering("proof")}
    if not there:
        raise Inconclusive("No protocol here offers a proof: name one as `proof` in its record.")
    groups = {name: [name] for name in there}
    records = meant(args.names, there, groups, what="proof") or tuple(there.values())
    proofs = [proof_in(each.module("proof")) for each in records]
    _known("--without", args.without, [name for each in proofs for name in each.without])
    tasks = []
    for record, proof in zip(records, proofs, strict=True):
        dropped = [name for name in args.without if name in proof.without]
        if args.without and not dropped:
            continue
        basis = proof.basis_without(dropped)
        subject = proof.theory(basis)
        prefix = f"{proof.protocol}-" if len(proofs) > 1 else ""
        wanted = [
            each.name
            for each in subject.properties
            if not args.property or each.name in args.property
        ]
        tasks.append(_Task(record, proof, dropped, basis, subject, wanted, prefix))
    _known("--property", args.property, [p.name for t in tasks for p in t.subject.properties])
    return [task for task in tasks if task.wanted]


def _known(option: str, names: Iterable[str], there: Sequence[str]) -> None:
    for name in names:
        if name not in there:
            have = ", ".join(dict.fromkeys(there)) or "nothing"
            what = " is not among those that are proved" if option == "--property" else ""
            raise UsageError(f"{option} {name}{what}: there is {have}.")


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that a run with these options owes."""
    return Owes(
        tuple(Owed(name, task.proof.protocol) for task in _tasks(args) for name in task.names)
    )


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that proves the same again."""
    words = ["raincheck prove", *args.names]
    words += [f"--property {name}" for name in args.property]
    words += [f"--without {name}" for name in args.without]
    words += [f"--timeout {args.timeout}"] if args.timeout != TIMEOUT else []
    return " ".join([*words, f"--seeds {','.join(map(str, _seeds(args.seeds)))}"])


# ---------------------------------------------------------------------- proving


def _prove(
    work: Iterable[Obligation], seeds: Sequence[int], timeout: int, ui: Ui
) -> dict[str, _Tally]:
    """Try everything with every seed; return it by the action, "Init" or the property concerned."""
    work = list(work)
    tallies: dict[str, _Tally] = {}
    with ui.progress(len(work) * len(seeds), "prove") as progress:
        for seed in seeds:
            prover = Prover(seed, timeout)
            for each in work:
                place = _place(each)
                tallies.setdefault(place, _Tally()).attempts.append(prover.attempt(each))
                progress.advance(note=f"{place} (seed {seed})")
    return tallies


def _place(obligation: Obligation) -> str:
    match obligation.kind:
        case "initially":
            return "Init"
        case "kept":
            return obligation.transition.partition(":")[0]
    return obligation.claim


def _steps(
    subject: Theory,
    tallies: dict[str, _Tally],
    seeds: Sequence[int],
    reports: dict[tuple[str, str], str],
) -> list[Result]:
    """Return a result for Init and one for each action: does it preserve the invariant?"""
    results = []
    for place in _places(subject):
        tally = tallies[place]
        figures = tally.figures(seeds)
        verdict, lines = HOLDS, []
        for each in tally.open:
            verdict = INCONCLUSIVE if verdict == HOLDS else verdict
            report = reports.get((each.claim, each.transition))
            lines.append(report or f"open: {each.claim} after {each.transition or 'Init'}")
            if report is not None:
                verdict = VIOLATED
        if tally.open:
            figures |= {"open": len(tally.open), "property": "Inductive"}
        name, detail = _step_name(subject, place), "\n".join(lines)
        results.append(Result(name, subject.name, verdict, figures=figures, detail=detail))
    return results


def _places(subject: Theory) -> tuple[str, ...]:
    """Return Init and the actions, of which each has a result."""
    return ("Init", *dict.fromkeys(each.action for each in subject.transitions))


def _step_name(subject: Theory, place: str) -> str:
    return f"{subject.name}-step-{place}"


def _vacuity_name(subject: Theory) -> str:
    return f"{subject.name}-vacuity"


def _vacuity(subject: Theory, search: Search, ui: Ui) -> Result:
    """Check that the invariant excludes no action: it would prove anything about that action."""
    never = []
    with ui.progress(len(subject.transitions), "vacuity") as progress:
        for transition in subject.transitions:
            if not search.enabled(transition):
                never.append(transition.name)
            progress.advance(note=transition.name)
    return Result(
        _vacuity_name(subject),
        subject.name,
        INCONCLUSIVE if never else HOLDS,
        figures={
            "transitions": len(subject.transitions),
            "enabled": len(subject.transitions) - len(never),
        },
        detail=f"never seen enabled where the invariant holds: {', '.join(never)}" if never else "",
    )


def _property(
    protocol: str,
    name: str,
    tallies: dict[str, _Tally],
    grounds: Sequence[Result],
    seeds: Sequence[int],
) -> Result:
    """Return a result for each property: it holds if the invariant is inductive and implies it.

    Nothing holds of a theory that is vacuous, or that is not shown to be about the model. A theorem
    that says something else than its promise spoils no other.
    """
    tally = tallies[name]
    mine = f"{protocol}-twin-{name}"
    lost = [
        each.name
        for each in grounds
        if each.verdict != HOLDS and (each.name == mine or "-twin-" not in each.name)
    ]
    detail = "the invariant does not imply it" if tally.open else ""
    if lost:
        detail = f"what it rests on is not shown: {', '.join(lost)}"
    return Result(
        f"{protocol}-{name}",
        protocol,
        INCONCLUSIVE if tally.open or lost else HOLDS,
        figures={"property": name, "seeds": list(seeds), **tally.figures(seeds)},
        detail=detail,
    )
