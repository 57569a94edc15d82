"""Compare each model with its specification (`raincheck mirror`).

For each case, TLC's state graph and the explorer's must be equal: the same initial states, the same
states with all variables, the same (source, action, target) steps. The model's invariants are
checked too: an invariant that the case names must be false in the model exactly if the catalog says
that it is violated.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from raincheck.conformance.cases.cfgfile import Configuration, read_cfg
from raincheck.conformance.cases.tables import TIERS, load_cases, select
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.evidence.store import (
    Found,
    Store,
    code_key,
    gathered,
    hash_of,
    key_of,
    store_of,
    tools_key,
)
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols import registry
from raincheck.conformance.tlc.compare import compare
from raincheck.conformance.tlc.graphdump import (
    Dump,
    KeptGraph,
    dump_command,
    dump_graph,
    graph_key,
)
from raincheck.conformance.tlc.stategraph import of_machine
from raincheck.conformance.tools.java import find_java, tlc_jar
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.tools.sidebyside import side_by_side
from raincheck.model.machine.explore import Exploration, Progress, explore
from raincheck.model.machine.machine import Machine
from raincheck.model.machine.values import Value

LIMIT: Final = 200_000
"""The most states of a graph that is compared; a larger one would take minutes and gigabytes."""

LEFT_OUT: Final = "left_out"
"""The entry of the summary that names the cases that were not compared, each with the reason."""

S = TypeVar("S", bound=Hashable)

Dumper = Callable[[Path, Configuration, Path], Dump]


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison: an instance of a specification, and the catalog's answer to it."""

    name: str
    protocol: str
    module: Path
    asked: Configuration
    expected: str = HOLDS
    distinct: int | None = None  # how many states the catalog says there are
    tier: str = TIERS[0]  # in which it is compared
    unmodelled: frozenset[str] = frozenset()  # invariants that the model need not have


@dataclass(slots=True)
class Twins:
    """The cases of one system, which ask different things of one graph: it is compared once."""

    name: str = ""
    """The case whose whole graph was compared, and was equal; "" until then."""
    found: Exploration[Any] | None = None
    figures: dict[str, object] = field(default_factory=dict)


def machine_of(protocol: str, constants: Mapping[str, Value], where: str) -> Machine[Any]:
    """Return the protocol's model for the constants; raise UsageError if there is none."""
    record = registry.protocol(protocol)
    machine = record.get("model")
    try:
        made: Machine[Any] = machine(constants)
    except ValueError as error:
        raise UsageError(f"{where} does not fit {record.model}: {error}.") from error
    if not hasattr(made, "initial") or not hasattr(made, "steps"):
        raise UsageError(
            f"{record.where}: machine in {record.model} returned {made!r}: it must return a "
            "Machine."
        )
    return made


def has_model(protocol: str) -> bool:
    """Tell whether there is a model of the protocol."""
    record = registry.protocols().get(protocol)
    return record is not None and record.offers("model")


def mirror_case(
    case: Case,
    machine: Machine[S],
    workdir: Path,
    *,
    limit: int = LIMIT,
    kept: Dump | None = None,
    dump: Dumper = dump_graph,
    progress: Callable[[Progress], None] | None = None,
    twins: Twins | None = None,
) -> Result:
    """Compare one case, with TLC's graph if it has been `kept`; it may be a part.

    Of a case whose graph was compared for one of its twins, only the invariants are asked. The
    detail of a violation is the shortest path to the difference.
    """
    started = time.monotonic()
    twins = Twins() if twins is None else twins
    figures: dict[str, object] = {}

    def result(verdict: str, detail: str = "") -> Result:
        figures["seconds"] = round(time.monotonic() - started, 1)
        return Result(case.name, case.protocol, verdict, figures=figures, detail=detail)

    found = twins.found
    if found is not None:
        figures |= {**twins.figures, "same_graph_as": twins.name}
    else:
        levels = kept.levels if kept is not None else None
        found = explore(machine, limit=limit, levels=levels, invariants={}, progress=progress)
        figures["states"] = len(found.graph)
        if len(found.graph) > limit:
            return result(INCONCLUSIVE, f"the model has more than {limit} states: raise --limit")
        model = of_machine(machine, found.graph)
        # TLC and the model may find the same step in several ways: the figures count what is
        # compared.
        figures |= {"edges": model.step_count(), "actions": len(found.graph.action_counts())}
        spec = kept or dump(case.module, case.asked, workdir)
        figures |= {"depth": found.depth, "tlc_states": spec.tlc_states}
        figures["tlc_edges"] = spec.graph.step_count()
        if spec.last is not None:
            figures |= {"states": spec.tlc_states, "edges": figures["tlc_edges"], "part": True}
        difference = compare(spec.graph, model, spec.last)
        if difference is not None:
            return result(VIOLATED, difference.text())
        if spec.last is None:
            twins.name, twins.found, twins.figures = case.name, found, dict(figures)
    missing = {*case.asked.names("INVARIANT")} - {*machine.invariants} - case.unmodelled
    if missing:
        name = min(missing)
        return result(
            VIOLATED,
            f"the case asks {name}, and the model has no invariant {name}: add it there, or to "
            f"`unmodelled` in the table of cases",
        )
    complaint = promises(machine, found, case.asked, case.expected, figures)
    if complaint:
        return result(VIOLATED, complaint)
    return result(HOLDS, "as far as TLC went until the violation" if "part" in figures else "")


