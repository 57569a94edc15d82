"""TLC's configuration files."""

import pytest

from raincheck.conformance.cases.cfgfile import parse_cfg, read_cfg
from raincheck.conformance.errors import UsageError
from raincheck.model.machine.tlavalue import ModelValue, record

TEXT = r"""
\* A case. CONSTANT Bogus = 1
SPECIFICATION MCSpec
CONSTANT
    Nodes = {"a", "b = c"}   (* two nodes,
    INVARIANT Hidden *)
    Limit = -3
    Nil = Nil
CONSTANTS Ranking <- MCRanking  Flag = TRUE
    Table = [a |-> <<1>>, b |-> "\* no comment"]
INVARIANTS TotalOrder
    Agreement
INVARIANT Integrity
PROPERTY Validity
"""


def test_constants_are_values():
    cfg = parse_cfg(TEXT)

    assert cfg.constants == {
        "Nodes": frozenset({"a", "b = c"}),
        "Limit": -3,
        "Nil": ModelValue("Nil"),
        "Flag": True,
        "Table": record(a=(1,), b="* no comment"),
    }
    assert cfg.replaced == {"Ranking": "MCRanking"}


def test_questions_are_found_and_can_be_left_out():
    cfg = parse_cfg(TEXT)
    bare = parse_cfg(cfg.behaviour_only())

    assert cfg.names("INVARIANT") == ("TotalOrder", "Agreement", "Integrity")
    assert cfg.names("PROPERTY") == ("Validity",)
    assert bare.names("SPECIFICATION") == ("MCSpec",)
    assert (bare.constants, bare.replaced) == (cfg.constants, cfg.replaced)
    assert bare.names("INVARIANT") == bare.names("PROPERTY") == ()


@pytest.mark.parametrize("keyword", ["CONSTRAINT", "ACTION_CONSTRAINTS", "SYMMETRY", "VIEW"])
def test_a_narrowed_graph_is_refused(keyword):
    with pytest.raises(UsageError, match="not that of the specification"):
        parse_cfg(f"SPECIFICATION S\n{keyword} Few\n").behaviour_only()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Spec = 1", "starts with Spec"),
        ("CONSTANT N", "N is declared but has no value"),
        ("CONSTANT N = {1,", "constant N: not a TLA"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(text, reason):
    with pytest.raises(UsageError, match=reason):
        parse_cfg(text, "x.cfg")


def test_a_missing_file_is_said_in_a_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"none\.cfg"):
        read_cfg(tmp_path / "none.cfg")
