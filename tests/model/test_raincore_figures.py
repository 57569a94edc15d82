"""Figures 12, 13 and 14 of the text, number by number and letter by letter."""

import pytest

from raincheck.model.raincore.figures import figure
from raincheck.model.raincore.local import SEED, Rules

RULES = pytest.mark.parametrize("rules", [SEED, Rules()], ids=["as written", "repaired"])

NO_FAILURE = "A ABCD(a)11 B ABCD(a)12 C ABCD(a)13 D ABCD(a)14 A ABCD(a)15"
B_CRASHES = """
    A ACD(c)16 C ACD(c)17 D ACD(c)18
    A ACD(r)19 C ACD(r)20 D ACD(r)21
    A ACD(a)22 C ACD(a)23 D ACD(a)24
    A ACD(a)25 C ACD(a)26
"""
B_IS_BACK = """
    B ABCD(c)13
    C ACBD(c)27 B ACBD(c)28 D ACBD(c)29 A ACBD(c)30
    C ACBD(r)31 B ACBD(r)32 D ACBD(r)33 A ACBD(r)34
    C ACBD(a)35 B ACBD(a)36 D ACBD(a)37 A ACBD(a)38
"""


def labels(number: int, rules: Rules) -> list[str]:
    return [part for each in figure(number, rules).labels for part in (each.node, str(each))]


def views(number: int, rules: Rules) -> dict[str, list[str]]:
    found = figure(number, rules).views
    return {n: ["".join(view) if view else "NULL" for view in all_] for n, all_ in found.items()}


@RULES
def test_figure_12(rules: Rules) -> None:
    assert labels(12, rules) == NO_FAILURE.split()
    assert views(12, rules) == {n: ["ABCD"] for n in "ABCD"}


@RULES
def test_figure_13(rules: Rules) -> None:
    assert labels(13, rules) == (NO_FAILURE + B_CRASHES).split()
    assert views(13, rules) == {n: ["ABCD", "ACD"] for n in "ACD"} | {"B": ["ABCD"]}


@RULES
def test_figure_14(rules: Rules) -> None:
    assert labels(14, rules) == (NO_FAILURE + B_CRASHES + B_IS_BACK).split()
    everybody = {n: ["ABCD", "ACD", "ACBD"] for n in "ACD"}
    assert views(14, rules) == everybody | {"B": ["ABCD", "NULL", "ACBD"]}


def test_a_figure_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="no figure 11"):
        figure(11, Rules())