def promises(
    machine: Machine[S],
    found: Exploration[S],
    cfg: Configuration,
    expected: str,
    figures: dict[str, object],
) -> str:
    """Return what is wrong with the model's invariants; note in `figures` which were asked.

    Temporal properties are not asked here: the graphs are equal, so TLC's answer is the model's.
    """
    asked = [name for name in cfg.names("INVARIANT") if name in machine.invariants]
    figures["invariants"] = asked
    # In order of discovery, so that the first state has the smallest depth.
    false_in = {
        name: next((n for n, state in enumerate(found.graph.states) if not holds(state)), None)
        for name, holds in machine.invariants.items()
        if name in asked
    }
    for name in asked:
        number = false_in[name]
        if number is not None:
            steps = len(found.graph.path_to(number).steps)
            if name != expected:
                return f"the model violates {name} after {steps} step(s); the catalog: {expected}"
            figures["violation_depth"] = steps + 1
        elif name == expected:
            return f"the model never violates {name}, as the catalog says it does"
    return ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which cases: of the catalog, or one instance given by its files."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="cases, protocols or globs (default: all of --tier)",
    )
    parser.add_argument(
        "--tier",
        choices=TIERS,
        default="quick",
        help="compare the cases of this tier and those before it (default: quick)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=LIMIT,
        metavar="N",
        help=f"largest number of states of a case (default: {LIMIT})",
    )
    own = parser.add_argument_group("an instance that is not in the catalog")
    own.add_argument("--protocol", metavar="NAME", help="the protocol whose model to compare")
    own.add_argument("--module", type=Path, metavar="FILE", help="the instance's .tla file")
    own.add_argument("--cfg", type=Path, metavar="FILE", help="the instance's .cfg file")


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Compare each case and keep the differences as evidence."""
    cases = _chosen(args)
    again = reproduce(args)
    if args.dry_run:
        java, jar = find_java(), tlc_jar()
        for case in cases:
            where = case.module, case.asked.path, Path(case.name)
            ui.announce(shlex.join(dump_command(*where, java=java, jar=jar)))
        return Outcome("mirror", (), again)
    evidence = Evidence("mirror", args.out)
    found: dict[str, Result] = {}
    left_out: list[dict[str, str]] = []
    with Processes() as processes, ui.progress(len(cases), "mirror") as steps:
        store = store_of(args.cache, unused=args.no_cache)
        comparer = Comparer(store, processes, args.limit, whole=args.tier != TIERS[0])

        def leave_out(case: Case, reason: str) -> None:
            ui.say(f"left out {case.name}: {reason}")
            left_out.append({"name": case.name, "reason": reason})
            steps.advance(1, case.name)

        def compared(cases: Sequence[Case]) -> list[tuple[Case, Result]]:
            twins = Twins() if len(cases) > 1 else None

            def one(case: Case) -> tuple[Case, Result]:
                def tell(at: Progress) -> None:
                    steps.advance(0, f"{case.name}: {at.states} states, {at.waiting} waiting")

                return case, comparer.compared(case, tell, twins)

            return [one(case) for case in cases]

        def keep(pairs: Sequence[tuple[Case, Result]]) -> None:
            for case, result in pairs:
                if result.verdict == INCONCLUSIVE and not _by_name(case, args):
                    leave_out(case, result.detail)
                    continue
                if result.verdict == VIOLATED:
                    evidence.write_text(f"{case.name}.difference.txt", result.detail + "\n")
                found[case.name] = result
                steps.advance(1, case.name)

        wanted: dict[object, list[Case]] = {}
        for case in cases:
            # An unnamed case is not worth a long exploration up to the limit.
            if not _by_name(case, args) and (reason := _unwanted(case, args)):
                leave_out(case, reason)
            else:
                wanted.setdefault(_system(case), []).append(case)
        for alike in wanted.values():  # first those whose graph TLC has seen whole
            alike.sort(key=lambda case: case.expected != HOLDS)
        # While TLC works on one case, another is explored and compared here.
        work = [partial(compared, alike) for alike in wanted.values()]
        if work:  # a missing Java should not cost the minutes of the explorations before it
            comparer.tools()
        side_by_side(work, 2, each=keep, stop=processes.stop)
    results = tuple(found[case.name] for case in cases if case.name in found)
    outcome = Outcome("mirror", results, again, more={LEFT_OUT: left_out})
    evidence.write_json("left_out.json", left_out)
    evidence.finish(outcome)
    return outcome


def _system(case: Case) -> object:
    """Return what cases have in common that are about one system, whatever they ask of it."""
    return case.protocol, case.module, case.asked.behaviour_only()


def _by_name(case: Case, args: argparse.Namespace) -> bool:
    return case.name in args.names or args.cfg is not None


def _unwanted(case: Case, args: argparse.Namespace) -> str:
    """Return why an unnamed case is left out, or ""."""
    if TIERS.index(case.tier) > TIERS.index(args.tier):
        return (
            f"it is mirrored in the tier {case.tier}: its graph is much larger than what it shows"
        )
    if (case.distinct or 0) > args.limit:
        return f"it has {case.distinct} states, more than --limit {args.limit}"
    if not has_model(case.protocol):
        # Several protocols together: each has a model of its own.
        return f"{case.protocol} has no model"
    return ""


@dataclass(slots=True)
class Comparer:
    """Compares the cases of a run, and reuses the evidence of earlier runs."""

    store: Store | None
    processes: Processes
    limit: int = LIMIT
    whole: bool = True
    """Whether the graph that a check left is of use only if it is whole."""
    _tools: tuple[str, int] | None = None

    def compared(
        self, case: Case, progress: Callable[[Progress], None], twins: Twins | None = None
    ) -> Result:
        """Return the result of a case: kept from an earlier run, or found now."""
        machine = machine_of(case.protocol, case.asked.constants, case.asked.where)

        def gather() -> Found:
            with tempfile.TemporaryDirectory(prefix="raincheck-mirror-") as workdir:
                result = mirror_case(
                    case,
                    machine,
                    Path(workdir),
                    limit=self.limit,
                    kept=self.kept(case) if twins is None or twins.found is None else None,
                    dump=self.dump,
                    progress=progress,
                    twins=twins,
                )
            return Found((result,))

        (result,) = gathered(self.store, "mirror", lambda: self.key(case), gather).results
        return result

    def key(self, case: Case) -> str:
        """Return the key of everything that a comparison depends on."""
        return key_of(
            name=case.name,
            graph=self.graph_of(case.module, case.asked),
            asked=case.asked.text,
            expected=case.expected,
            limit=self.limit,
            whole=self.whole,
            code=code_key(__name__, *registry.protocol(case.protocol).modules("model")),
            tools=tools_key(),
        )

    def graph_of(self, module: Path, asked: Configuration, *, part: bool = False) -> str:
        """Return the key of TLC's graph."""
        return graph_key(module, asked, *self.tools(), part=part)

    def tools(self) -> tuple[str, int]:
        """Return the digest of TLC and the version of Java; raise UsageError if one is missing."""
        if self._tools is None:
            self._tools = hash_of(tlc_jar()), find_java().major
        return self._tools

    def kept(self, case: Case) -> Dump | None:
        """Return the graph that a check has left in the store, if it is of use."""
        if self.store is None:
            return None
        kept = KeptGraph(self.store, self.graph_of(case.module, case.asked)).take(case.asked)
        if kept is None and not self.whole:
            key = self.graph_of(case.module, case.asked, part=True)
            kept = KeptGraph(self.store, key).take(case.asked)
        return kept

    def dump(self, module: Path, asked: Configuration, workdir: Path) -> Dump:
        """Return TLC's whole graph."""
        return dump_graph(module, asked, workdir, self.processes)


