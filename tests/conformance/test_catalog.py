"""The catalog is read whole or refused with the case and the key that is wrong."""

import shutil
from pathlib import Path

import pytest

from raincheck.conformance.errors import UsageError
from raincheck.conformance.tlc.catalog import load_catalog, select

TOYS = Path(__file__).parent / "toys"

GOOD = """
[[case]]
name = "counter-small"
protocol = "counter"
module = "Counter"
cfg = "Counter.cfg"
words = "up to two"
properties = ["Small", "Moves"]
expected = "holds"
distinct = 9
depth = 5
tier = "quick"
rule = "R1"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Counter.tla", "CounterBase.tla"):
        shutil.copy(TOYS / name, tmp_path)
    (tmp_path / "Counter.cfg").write_text(
        'SPECIFICATION Fair\nCONSTANTS Limit = 2\n Nodes = {"a"}\nINVARIANT Small\nPROPERTY Moves\n'
    )
    return tmp_path


def load(folder: Path, text: str):
    path = folder / "catalog.toml"
    path.write_text(text, encoding="utf-8")
    return load_catalog(path)


def test_a_case_is_read_with_its_files(folder: Path) -> None:
    (case,) = load(folder, GOOD)

    assert (case.name, case.expected, case.distinct, case.depth) == ("counter-small", "holds", 9, 5)
    assert (case.module, case.cfg) == (folder / "Counter.tla", folder / "Counter.cfg")
    assert (case.flaw, case.note) == ("", "")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name = "counter-small"', "", "case 1: name must be a text"),
        ('"counter-small"', '"a/b"', "a name has small letters"),
        ('module = "Counter"', 'module = "Nothing"', "there is no file .*Nothing.tla"),
        ('cfg = "Counter.cfg"', 'cfg = "No.cfg"', "there is no file .*No.cfg"),
        ('expected = "holds"', 'expected = "Else"', "expected must be holds or one of"),
        ('expected = "holds"', 'expected = "Small"', "distinct is pinned only for a case that"),
        ("distinct = 9", "distinct = true", "distinct must be a number"),
        ("depth = 5", "depth = 0", "depth must be a number"),
        ('tier = "quick"', 'tier = "slow"', "tier must be one of quick, full, deep"),
        ('rule = "R1"', 'rule = "R1"\nflow = "X"', "flow is no key of a case"),
        ('rule = "R1"', 'rule = "R1"\nflaw = 1', "flaw must be a text"),
        ('["Small", "Moves"]', '["Small"]', "asks for Moves, which properties lacks"),
        ('["Small", "Moves"]', '["Small", "Moves", "Rests"]', "does not ask for Rests"),
        ('["Small", "Moves"]', "[]", "properties must be a list of names"),
        ("[[case]]", "[case]", "a list of"),
        ("[[case]]", "extra = 1\n[[case]]", "a list of"),
        ('name = "counter-small"', "name = ", "is not TOML"),
    ],
)
def test_a_catalog_that_is_wrong_is_refused(
    folder: Path, old: str, new: str, sentence: str
) -> None:
    assert old in GOOD

    with pytest.raises(UsageError, match=sentence):
        load(folder, GOOD.replace(old, new))


def test_a_name_is_given_once(folder: Path) -> None:
    with pytest.raises(UsageError, match="two cases counter-small"):
        load(folder, GOOD + GOOD)


def test_a_catalog_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Cannot read .*none\.toml"):
        load_catalog(tmp_path / "none.toml")


def test_a_tier_includes_the_smaller_ones(folder: Path) -> None:
    text = GOOD + "".join(
        GOOD.replace("counter-small", f"counter-{tier}").replace('"quick"', f'"{tier}"')
        for tier in ("full", "deep")
    )
    cases = load(folder, text)

    assert [case.name for case in select(cases)] == ["counter-small"]
    assert [case.name for case in select(cases, tier="full")] == ["counter-small", "counter-full"]
    assert len(select(cases, tier="deep")) == 3
    assert [case.name for case in select(cases, names=["counter-deep"])] == ["counter-deep"]


def test_what_is_not_in_the_catalog_is_refused_with_the_nearest_name(folder: Path) -> None:
    cases = load(folder, GOOD)

    with pytest.raises(UsageError, match="did you mean counter-small"):
        select(cases, names=["counter-smal"])
    with pytest.raises(UsageError, match="it has counter"):
        select(cases, protocol="other")


def test_our_own_catalog_is_sound() -> None:
    cases = load_catalog()

    assert any(case.protocol == "sequencer" for case in cases)
    for case in cases:
        # What has not been run to its end yet, which takes a night, has nothing to be pinned.
        pinned = case.distinct is not None or case.tier == "deep"
        assert pinned if case.expected == "holds" else case.distinct is None, case.name
