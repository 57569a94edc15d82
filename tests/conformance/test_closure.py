"""Assumptions are followed to the end; a circle of them is amber until a result breaks it."""

from pathlib import Path

import pytest

from raincheck.conformance.cases.tables import Assumption, Case, load_assumptions, load_cases
from raincheck.conformance.evidence.closure import Closures, broken_by, needed
from raincheck.conformance.evidence.needs import needs_of
from raincheck.conformance.evidence.proofcircle import circle_name, discharged
from raincheck.conformance.protocols.record import Circle
from raincheck.conformance.protocols.registry import protocols
from raincheck.model.nakack.proof.with_stable import compositions


def case(protocol: str, *asked: str, **more: object) -> Case:
    """A small case that holds."""
    fields: dict[str, object] = {"expected": "holds", "tier": "quick", "rule": "R1"}
    fields |= {"name": f"{protocol}-case", "module": Path("X.tla"), "words": "", **more}
    return Case(protocol=protocol, properties=asked, **fields)  # type: ignore[arg-type]


def assumes(protocol: str, name: str, *evidence: str, only: tuple[str, ...] = ()) -> Assumption:
    """An assumption of the protocol."""
    return Assumption(name, protocol, "BELOW", "words", evidence, only=only)


TOP, MIDDLE, BOTTOM = case("top", "P"), case("middle", "Q", "R"), case("bottom", "S")
CHAIN = (
    assumes("top", "A", "middle.Q"),
    assumes("middle", "B", "bottom.S", "trace middle"),
    assumes("bottom", "C"),
)


def test_what_a_property_rests_on_is_followed_to_what_nobody_promises() -> None:
    closure = Closures((TOP, MIDDLE, BOTTOM), CHAIN).of("top", "P")

    assert closure.roots == (("bottom", "C"),)
    assert closure.properties == (("bottom", "S"), ("middle", "Q"))
    assert closure.assumptions == (("bottom", "C"), ("middle", "B"), ("top", "A"))
    assert closure.circles == ()


def test_an_assumption_that_another_protocol_makes_too_ends_there() -> None:
    assumptions = (assumes("top", "A", "assumption bottom.C"), assumes("bottom", "C"))

    assert Closures((TOP, BOTTOM), assumptions).of("top", "P").roots == (("bottom", "C"),)


def test_a_property_rests_only_on_what_its_record_and_its_cases_leave_to_it() -> None:
    granted: dict[str, object] = {"assumed": {"A": True, "B": True}}
    without_a = case("top", "P", "Q", **granted, constants={"A": False, "B": True})
    broken = case("top", "Q", **granted, constants={"A": False, "B": True}, expected="Q")
    idle = case("top", "P", **granted, constants={"A": True, "B": False}, idle=frozenset({"P"}))
    assumptions = [assumes("top", "A"), assumes("top", "B"), assumes("top", "C", only=("Q",))]

    def names(of: str) -> list[str]:
        asking = [each for each in (without_a, broken, idle) if of in each.properties]
        return [each.name for each in needed(of, asking, assumptions)]

    assert names("P") == ["B"]
    assert names("Q") == ["A", "B", "C"]


CIRCLE = (
    assumes("top", "A", "middle.Q"),
    assumes("middle", "B", "top.P"),
)
BOTH = ("top", "middle")
ASKED = ("TopA", "MiddleB")


def composed(name: str, *asked: str, **more: object) -> Case:
    """A case in which both run together; it asks these of their assumptions."""
    return case("composed", "P", *asked, **{"name": name, "made_of": BOTH, **more})


COMPOSED = (
    composed("all", *ASKED),
    composed("above", "TopA"),
    composed("below", "MiddleB"),
    composed("idle", *ASKED, idle=frozenset({"MiddleB"})),
    composed("falls", *ASKED, expected="P"),
    composed("other", *ASKED, implemented={"Repair": True}, constants={"Repair": False}),
    composed("alone", *ASKED, made_of=("top",)),
)
PROVED = {"proof both": ASKED, "proof one": ("TopA",)}


@pytest.mark.parametrize(
    ("of", "by", "broken"),
    [
        (BOTH, ["case all"], True),
        (BOTH, ["case above"], False),
        (BOTH, ["case above", "case below"], True),
        (BOTH, ["case above", "case left-out"], False),
        (BOTH, ["case above", "proof one"], False),
        (BOTH, ["case idle"], False),
        (BOTH, ["case falls"], False),
        (BOTH, ["case other"], False),
        (BOTH, ["case alone"], False),
        (BOTH, ["case top-case"], False),
        (("top", "bottom"), ["case all"], False),
        (("top", "bottom"), ["proof both"], False),
        (BOTH, ["proof both"], True),
        (BOTH, ["proof one"], False),
        (BOTH, ["proof one", "case below"], True),
    ],
)
def test_a_circle_is_broken_only_by_results_that_ask_each_assumption_in_it_of_all_of_it(
    of: tuple[str, ...], by: list[str], broken: bool
) -> None:
    cases = (TOP, MIDDLE, *COMPOSED)
    held = {f"case {each.name}": () for each in cases} | PROVED
    results = broken_by([Circle(of, tuple(by))], cases, held)

    found = Closures(cases, CIRCLE, results).of("top", "P").circles

    assert found == (() if broken else (("middle", "top"),))