def _chosen(args: argparse.Namespace) -> list[Case]:
    own = {"--protocol": args.protocol, "--module": args.module, "--cfg": args.cfg}
    missing = [option for option, value in own.items() if value is None]
    if len(missing) == len(own):
        chosen = select(load_cases(), names=args.names, tier=args.tier, modelled=True)
        return [
            Case(
                c.name,
                c.protocol,
                c.module,
                c.configuration(),
                c.expected,
                c.distinct,
                c.mirrored,
                c.unmodelled,
            )
            for c in chosen
        ]
    if missing or args.names:
        wrong = "without a case of the catalog" if args.names else f"with {' and '.join(missing)}"
        raise UsageError(f"Give {', '.join(own)} together, {wrong}.")
    for path in (args.module, args.cfg):
        if not path.is_file():
            raise UsageError(f"There is no file {path}: name the instance's module and .cfg.")
    asked = read_cfg(args.cfg)
    free = frozenset(asked.names("INVARIANT"))
    return [Case(args.cfg.stem, args.protocol, args.module, asked, unmodelled=free)]


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that a run with these options owes."""
    wanted = [each for each in _chosen(args) if _by_name(each, args) or not _unwanted(each, args)]
    return Owes(tuple(Owed(each.name, each.protocol) for each in wanted))


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that compares the same again."""
    words = ["raincheck", "mirror", *args.names]
    if args.cfg is not None:
        words += ["--protocol", args.protocol]
        words += ["--module", str(args.module), "--cfg", str(args.cfg)]
    if args.tier != TIERS[0]:
        words += ["--tier", args.tier]
    if args.limit != LIMIT:
        words += ["--limit", str(args.limit)]
    return shlex.join(words)
