"""The verb mirror, on a toy: what it says of equal graphs, of faults and of wrong calls."""

import argparse
import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

import pytest

from raincheck.conformance.cases.cfgfile import Configuration, read_cfg
from raincheck.conformance.cases.tables import load_cases, select
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Ui
from raincheck.conformance.evidence.store import Store
from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import added
from raincheck.conformance.tlc.compare import compare
from raincheck.conformance.tlc.dotgraph import read_dot
from raincheck.conformance.tlc.graphdump import Dump, KeptGraph, dump_command, dump_graph
from raincheck.conformance.tlc.output import TlcState
from raincheck.conformance.tlc.stategraph import of_machine
from raincheck.conformance.tlc.tlc import Options, TlcResult
from raincheck.conformance.tools.java import find_java, tlc_jar
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.verbs.check import Checker
from raincheck.conformance.verbs.mirror import (
    Case,
    Comparer,
    Twins,
    add_arguments,
    machine_of,
    mirror_case,
    run,
)
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Step, Value, function, record
from raincheck.model.machine.tlavalue import ModelValue

TOYS = Path(__file__).parent / "toys"
CFG = TOYS / "Token.cfg"
CASE = Case("token", "token", TOYS / "Token.tla", read_cfg(CFG))
STATES = (TlcState(1, "", "", "/\\ x = 0"), TlcState(2, "Count", "", "/\\ x = 1"))
PAIR = function(
    {
        3: frozenset(),
        5: frozenset({(True, 'q"\\uo'), (False, "more than eighty columns in all")}),
    }
)