@pytest.mark.parametrize("by", ["case all", "proof both"])
def test_a_circle_is_not_broken_by_a_result_that_is_not_as_expected(by: str) -> None:
    cases = (TOP, MIDDLE, *COMPOSED)
    results = broken_by([Circle(BOTH, (by,))], cases, {})

    assert Closures(cases, CIRCLE, results).of("top", "P").circles == (("middle", "top"),)


def test_the_circle_of_nakack_and_stable_is_broken_by_a_proof_of_what_they_assume() -> None:
    (of_both,) = compositions()
    name, discharges = circle_name("nakack", of_both), discharged(of_both)
    circles = [each for record in protocols().values() for each in record.circles]
    cases, assumptions = load_cases(), load_assumptions()

    def left(held: dict[str, list[str]]) -> tuple[tuple[str, ...], ...]:
        closures = Closures(cases, assumptions, broken_by(circles, cases, held))
        return closures.of("stable", "OnlyStablePurged").circles

    assert ("nakack", "stable") in left({})
    assert ("nakack", "stable") not in left({f"proof {name}": discharges})
    assert ("nakack", "stable") in left({f"proof {name}": discharges[1:]})


def test_properties_that_do_not_rest_on_each_other_make_no_circle() -> None:
    """middle.Q rests on top, top.P on middle.R, which rests on nothing."""
    assumptions = (
        assumes("top", "A", "middle.R"),
        assumes("middle", "B", "top.P", only=("Q",)),
    )

    assert Closures((TOP, MIDDLE), assumptions).of("middle", "Q").circles == ()


# ---------------------------------------------------------------- our own


def test_total_order_rests_on_what_flush_and_gms_rest_on() -> None:
    closure = Closures(load_cases(), load_assumptions()).of("sequencer", "TotalOrder")

    assert {"flush", "gms", "nakack", "unicast"} <= {protocol for protocol, _ in closure.properties}
    names = {name for _, name in closure.roots}
    assert {"AccurateSuspicion", "FairLinks", "NoByzantineMember"} <= names


def test_every_circle_of_our_own_protocols_is_broken_by_results_of_the_quick_tier() -> None:
    cases = [case for case in load_cases() if case.tier == "quick"]
    declared = [circle for record in protocols().values() for circle in record.circles]
    held: dict[str, tuple[str, ...]] = {f"case {case.name}": () for case in cases}
    results = broken_by(declared, cases, held)
    closures = Closures(load_cases(), load_assumptions(), results)
    circles = closures.circles()

    def lacking(circle: tuple[str, ...]) -> set[str]:
        asked = [each.asked for each in results if each.of.issuperset(circle)]
        return {name for name in closures.within(circle) if not any(name in of for of in asked)}

    assert ("flush", "gms") in circles
    assert [(each, lacking(each)) for each in circles if lacking(each)] == []


def test_every_assumption_that_nothing_discharges_says_what_it_would_cost() -> None:
    lacking = [each for each in load_assumptions() if not each.evidence and not each.cost]

    assert [f"{each.protocol}.{each.name}" for each in lacking] == []


def test_every_property_ends_at_an_assumption() -> None:
    """No member is trusted without saying so, nor any link."""
    cases, assumptions = load_cases(), load_assumptions()
    closures = Closures(cases, assumptions)
    asked = {(c.protocol, name) for c in cases if not c.made_of for name in c.properties}
    assert asked
    for protocol, name in sorted(asked):
        roots = {root for _, root in closures.of(protocol, name).roots}
        assert "NoByzantineMember" in roots, (protocol, name)


def test_no_case_breaks_a_property_by_an_assumption_that_is_said_not_to_matter_to_it() -> None:
    cases, assumptions = load_cases(), load_assumptions()
    needs = needs_of(cases, assumptions)
    for each in assumptions:
        for name in each.only:
            assert any(name in c.properties for c in cases if c.protocol == each.protocol), name
        for (protocol, name), needed_names in needs.items():
            if each.only and protocol == each.protocol and each.name in needed_names:
                assert name in each.only, (protocol, name, each.name)
