"""Two summaries are compared: what was lost, what was gained, and what must not be told."""

import copy
from typing import Any

import pytest

from raincheck.conformance.evidence.changes import changes

CELL = {"verdict": "holds", "text": "3 instances, 10 states"}
SUMMARY: dict[str, Any] = {
    "verdict": "holds",
    "tier": "quick",
    "seed": 1,
    "incomplete": [],
    "identity": {
        "commit": "abc",
        "clean": True,
        "changed": [],
        "tools": {"z3": "4.13"},
        "machine": {"system": "Linux"},
        "sources": {"spec/A.tla": "1", "spec/B.tla": "2"},
    },
    "properties": [
        {
            "protocol": "toy",
            "name": "Safe",
            "verdict": "holds",
            "as_long_as": ["toy.Fair"],
            "circles": [],
            "witnesses": {"TLC": "case toy-bad"},
            "cells": {"TLC": CELL, "field": {"verdict": "holds", "text": "2 runs, 80 events"}},
        }
    ],
    "cases": {
        "toy-good": {
            "verdict": "holds",
            "expected": "holds",
            "distinct_states": 10,
            "depth": 4,
            "asks": ["Safe", "Live"],
            "idle": [],
        }
    },
    "assumptions": {"toy.Fair": {"verdict": "not discharged", "words": "links are fair"}},
    "protocols": {"toy": {"field": {"verdict": "holds", "text": ""}}},
    "kill_rates": {"TLC": {"tried": 3, "caught": 3, "survivors": []}},
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The summary with another value at that path; None takes it away."""
    summary = copy.deepcopy(SUMMARY)
    *way, last = path.split("/")
    there: Any = summary
    for each in way:
        there = there[int(each) if each.isdigit() else each]
    if value is None:
        del there[int(last) if last.isdigit() else last]
    else:
        there[last] = value
    return summary


def test_the_same_summary_has_changed_in_nothing() -> None:
    assert changes(SUMMARY, copy.deepcopy(SUMMARY)) == ()


@pytest.mark.parametrize(
    ("path", "value", "kind", "words"),
    [
        ("verdict", "violated", "lost", "the verdict: holds -> violated"),
        ("tier", "full", "other", "tier: quick -> full"),
        (
            "incomplete",
            ["step mutate was left out"],
            "lost",
            "incomplete: step mutate was left out",
        ),
        ("identity/commit", "def", "other", "commit: abc -> def"),
        ("identity/clean", False, "other", "clean: yes -> no"),
        ("identity/sources/spec/A.tla", None, "other", ""),
        ("identity/tools/z3", "4.14", "other", "z3: 4.13 -> 4.14"),
        ("identity/machine", {"system": "X"}, "other", "the machine is another"),
        ("properties/0", None, "lost", "property toy.Safe is gone"),
        ("properties/0/verdict", "inconclusive", "lost", "toy.Safe: holds -> inconclusive"),
        ("properties/0/cells/TLC", None, "lost", "toy.Safe, TLC: holds -> none"),
        ("properties/0/witnesses/TLC", "", "lost", "toy.Safe, TLC: has no witness any more"),
        ("properties/0/as_long_as", ["toy.Fair", "toy.New"], "lost", "toy.New, which is new"),
        ("properties/0/as_long_as", [], "gained", "toy.Fair no longer"),
        ("properties/0/circles", [["a", "b"]], "lost", "circle a, b, which is new"),
        ("cases/toy-good", None, "lost", "case toy-good is gone"),
        ("cases/toy-good/distinct_states", 9, "weaker bounds", "distinct states: 10 -> 9"),
        ("cases/toy-good/depth", 5, "stronger bounds", "depth: 4 -> 5"),
        ("cases/toy-good/idle", ["Live"], "weaker bounds", "leaves idle Live, which is new"),
        ("cases/toy-good/asks", ["Safe"], "weaker bounds", "asks Live no longer"),
        ("cases/toy-good/verdict", "Safe", "other", "verdict: holds -> Safe"),
        ("assumptions/toy.Fair", None, "gained", "assumption toy.Fair is gone"),
        ("assumptions/toy.Fair/verdict", "holds", "gained", "not discharged -> holds"),
        ("assumptions/toy.Fair/words", "no loss", "other", "now no loss"),
        ("protocols/toy/field/verdict", "not offered", "lost", "link field: holds -> not offered"),
        ("kill_rates/TLC/tried", 2, "lost", "TLC: 3 of 3 -> 3 of 2"),
        ("kill_rates/TLC/caught", 2, "lost", "TLC: 3 of 3 -> 2 of 3"),
        ("kill_rates/TLC", {"tried": 4, "caught": 4}, "gained", "TLC: 3 of 3 -> 4 of 4"),
    ],
)
def test_a_change_is_named_with_its_kind(path: str, value: object, kind: str, words: str) -> None:
    if path == "identity/sources/spec/A.tla":
        new = copy.deepcopy(SUMMARY)
        del new["identity"]["sources"]["spec/A.tla"]
        words = "1 sources: spec/A.tla"
    else:
        new = changed(path, value)

    ((said, text),) = changes(SUMMARY, new)

    assert said == kind
    assert words in text


def test_the_states_before_a_violation_are_no_bound() -> None:
    old, new = (changed("cases/toy-good/verdict", "Safe") for _ in range(2))
    new["cases"]["toy-good"]["distinct_states"] = 7

    assert changes(old, new) == ()


def test_figures_of_field_runs_are_told_apart_from_the_rest() -> None:
    new = changed("properties/0/cells/field", {"verdict": "holds", "text": "2 runs, 93 events"})

    ((kind, text),) = changes(SUMMARY, new)

    assert kind == "field figures"
    assert "1 figures of field runs" in text


def test_what_was_lost_comes_first() -> None:
    new = changed("cases/toy-good/depth", 5)
    new["properties"] = []

    assert [kind for kind, _ in changes(SUMMARY, new)] == ["lost", "stronger bounds"]