State = tuple[str, int, int, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Token:
    """The mirror of toys/Token.tla; one that reaches `limit` 2 where the toy stops at 1 is none."""

    limit: int = 1
    name: str = "token"
    invariants: dict = field(default_factory=lambda: {"OneNote": lambda state: len(state[3]) < 2})

    def initial(self):
        return ("a", 0, 0, ()), ("b", 0, 0, ())

    def steps(self, state):
        holder, a, b, note = state
        count = a if holder == "a" else b
        if count < self.limit:
            more = (a + 1, b) if holder == "a" else (a, b + 1)
            yield Step("Count", (holder,), (holder, *more, note))
        if not note:
            yield Step("Write", (holder,), (holder, a, b, ((holder, count - 1),)))
        other = "b" if holder == "a" else "a"
        yield Step("Pass", (holder, other), (other, a, b, note))
        yield Step("Idle", (), state)

    def variables(self, state) -> dict[str, Value]:
        holder, a, b, note = state
        return {
            "holder": holder,
            "count": record(a=a, b=b),
            "note": tuple(
                record(by=by, at=at, nil=ModelValue("None"), s=frozenset({1, 2})) for by, at in note
            ),
            "pair": PAIR,
        }


def golden(_module: Path, _cfg: Configuration, _workdir: Path, _processes: object = None) -> Dump:
    graph = read_dot(TOYS / "token-2.15.dot")
    return Dump(graph, len(graph.graph))


def mirrored(machine, tmp_path, case=CASE, **options):
    return mirror_case(case, machine, tmp_path, dump=golden, **options)


def arguments(tmp_path: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    given = parser.parse_args(words)
    return argparse.Namespace(
        **vars(given), dry_run=False, out=tmp_path / "out", cache=None, no_cache=True
    )


@pytest.mark.java
def test_tlc_still_dumps_the_golden_graph(tmp_path):
    fresh = dump_graph(CASE.module, CASE.asked, tmp_path)

    assert compare(fresh.graph, golden(CASE.module, CASE.asked, tmp_path).graph) is None
    assert fresh.tlc_states == 32
    assert not (tmp_path / "graph.dot").exists()


def test_a_dump_that_lacks_states_is_refused(tmp_path, monkeypatch):
    from raincheck.conformance.tlc import tlc

    def copied(_module, _cfg, target, **_options):
        target.write_text((TOYS / "token-2.15.dot").read_text())
        return tlc.TlcResult(tlc.HOLDS, distinct_states=33)

    monkeypatch.setattr(tlc, "dump_graph", copied)

    with pytest.raises(UsageError, match="33 states of Token"):
        dump_graph(CASE.module, CASE.asked, tmp_path)


@pytest.mark.java
def test_a_specification_that_tlc_refuses_is_said_in_a_sentence(tmp_path):
    module = tmp_path / "Token.tla"
    module.write_text(CASE.module.read_text().replace("holder = n", "holer = n"))

    with pytest.raises(UsageError, match="holer"):
        dump_graph(module, CASE.asked, tmp_path / "work")


def test_equal_graphs_hold_with_their_figures(tmp_path):
    result = mirrored(Token(), tmp_path)

    assert result.verdict == "holds"
    assert {k: v for k, v in result.figures.items() if k != "seconds"} == {
        "states": 32,
        "edges": 86,
        "actions": 4,
        "depth": 5,
        "tlc_states": 32,
        "tlc_edges": 86,
        "invariants": [],
    }


def test_a_difference_is_a_violation_with_the_path(tmp_path):
    result = mirrored(Token(limit=2), tmp_path)

    assert result.verdict == "violated"
    assert not result.as_expected
    assert result.detail.startswith("After 1 step, only model can take Count.")


def test_a_model_beyond_the_limit_is_inconclusive(tmp_path):
    result = mirrored(Token(), tmp_path, limit=10)

    assert result.verdict == "inconclusive"
    assert "more than 10 states" in result.detail


@pytest.mark.parametrize(
    ("expected", "holds", "verdict", "detail"),
    [
        ("holds", lambda _: True, "holds", ""),
        ("OneNote", lambda state: not state[3], "holds", ""),
        ("holds", lambda state: not state[3], "violated", "violates OneNote after 1 step"),
        ("OneNote", lambda _: True, "violated", "never violates OneNote"),
    ],
)
def test_the_models_invariants_say_what_the_catalog_says(
    tmp_path, expected, holds, verdict, detail
):
    asked = CASE.asked.instead(CFG.read_text() + "INVARIANT OneNote\nINVARIANT Unmirrored\n")
    free = frozenset({"Unmirrored"})
    case = Case("token", "token", CASE.module, asked, expected, unmodelled=free)

    result = mirrored(Token(invariants={"OneNote": holds}), tmp_path, case)

    assert result.verdict == verdict
    assert detail in result.detail
    assert result.figures["invariants"] == ["OneNote"]


@pytest.mark.parametrize(
    ("holds", "verdict"), [(lambda _: True, "holds"), (lambda state: not state[3], "violated")]
)
def test_twins_have_one_graph_and_each_its_own_invariants(tmp_path, holds, verdict):
    def no_dump(*_):
        pytest.fail("TLC was asked again")

    asked = CASE.asked.instead(CFG.read_text() + "INVARIANT OneNote\n")
    twin = Case("twin", "token", CASE.module, asked)
    machine = Token(invariants={"OneNote": holds})
    twins = Twins()

    first = mirrored(machine, tmp_path, twins=twins)
    second = mirror_case(twin, machine, tmp_path, dump=no_dump, twins=twins)

    assert (first.verdict, second.verdict) == ("holds", verdict)
    assert second.figures["same_graph_as"] == "token"
    alike = ("states", "edges", "tlc_states", "tlc_edges", "depth", "actions")
    assert [second.figures[name] for name in alike] == [first.figures[name] for name in alike]


def test_a_graph_that_differs_is_no_twins(tmp_path):
    twins = Twins()

    assert mirrored(Token(limit=2), tmp_path, twins=twins).verdict == "violated"
    assert mirrored(Token(), tmp_path, twins=twins).verdict == "holds"
    assert twins.name == "token"


def test_the_verb_compares_twins_once(tmp_path, monkeypatch):
    from raincheck.conformance.verbs import mirror

    dumps = []

    def dump(_self, *given):
        dumps.append(given)
        return golden(*given)

    other = CASE.asked.instead(f"{CFG.read_text()}INVARIANT OneNote\n")
    cases = [CASE, replace(CASE, name="twin", asked=other, expected="OneNote")]
    monkeypatch.setattr(mirror.Comparer, "dump", dump)
    never = {"OneNote": lambda state: not state[3]}
    monkeypatch.setattr(mirror, "machine_of", lambda *_: Token(invariants=never))
    monkeypatch.setattr(mirror, "_chosen", lambda _: cases)

    outcome = run(arguments(tmp_path, "token", "twin"), Ui(quiet=True))

    assert [result.verdict for result in outcome.results] == ["holds", "holds"]
    assert [result.figures.get("same_graph_as") for result in outcome.results] == [None, "token"]
    assert len(dumps) == 1


def test_an_invariant_that_the_model_lacks_is_noticed(tmp_path):
    asked = CASE.asked.instead(CFG.read_text() + "INVARIANT OneNote\n")

    machine = Token(invariants={})
    result = mirrored(machine, tmp_path, Case("token", "token", CASE.module, asked))

    assert result.verdict == "violated"
    assert "the case asks OneNote, and the model has no invariant OneNote" in result.detail


def test_the_command_is_the_one_that_a_dry_run_shows(tmp_path):
    command = dump_command(CASE.module, CFG, tmp_path)

    assert command[-3:] == ["-config", str(CFG), str(CASE.module)]
    assert command[command.index("-dump") :][:2] == ["-dump", "dot,actionlabels"]


def test_one_protocols_cases_are_chosen_by_its_name(tmp_path):
    from raincheck.conformance.verbs import mirror

    given = arguments(tmp_path, "sequencer")
    chosen = mirror._chosen(given)

    assert len(chosen) > 1
    assert {case.protocol for case in chosen} == {"sequencer"}
    given.dry_run = True
    assert run(given, Ui(quiet=True)).reproduce.endswith("mirror sequencer")


def test_wrong_calls_are_answered_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "raincheck_empty", ModuleType("raincheck_empty"))
    empty = Protocol(name="empty", home=TOYS, cases=TOYS / "empty.toml", model="raincheck_empty")
    ui = Ui(quiet=True)
    files = ["--module", str(CASE.module), "--cfg", str(CFG)]
    for words, reason in [
        (files, "with --protocol"),
        ([*files, "--protocol", "nothing"], "There is no protocol nothing"),
        ([*files, "--protocol", "empty"], "raincheck_empty has no machine: define it"),
        ([*files, "--protocol", "sequencer"], "does not fit"),
        (["x", *files, "--protocol", "sequencer"], "without a case"),
        (["sequencer-crush"], "no case sequencer-crush: did you mean"),
        (["nothing"], "There is no case nothing"),
        (["--module", "none.tla", *files[2:], "--protocol", "sequencer"], "no file none"),
        (["--protocol", "sequencer"], "with --module and --cfg"),
    ]:
        with (
            added(empty) if "empty" in words else nullcontext(),
            pytest.raises(UsageError, match=reason),
        ):
            run(arguments(tmp_path, *words), ui)


def test_a_model_that_refuses_its_constants_is_said_in_a_sentence():
    with pytest.raises(UsageError, match=r"Token\.cfg does not fit"):
        machine_of("sequencer", CASE.asked.constants, "Token.cfg")


def test_a_difference_is_kept_as_evidence(tmp_path, monkeypatch):
    from raincheck.conformance.verbs import mirror

    monkeypatch.setattr(mirror, "machine_of", lambda *_: Token(limit=2))
    monkeypatch.setattr(mirror, "has_model", lambda _: True)
    monkeypatch.setattr(mirror, "_chosen", lambda _: [CASE])
    monkeypatch.setattr(mirror, "dump_graph", golden)

    outcome = run(arguments(tmp_path), Ui(quiet=True))

    assert outcome.exit_code == 1
    assert outcome.reproduce == "raincheck mirror"
    assert "only model can take Count" in (tmp_path / "out/token.difference.txt").read_text()
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["results"][0]["tlc_states"] == 32


def test_a_case_that_turns_out_too_large_is_left_out_unless_it_is_asked_for(tmp_path, monkeypatch):
    from raincheck.conformance.verbs import mirror

    monkeypatch.setattr(mirror, "machine_of", lambda *_: Token())
    monkeypatch.setattr(mirror, "_chosen", lambda _: [CASE])

    by_tier = run(arguments(tmp_path, "--limit", "10"), Ui(quiet=True))
    left_out = json.loads((tmp_path / "out/left_out.json").read_text())
    monkeypatch.setattr(mirror, "_chosen", lambda _: [replace(CASE, distinct=32)])
    pinned = run(arguments(tmp_path, "--limit", "10"), Ui(quiet=True))
    reasons = [e["reason"] for e in json.loads((tmp_path / "out/left_out.json").read_text())]
    by_name = run(arguments(tmp_path, "token", "--limit", "10"), Ui(quiet=True))

    assert (by_tier.results, by_tier.verdict) == ((), "inconclusive")
    assert [each["name"] for each in left_out] == ["token"]
    assert by_tier.more["left_out"] == left_out
    assert (pinned.results, reasons) == ((), ["it has 32 states, more than --limit 10"])
    assert [result.verdict for result in by_name.results] == ["inconclusive"]


@pytest.mark.java
def test_sequencers_model_mirrors_its_specification(tmp_path):
    outcome = run(arguments(tmp_path, "sequencer-leave", "sequencer-f17-seed"), Ui(quiet=True))

    assert [result.verdict for result in outcome.results] == ["holds", "holds"]
    leave, seed = (result.figures for result in outcome.results)
    assert (leave["states"], leave["edges"], leave["depth"]) == (761, 1926, 18)
    assert (seed["states"], seed["edges"], seed["violation_depth"]) == (111, 193, 7)
    for figures in (leave, seed):
        assert figures["states"] == figures["tlc_states"]
        assert figures["edges"] == figures["tlc_edges"]
    assert seed["invariants"] == ["Agreement"]


@pytest.mark.java
def test_a_repair_undone_in_the_model_alone_is_found(tmp_path):
    (case,) = select(load_cases(), names=["sequencer-leave"])
    constants = case.constants
    spec = dump_graph(case.module, case.configuration(), tmp_path).graph

    def found(repair: str) -> tuple[str, str, int]:
        machine = machine_of("sequencer", {**constants, repair: False}, case.name)
        graph = explore(machine, invariants={}).graph
        difference = compare(spec, of_machine(machine, graph))
        assert difference is not None
        return difference.kind, difference.action, len(difference.path)

    assert found("OwnTable") == ("other effect", "Send", 0)
    assert found("DrainOnLeave") == ("missing step", "Stop", 2)
    assert found("PruneTable") == ("other effect", "InstallView", 7)


@pytest.mark.java
def test_a_case_that_breaks_is_compared_as_far_as_the_check_went_and_whole_in_the_full_tier(
    tmp_path,
):
    store = Store(tmp_path / "store")
    (case,) = select(load_cases(), names=["unicast-f10-undone"])
    with Processes() as processes:
        checker = Checker(find_java(), tlc_jar(), Options(), store, processes, graphs="quick")
        assert checker.ask(case).result.violated == "BoundedBuffers"
        asked = Case(case.name, case.protocol, case.module, case.configuration(), case.expected)
        whole = Comparer(store, processes).compared(asked, lambda _: None)
        part = Comparer(store, processes, whole=False).compared(asked, lambda _: None)

    assert (part.verdict, whole.verdict) == ("holds", "holds")
    assert part.detail == "as far as TLC went until the violation"
    assert part.figures["part"]
    assert part.figures["violation_depth"] == whole.figures["violation_depth"]
    assert part.figures["states"] < whole.figures["states"]
    assert "part" not in whole.figures


@pytest.mark.java
@pytest.mark.parametrize("name", ["nakack-f1-seed", "frag-give-up"])
def test_a_small_graph_of_a_temporal_question_comes_with_its_answer(tmp_path, name):
    store = Store(tmp_path / "store")
    (case,) = select(load_cases(), names=[name])
    asked = Case(case.name, case.protocol, case.module, case.configuration(), case.expected)
    with Processes() as processes:
        checker = Checker(find_java(), tlc_jar(), Options(), store, processes, graphs="quick")
        assert checker.ask(case).result.violated == case.expected.replace("holds", "")

    # From here on no process can be started.
    found = Comparer(store, processes).compared(asked, lambda _: None)

    assert found.verdict == "holds"
    assert "part" not in found.figures


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (TlcResult("holds"), {"states": 0, "part": False}),
        (TlcResult("violated", kind="temporal"), {"states": 0, "part": False}),
        (TlcResult("violated", kind="temporal", waiting=1), None),
        (TlcResult("violated", kind="invariant", waiting=1), None),
        (TlcResult("violated", kind="invariant", trace=STATES), {"states": 0, "part": True}),
        (TlcResult("violated", kind="property", trace=STATES), {"states": 0, "part": True}),
        (TlcResult("error"), None),
    ],
)
def test_only_a_graph_of_which_it_is_known_how_far_it_goes_is_kept(tmp_path, result, kept):
    store = Store(tmp_path)

    KeptGraph(store, "key").keep(result)

    assert store.get("graph", "key") == kept


def test_a_check_keeps_the_graphs_that_a_mirror_of_its_tier_takes():
    catalog = {case.name: case for case in load_cases()}
    checker = Checker(find_java(), tlc_jar(), Options(), None, Processes())

    def kept(name: str, tier: str) -> bool:
        return replace(checker, graphs=tier).compared(catalog[name])

    assert kept("unicast-f10-undone", "quick")
    assert not kept("unicast-f10-undone", "")
    assert not kept("layers-crash", "full"), "the composition has no model"
    assert not kept("raincore-f18-altered", "quick"), "it is compared in the full tier"
    assert kept("raincore-f18-altered", "full")


def test_what_has_no_model_of_its_own_is_left_out_and_said(tmp_path, monkeypatch):
    from raincheck.conformance.verbs import mirror

    monkeypatch.setattr(mirror, "_chosen", lambda _: [CASE])
    assert not mirror.has_model(CASE.protocol)

    run(arguments(tmp_path), Ui(quiet=True))

    (left_out,) = json.loads((tmp_path / "out/left_out.json").read_text())
    assert left_out["reason"] == f"{CASE.protocol} has no model"
