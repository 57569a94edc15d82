"""The audit adds nothing up that was not found, and lets nothing pass that was."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from raincheck.conformance.cases.tables import Assumption, Case, load_assumptions, load_cases
from raincheck.conformance.evidence.basis import NOT_OFFERED, OPEN, Basis, Step
from raincheck.conformance.evidence.verdicts import compile_basis
from raincheck.conformance.evidence.witnesses import kill_rates
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Outcome
from raincheck.conformance.protocols.registry import added, protocols
from raincheck.conformance.replay.mutants import Mutant

CASES = tuple(case for case in load_cases() if (case.tier, case.protocol) == ("quick", "sequencer"))
ASSUMPTIONS = tuple(
    replace(each, evidence=() if each.name == "VirtualSynchrony" else ("field sequencer.Trace",))
    for each in load_assumptions()
    if each.protocol == "sequencer"
)
"""SEQUENCER alone, with one assumption that nobody discharges."""

Entry = dict[str, Any]


def entry(name: str, verdict: str = HOLDS, **figures: object) -> Entry:
    """A result as a summary.json has it."""
    return {
        "name": name,
        "protocol": "sequencer",
        "verdict": verdict,
        "expected": HOLDS,
        **figures,
    }


def check_entries() -> list[Entry]:
    """Every quick case, as the catalog foresees it."""
    return [
        entry(case.name, case.expected, distinct_states=case.distinct or 1)
        | {"expected": case.expected, "protocol": case.protocol}
        for case in CASES
    ]


def step(name: str, entries: list[Entry], verdict: str = HOLDS) -> Step:
    """A finished step."""
    return Step(name, name.split("-")[0], f"raincheck {name}", verdict, 1.0, name, tuple(entries))


def good_steps() -> dict[str, Step]:
    """All evidence there, and all of it good."""
    properties = ("TotalOrder", "Agreement", "Integrity")
    field = ("Trace", "Integrity", "Fifo", "InView")
    return {
        "check": step("check", check_entries()),
        "mirror": step(
            "mirror", [entry(case.name, edges=7) | {"protocol": case.protocol} for case in CASES]
        ),
        "prove": step("prove", [entry(name, property=name, seeds=[1, 2]) for name in properties]),
        "generate": step("generate", generate_entries()),
        "run": step("run", [entry("run-1", events=1000), *(entry(name, runs=1) for name in field)]),
        "conform": step("conform", [entry("run-1", events=300)]),
        "conform-spark": step("conform-spark", [entry("run-1", events=300)]),
    }


def generate_entries() -> list[Entry]:
    """What replay and lockstep say of SEQUENCER."""
    return [
        entry("sequencer-f13-repaired", covered=7, edges=7, steps=9),
        entry("sequencer-lockstep", examples=100, steps=4000),
        entry("sequencer-coverage", guards=3, seen_false=3, actions=5, reached=5),
    ]


def compiled(steps: Mapping[str, Step]) -> Basis:
    """The basis of these steps."""
    return compile_basis(tuple(steps.values()), CASES, ASSUMPTIONS)


def verdict_of(basis: Basis) -> str:
    """What the audit would answer."""
    return Outcome("audit", basis.results(), "raincheck audit").verdict


def test_with_all_evidence_there_the_audit_holds() -> None:
    assert verdict_of(compiled(good_steps())) == HOLDS


def test_a_case_that_is_not_as_expected_reaches_the_verdict_its_hole_and_its_property() -> None:
    steps = good_steps()
    entries = check_entries()
    for each in entries:
        if each["name"] == "sequencer-f3-repaired":
            each["verdict"] = "Validity"
    steps["check"] = step("check", entries, VIOLATED)

    basis = compiled(steps)

    assert verdict_of(basis) == VIOLATED
    assert {row.flaw: row.verdict for row in basis.flaws}["SEQ-F3"] == VIOLATED
    validity = next(row for row in basis.properties if row.name == "Validity")
    assert validity.cells["TLC"].verdict == VIOLATED


def test_an_expected_violation_that_is_no_longer_found_is_a_failure() -> None:
    steps = good_steps()
    entries = check_entries()
    for each in entries:
        if each["name"] == "sequencer-f2-undone":
            each["verdict"] = HOLDS
    steps["check"] = step("check", entries, VIOLATED)

    basis = compiled(steps)

    assert {row.flaw: row.verdict for row in basis.flaws}["SEQ-F2"] == VIOLATED


@pytest.mark.parametrize("name", ["check", "mirror", "prove", "run"])
def test_a_step_that_failed_to_run_leaves_the_audit_inconclusive(name: str) -> None:
    steps = good_steps()
    steps[name] = replace(steps[name], results=(), verdict=INCONCLUSIVE, problem="Java is missing.")

    assert verdict_of(compiled(steps)) == INCONCLUSIVE


def test_evidence_that_is_missing_is_shown_as_missing() -> None:
    basis = compiled({"check": good_steps()["check"]})

    for row in basis.properties:
        assert row.cells["TLC"].verdict == HOLDS
        assert row.cells["Z3"].verdict == INCONCLUSIVE
        assert row.cells["mirror"].verdict == INCONCLUSIVE
        assert row.cells["field"].verdict == INCONCLUSIVE


def test_a_property_violated_in_the_field_is_violated() -> None:
    steps = good_steps()
    entries = [entry("run-1", events=10), entry("Integrity", VIOLATED)]
    steps["run"] = step("run", entries, VIOLATED)

    basis = compiled(steps)

    integrity = next(row for row in basis.properties if row.name == "Integrity")
    assert integrity.verdict == VIOLATED
    assert verdict_of(basis) == VIOLATED


def test_what_only_shows_a_known_gap_is_reported_and_is_no_surprise() -> None:
    steps = good_steps()
    gap = entry("r1: TotalOrder", INCONCLUSIVE, assumption="VirtualSynchrony")
    steps["conform"] = step("conform", [entry("r1", events=300), gap], INCONCLUSIVE)

    basis = compiled(steps)

    assert verdict_of(basis) == HOLDS
    order = next(row for row in basis.properties if row.name == "TotalOrder")
    assert order.cells["field"].verdict == INCONCLUSIVE
    assert "VirtualSynchrony" in order.cells["field"].text


def test_an_inconclusive_trace_without_a_known_gap_is_a_surprise() -> None:
    steps = good_steps()
    steps["conform"] = step("conform", [entry("r1", INCONCLUSIVE)], INCONCLUSIVE)

    assert verdict_of(compiled(steps)) == INCONCLUSIVE


def test_what_a_property_stands_on_is_derived_from_the_cases_that_lack_it() -> None:
    rows = {row.name: row.assumptions for row in compiled(good_steps()).properties}

    assert rows["TotalOrder"] == ("VirtualSynchrony",)
    assert rows["Agreement"] == ("VirtualSynchrony",)
    assert rows["Validity"] == ("FifoForward",)
    assert rows["InView"] == ()


def test_an_assumption_that_nothing_discharges_is_open_and_one_that_lost_its_evidence_is_not() -> (
    None
):
    rows = {row.assumption.name: row.cell.verdict for row in compiled(good_steps()).assumptions}
    assert rows == {
        "FifoForward": HOLDS,
        "ReliableFifoMulticast": HOLDS,
        "SingleSequenceOfViews": HOLDS,
        "VirtualSynchrony": OPEN,
        "TrueSources": HOLDS,
        "TrueContents": HOLDS,
    }

    steps = good_steps()
    del steps["run"]
    assert verdict_of(compiled(steps)) == INCONCLUSIVE


def test_a_hole_is_shown_as_closed_only_where_it_is_exhibited() -> None:
    rows = {row.flaw: row for row in compiled(good_steps()).flaws}

    closed = {case.flaw for case in CASES if case.flaw and case.expected == HOLDS}
    broken = {case.flaw for case in CASES if case.flaw and case.expected != HOLDS}
    assert "SEQ-F13" in closed - broken, "its broken case is one of the full tier"
    assert rows.keys() == broken
    assert rows["SEQ-F3"].closed
    assert all(row.exhibited for row in rows.values())


# ---------------------------------------------------------------- any protocol


def toy_steps(case: Case, **checked: object) -> tuple[Step, ...]:
    """What the verbs say of a toy protocol, all of it good."""

    def one(name: str, **figures: object) -> Entry:
        return entry(name, **figures) | {"protocol": "handover"}

    return (
        step("check", [one(case.name, distinct_states=67) | checked]),
        step("mirror", [one(case.name, edges=246)]),
        step("prove", [one("handover-OneHolder", property="OneHolder", seeds=[1, 2])]),
        step(
            "generate",
            [
                one(case.name, covered=246, edges=246, steps=531),
                one("handover-lockstep", examples=100, steps=4000, steps_by_action={"Pass": 9}),
                one("handover-coverage", guards=3, seen_false=3, actions=5, reached=5),
            ],
        ),
        step("mutate", [one("handover-without-thanks")]),
        step("conform", [one("r1: handover", events=120, files=2)]),
    )


def toy_case(toy: SimpleNamespace, **fields: object) -> Case:
    return replace(toy.case, **{"properties": ("TypeOK", "OneHolder"), **fields})


def test_each_protocol_has_a_row_of_what_every_check_came_to(toy: SimpleNamespace) -> None:
    case = toy_case(toy)

    (row,) = compile_basis(toy_steps(case), (case,), ()).protocols

    assert row.protocol == "handover"
    assert {kind: cell.text for kind, cell in row.cells.items()} == {
        "TLC": "1 cases",
        "mirror": "1 graphs",
        "Z3": "1 properties",
        "replay": "246 of 246 edges",
        "lockstep": "4,000 steps",
        "guards": "3 of 3 conjuncts seen false",
        "mutants": "1 mutants",
        "lies": "was not run",
        "traces": "120 events",
        "traces, Spark": "was not run",
    }
    assert row.cells["traces, Spark"].verdict == INCONCLUSIVE


def test_another_protocols_results_do_not_speak_for_this_one(toy: SimpleNamespace) -> None:
    case = toy_case(toy)
    steps = tuple(
        replace(each, results=tuple(e | {"protocol": "other"} for e in each.results))
        if each.name in ("prove", "conform")
        else each
        for each in toy_steps(case)
    )

    basis = compile_basis(steps, (case,), ())

    (row,) = basis.properties
    assert (row.protocol, row.name) == ("handover", "OneHolder")
    assert row.cells["Z3"].verdict == row.cells["field"].verdict == INCONCLUSIVE
    assert basis.protocols[0].cells["traces"].text == "nothing"


def test_a_property_of_a_protocol_rests_on_its_proof_and_its_traces(toy: SimpleNamespace) -> None:
    case = toy_case(toy)

    basis = compile_basis(toy_steps(case), (case,), ())

    (row,) = basis.properties
    assert row.cells["Z3"].verdict == row.cells["field"].verdict == HOLDS
    assert row.cells["field"].text == "1 traces, 120 events, each one the model's"
    assert basis.actions == {"handover!Pass": {"lockstep": 9}}
    assert not basis.without_a_rule


def test_an_action_that_is_taken_only_without_a_rule_is_named(toy: SimpleNamespace) -> None:
    case = toy_case(toy)
    seen = entry(
        "handover-actions", edges_by_action={"Drop": 2}, taken_without_a_rule_alone=["Drop"]
    )
    steps = [each for each in toy_steps(case) if each.name != "mutate"]

    basis = compile_basis((*steps, step("mutate", [{**seen, "protocol": "handover"}])), (case,), ())

    assert basis.without_a_rule == ("handover!Drop",)
    assert basis.actions["handover!Drop"] == {"mutate": 2}


@pytest.mark.parametrize(
    ("evidence", "verdict", "text"),
    [
        ((), OPEN, ""),
        (("handover.OneHolder",), HOLDS, "handover.OneHolder (TLC holds, Z3 holds"),
        (("handover.Beauty",), INCONCLUSIVE, "no case promises it"),
        (("trace handover",), HOLDS, "field, handover: 1 traces, 120 events"),
        (("trace other",), INCONCLUSIVE, "no trace of it"),
        (("case handover-small",), HOLDS, "TLC, handover-small: 67 states"),
        (("case handover-large",), INCONCLUSIVE, "was not checked"),
        (("handover.OneHolder", "trace other"), INCONCLUSIVE, "no trace of it"),
        (("field sequencer.Trace",), INCONCLUSIVE, "no trace speaks of it"),
    ],
)
def test_an_assumption_is_discharged_by_what_the_catalog_names(
    toy: SimpleNamespace, evidence: tuple[str, ...], verdict: str, text: str
) -> None:
    case = toy_case(toy)
    assumption = Assumption("OneToken", "upper", "HANDOVER", "there is one token", evidence)

    (row,) = compile_basis(toy_steps(case), (case,), (assumption,)).assumptions

    assert row.cell.verdict == verdict
    assert text in row.cell.text


def test_evidence_that_is_violated_violates_the_assumption(toy: SimpleNamespace) -> None:
    case = toy_case(toy)
    assumption = Assumption("OneToken", "upper", "HANDOVER", "one", ("handover.OneHolder",))
    steps = toy_steps(case, verdict="OneHolder")

    (row,) = compile_basis(steps, (case,), (assumption,)).assumptions

    assert row.cell.verdict == VIOLATED


def test_a_case_with_other_rules_than_the_implementation_promises_nothing(
    toy: SimpleNamespace,
) -> None:
    case = replace(toy_case(toy), implemented={"Thanks": True}, constants={"Thanks": True})
    other = replace(case, constants={"Thanks": False})

    assert len(compile_basis(toy_steps(case), (case,), ()).properties) == 1
    assert compile_basis(toy_steps(other), (other,), ()).properties == ()


def test_what_the_catalog_names_as_evidence_is_promised_by_some_case() -> None:
    """A word that means nothing would leave the assumption open for ever."""
    cases = load_cases()
    promised = {(case.protocol, name) for case in cases for name in case.properties}
    names = {case.name for case in cases}
    protocols = {case.protocol for case in cases}
    assumed = {(each.protocol, each.name) for each in load_assumptions()}
    for assumption in load_assumptions():
        for evidence in assumption.evidence:
            kind, _, rest = evidence.partition(" ")
            protocol, _, name = (rest or evidence).partition(".")
            if kind == "assumption":
                assert tuple(rest.split(".")) in assumed, evidence
            elif kind in ("case", "trace"):
                assert rest in (names if kind == "case" else protocols), evidence
            else:
                judged = {("sequencer", "Trace"), ("sequencer", "VirtualSynchrony")}
                known = promised | (judged if kind == "field" else set())
                assert (protocol, name) in known, evidence


# ---------------------------------------------------------------- counts and witnesses


def test_events_are_those_of_the_protocol_and_once_whatever_the_engines() -> None:
    steps = good_steps()
    own = [entry("r1", events=300), entry("r1: flush", events=50) | {"protocol": "flush"}]
    steps["conform"] = step("conform", own)
    steps["conform-spark"] = step("conform-spark", own)

    rows = {row.name: row.cells["field"].text for row in compiled(steps).properties}

    assert rows["Integrity"] == "1 runs, 300 events"


def test_engines_that_say_different_things_of_a_trace_decide_nothing(
    toy: SimpleNamespace,
) -> None:
    case = toy_case(toy)
    spark = step("conform-spark", [entry("r1: handover", events=119) | {"protocol": "handover"}])

    (row,) = compile_basis((*toy_steps(case), spark), (case,), ()).properties

    assert row.cells["traces"].verdict == INCONCLUSIVE


def test_generated_traces_are_not_the_fields(toy: SimpleNamespace) -> None:
    case = toy_case(toy)
    steps = [
        replace(each, generated=each.name == "conform")
        for each in toy_steps(case)
        if each.name != "run"
    ]

    basis = compile_basis(steps, (case,), ())

    (row,) = basis.properties
    assert row.cells["traces"].text == "1 generated traces, 120 events, each one the model's"
    assert row.cells["field"].verdict == INCONCLUSIVE
    assert basis.protocols[0].links["field"].verdict == INCONCLUSIVE
    assert "link field of handover: no real process was run" in basis.incomplete


def test_what_a_record_does_not_promise_is_not_offered_and_nothing_is_missing(
    toy: SimpleNamespace,
) -> None:
    case = toy_case(toy)
    record = replace(protocols()["handover"], links=("specification", "model", "code", "traces"))
    kept = [each for each in toy_steps(case) if each.name not in ("prove", "run")]
    kept.append(step("conform-spark", list(kept[-1].results)))

    with added(record):
        basis = compile_basis(
            [replace(each, generated=each.name.startswith("conform")) for each in kept], (case,), ()
        )

    (row,) = basis.protocols
    assert row.not_offered == ("proofs", "field")
    assert row.verdict == HOLDS
    assert basis.incomplete == ()
    assert {kind: cell.verdict for kind, cell in basis.properties[0].cells.items()} == {
        "TLC": HOLDS,
        "Z3": NOT_OFFERED,
        "mirror": HOLDS,
        "code": HOLDS,
        "traces": HOLDS,
        "field": NOT_OFFERED,
    }
    assert verdict_of(basis) == HOLDS


def test_instances_of_other_rules_are_not_counted_for_the_protocol(toy: SimpleNamespace) -> None:
    case = replace(toy_case(toy), implemented={"Thanks": True}, constants={"Thanks": True})
    other = replace(case, name="handover-other", constants={"Thanks": False})
    steps = toy_steps(case)
    checked = [*steps[0].results, steps[0].results[0] | {"name": other.name}]  # type: ignore[operator]

    basis = compile_basis((step("check", checked), *steps[1:]), (case, other), ())

    assert basis.protocols[0].cells["TLC"].text == "1 cases, and 1 of other rules"
    assert basis.properties[0].cells["TLC"].text.startswith("1 instances")


def test_a_replay_of_code_that_fails_violates_the_properties_of_its_case(
    toy: SimpleNamespace,
) -> None:
    case = toy_case(toy)
    steps = list(toy_steps(case))
    bad = [{**each, "verdict": VIOLATED} for each in steps[3].results[:1]]
    steps[3] = step("generate", [*bad, *steps[3].results[1:]])  # type: ignore[list-item]

    (row,) = compile_basis(steps, (case,), ()).properties

    assert row.cells["code"].verdict == row.verdict == VIOLATED


def test_a_kind_of_evidence_has_its_witness_or_the_property_is_reserved() -> None:
    mutants = [
        Mutant(
            "bad-order", "shows", "sequencer", file="Sequencer.tla", cases=("x",), breaks="Fifo"
        ),
        Mutant("bad-code", "shows", "sequencer", file="impl/sequencer/core.py", cases=()),
    ]
    steps = good_steps()
    tried = [entry("bad-order", killed_by="TLC"), entry("bad-code", killed_by="replay")]
    steps["mutate"] = step("mutate", tried)
    name = "conformance/trace/sequencer/promises.py x: 'y'"
    steps["judges"] = step("judges", [entry(name, planted="Fifo: violated: {}", noticed="z")])

    basis = compile_basis(tuple(steps.values()), CASES, ASSUMPTIONS, mutants)

    fifo = next(row for row in basis.properties if row.name == "Fifo")
    assert fifo.witnesses["code"] == "mutant bad-code"
    assert fifo.witnesses["traces"] == f"rule {name}"
    assert fifo.witnesses["Z3"] == ""
    integrity = next(row for row in basis.properties if row.name == "Integrity")
    assert integrity.witnesses["traces"] == ""
    assert "field: no planted fault that this evidence has caught" in integrity.amber
    assert integrity.verdict == HOLDS


def test_a_fault_that_was_not_caught_is_no_witness() -> None:
    steps = good_steps()
    steps["mutate"] = step("mutate", [entry("bad-code", VIOLATED, killed_by="")], VIOLATED)
    mutants = [Mutant("bad-code", "shows", "sequencer", file="impl/sequencer/core.py", cases=())]

    basis = compile_basis(tuple(steps.values()), CASES, ASSUMPTIONS, mutants)

    assert all(not row.witnesses["code"] for row in basis.properties)
    assert kill_rates(basis.faults)["code"] == (0, 1)


def test_what_a_result_says_that_it_has_caught_is_a_witness_of_its_property() -> None:
    steps = good_steps()
    said = entry("Fifo", property="Fifo", seeds=[1], caught=["Fifo of founders only"])
    steps["prove"] = step("prove", [said])

    basis = compiled(steps)

    fifo = next(row for row in basis.properties if row.name == "Fifo")
    assert fifo.witnesses["Z3"] == "Fifo of founders only"


def test_a_property_that_rests_on_one_that_fell_is_not_decided(toy: SimpleNamespace) -> None:
    case = toy_case(toy)
    upper = replace(case, name="upper-one", protocol="upper", properties=("Above",))
    entries = [
        *(each | {"verdict": "OneHolder"} for each in toy_steps(case)[0].results),  # type: ignore[operator]
        entry("upper-one", distinct_states=3) | {"protocol": "upper"},
    ]
    assumption = Assumption("OneToken", "upper", "HANDOVER", "one", ("handover.OneHolder",))

    basis = compile_basis((step("check", entries),), (case, upper), (assumption,))

    above = next(row for row in basis.properties if row.name == "Above")
    assert above.cells["TLC"].verdict == HOLDS
    assert above.verdict == INCONCLUSIVE
    assert above.fallen == ("handover.OneHolder",)


def test_a_case_that_fell_by_one_property_decides_nothing_about_the_others() -> None:
    """TLC stops at the first violation."""
    steps = good_steps()
    entries = check_entries()
    for each in entries:
        if each["name"] == "sequencer-f13-repaired":
            each["verdict"] = "Agreement"
    steps["check"] = step("check", entries, VIOLATED)

    cells = {row.name: row.cells["TLC"] for row in compiled(steps).properties}

    assert cells["Agreement"].verdict == VIOLATED
    assert cells["Integrity"].verdict == INCONCLUSIVE
    assert cells["Integrity"].text == "not decided by sequencer-f13-repaired"


@pytest.mark.parametrize(("broken", "verdict", "caught"), [(3, HOLDS, True), (0, HOLDS, False)])
def test_states_that_break_a_promise_are_the_witness_of_its_theorem(
    broken: int, verdict: str, caught: bool
) -> None:
    steps = good_steps()
    twin = entry("sequencer-twin-Fifo", verdict, property="Fifo", kept=9, broken=broken)
    steps["prove"] = step("prove", [entry("Fifo", property="Fifo", seeds=[1]), twin])

    fifo = next(row for row in compiled(steps).properties if row.name == "Fifo")

    assert fifo.witnesses["Z3"] == ("3 states that break Fifo" if caught else "")


def test_damaged_runs_that_were_noticed_are_a_witness_of_the_traces(toy: SimpleNamespace) -> None:
    case = toy_case(toy)
    said = {"recall": 1.0, "accused": 0, "good": 63, "passed": 0, "protocol": "handover"}
    suite = step("damage", [entry("handover-damage", noticed=60) | said])

    basis = compile_basis((*toy_steps(case), suite), (case,), ())

    assert basis.properties[0].witnesses["traces"] == "60 damaged runs"
    link = next(each for each in basis.links if each.between == "the trace checker, told lies")
    assert link.cell.text == "60 of 60 noticed, 0 accused, 0 false alarms in 63 good runs"


def test_what_breaks_a_property_beyond_its_cases_is_said_with_it() -> None:
    cases = tuple(replace(case, open={"TotalOrder": "a run of five members"}) for case in CASES)

    basis = compile_basis(tuple(good_steps().values()), cases, ASSUMPTIONS)

    rows = {row.name: row for row in basis.properties}
    assert rows["TotalOrder"].amber[0] == "open: a run of five members"
    assert not any(each.startswith("open") for each in rows["Agreement"].amber)
