"""The tables of cases are read whole, or refused with the file, the case and the key."""

import shutil
from pathlib import Path

import pytest

from raincheck.conformance.cases.case import Case
from raincheck.conformance.cases.tables import load_assumptions, load_cases, select
from raincheck.conformance.errors import UsageError

TOYS = Path(__file__).parent / "toys"

GOOD = """
module = "Counter"
specification = "Fair"
temporal = ["Moves"]

[fixed]
Order = "<- MCOrder"
Nodes = ["a"]

[implemented]
Careful = true
Speed = "slow"

[assumed]
Fifo = true

[assumption.Fifo]
layer = "LINK"
words = "in order"
evidence = ["link.Fifo"]

[rules.text]
Careful = false
Speed = "fast"

[usual]
Limit = 2
Crashers = []

[world.crash]
Crashers = ["a"]

[ask]
safety = ["Small", "Even"]

[case.small]
words = "up to two"
ask = ["safety", "Moves"]
holds = { distinct = 9, depth = 5 }
tier = "quick"
rule = "R1"

[case.f1-seed]
words = "as the text has it"
world = "crash"
rules = "text"
with = { Limit = 3 }
breaks = "Small"
tier = "full"
rule = "R1"
flaw = "CNT-F1"
note = "Three is too many."

[case.f1-seed-even]
like = "f1-seed"
breaks = "Even"

[case.f1-undone]
words = "repaired, but careless"
undone = "Careful"
breaks = "Small"
tier = "full"
rule = "R1"

[case.f1-repaired]
words = "repaired"
ask = "safety"
holds = {}
tier = "deep"
rule = "R1"

[case.f2-undone]
words = "repaired, but out of order"
world = "crash"
undone = "Fifo"
breaks = "Even"
tier = "full"
rule = "R2"

[case.f3-undone]
words = "repaired, but fast, and out of order"
undone = { Speed = "fast" }
with = { Fifo = false }
differs = "Only so does it show."
breaks = "Even"
tier = "full"
rule = "R2"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Counter.tla", "CounterBase.tla"):
        shutil.copy(TOYS / name, tmp_path)
    (tmp_path / "cases").mkdir()
    return tmp_path


def load(folder: Path, text: str) -> tuple[Case, ...]:
    path = folder / "cases" / "counter.toml"
    path.write_text(text, encoding="utf-8")
    return load_cases(path)


def named(folder: Path, text: str = GOOD) -> dict[str, Case]:
    return {case.name.removeprefix("counter-"): case for case in load(folder, text)}


def test_a_table_that_has_changed_gives_its_new_cases(folder: Path) -> None:
    old = named(folder)["small"]
    assert named(folder)["small"] == old

    new = named(folder, GOOD.replace("distinct = 9", "distinct = 8"))["small"]
    (folder / "Counter.tla").rename(folder / "cases" / "Counter.tla")
    moved = named(folder)["small"]

    assert (old.distinct, new.distinct, moved.distinct) == (9, 8, 9)
    assert moved.module == folder / "cases" / "Counter.tla"


def test_a_case_is_read_with_its_constants_and_its_answer(folder: Path) -> None:
    case = named(folder)["small"]

    assert (case.name, case.protocol) == ("counter-small", "counter")
    assert (case.expected, case.distinct, case.depth, case.tier) == ("holds", 9, 5, "quick")
    assert case.module == folder / "Counter.tla"
    assert (case.flaw, case.note) == ("", "")
    assert case.properties == ("Small", "Even", "Moves")
    assert case.constants == {
        "Nodes": frozenset({"a"}),
        **{"Careful": True, "Speed": "slow", "Fifo": True, "Limit": 2, "Crashers": frozenset()},
    }
    assert case.replaced == {"Order": "MCOrder"}


def test_a_case_is_a_world_and_rules_and_what_differs(folder: Path) -> None:
    cases = named(folder)
    small = cases["small"].constants

    def changed(name: str) -> dict[str, object]:
        found = cases[name].constants
        assert found.keys() == small.keys()
        return {key: value for key, value in found.items() if value != small[key]}

    assert changed("f1-seed") == {
        **{"Careful": False, "Speed": "fast", "Crashers": frozenset({"a"}), "Limit": 3}
    }
    assert changed("f1-undone") == {"Careful": False}
    assert changed("f2-undone") == {"Fifo": False, "Crashers": frozenset({"a"})}
    assert changed("f3-undone") == {"Speed": "fast", "Fifo": False}


def test_a_case_like_another_has_its_constants_and_an_answer_of_its_own(folder: Path) -> None:
    cases = named(folder)
    one, other = cases["f1-seed"], cases["f1-seed-even"]

    assert (other.constants, other.words, other.flaw) == (one.constants, one.words, "CNT-F1")
    assert (other.expected, other.properties, other.note) == ("Even", ("Even",), "")


def test_a_case_speaks_of_the_implemented_protocol_by_its_rules_alone(folder: Path) -> None:
    cases = named(folder)

    assert {name for name, case in cases.items() if case.as_implemented} == {
        *("small", "f1-repaired", "f2-undone")
    }
    assert cases["f1-undone"].unlike == ("Careful",)
    assert cases["f3-undone"].unlike == ("Speed",)
    assert (cases["f2-undone"].lacking, cases["small"].lacking) == (("Fifo",), ())


def test_an_assumption_is_read_with_its_protocol(folder: Path) -> None:
    load(folder, GOOD)
    (found,) = load_assumptions(folder / "cases")

    assert (found.name, found.protocol, found.layer) == ("Fifo", "counter", "LINK")
    assert (found.words, found.evidence, found.note) == ("in order", ("link.Fifo",), "")


def test_what_tlc_is_given_says_the_same_as_the_case(folder: Path) -> None:
    for case in (*load(folder, GOOD), *load_cases()):
        asked = case.configuration()

        assert (asked.constants, asked.replaced) == (case.constants, case.replaced), case.name
        assert asked.names("SPECIFICATION") == (case.specification,)
        assert (*asked.names("INVARIANT"), *asked.names("PROPERTY")) == case.properties
        assert set(asked.names("PROPERTY")) == case.temporal


def test_a_configuration_is_written_as_one_writes_it_by_hand(folder: Path) -> None:
    assert (
        named(folder)["f3-undone"].cfg_text()
        == """\
\\* Repaired, but fast, and out of order.
\\* Expected: Even is violated.
SPECIFICATION Fair

CONSTANTS
  Order <- MCOrder

  \\* Who there is, and what may happen.
  Nodes = {"a"}
  Limit = 2
  Crashers = {}

  \\* Assumptions on what is around.
  Fifo = FALSE

  \\* The rules.
  Careful = TRUE
  Speed = "fast"  \\* not as implemented

INVARIANTS Even
"""
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[case.small]", '[case."a/b"]', "case a/b: a name has small letters"),
        ('module = "Counter"', 'module = "Nothing"', "there is no file .*Nothing.tla"),
        ('module = "Counter"', "", "module must be a text"),
        ('"Fair"', '""', "specification must be a text"),
        ("temporal = [", "temporal = [1, ", "temporal must be a list of names"),
        ('["Moves"]', '["Moves", "Rests"]', "no case asks for Rests, which temporal has"),
        ('breaks = "Small"', 'breaks = "Small"\nask = ["Even"]', "breaks Small, which it does not"),
        ("holds = {}", 'holds = {}\nbreaks = "Small"', "it either holds or breaks a property"),
        ("holds = {}", "", "it either holds or breaks a property"),
        ("holds = {}", "holds = { width = 1 }", "holds may have distinct and depth only"),
        ("distinct = 9", "distinct = true", "small: distinct must be a number"),
        ("depth = 5", "depth = 0", "small: depth must be a number"),
        ('tier = "quick"', 'tier = "slow"', "tier must be one of quick, full, deep"),
        ('tier = "quick"', 'tier = "quick"\nflow = "X"', "case small: flow is no key of a case"),
        ('flaw = "CNT-F1"', "flaw = 1", "case f1-seed: flaw must be a text"),
        ('words = "up to two"', "", "case small: words is missing"),
        ('"safety", "Moves"', "", "case small: ask must name at least one property"),
        ('"safety", "Moves"', '"safety", "Small"', "case small: ask has Small twice"),
        ('"safety", "Moves"', '"saftey"', "case small: ask saftey is not in"),
        ('ask = "safety"', 'ask = ["Small", 1]', "f1-repaired: ask must be a list of names"),
        ("[fixed]", "extra = 1\n[fixed]", "extra is no part of a table"),
        ("[fixed]", "[fixes]", "fixes is no part of a table"),
        ("[fixed]", '[open]\nEven = ""\n[fixed]', "open.Even must be a text"),
        ("[fixed]", '[open]\nOdd = "f"\n[fixed]', "open.Odd is asked in no case"),
        ("[case.small]", "[case.small", "is not TOML"),
        ("[case.f1-undone]", "[case.small]", "is not TOML"),
        ("Limit = 2", "Limit = 2\nNodes = 1", r"Nodes is in \[fixed\] and in \[usual\]"),
        ("Limit = 2", "Limit = 2.5", "usual: Limit must be true or false, a number"),
        ("Limit = 2", '"Lim it" = 2', "is no name of a constant"),
        ('Nodes = ["a"]', 'Nodes = ["a", "a"]', "Nodes names something twice"),
        ("Limit = 2", 'Limit = "<- MC"', r"Limit has <- MC: only \[fixed\] may have that"),
        ('Crashers = ["a"]', "Crashers = []", "world crash: Crashers has that value anyway"),
        ('Crashers = ["a"]', "Careful = false", "world crash: Careful is no constant that may"),
        ('Speed = "fast"', "Limit = 3", "rules text: Limit is no constant that may differ"),
        ("[world.crash]", "[world.crush]", "case f1-seed: world crash is not in this table"),
        ("[world.crash]", "[world.idle]\nLimit = 1\n[world.crash]", "no case uses world idle"),
        ("[usual]", "[rules.idle]\nCareful = false\n[usual]", "no case uses rules idle"),
        ("[ask]", '[ask]\nidle = ["Small"]', "no case uses ask idle"),
        ('rules = "text"', 'rules = "texts"', "case f1-seed: rules texts is not in this table"),
        ("{ Limit = 3 }", "{ Limit = 2 }", "f1-seed, with: Limit has that value anyway"),
        ("{ Limit = 3 }", "{ Limit = true }", "f1-seed, with: Limit is of another kind"),
        ("{ Limit = 3 }", '{ Nodes = ["b"] }', "f1-seed, with: Nodes is no constant that may"),
        ("{ Limit = 3 }", "{ Limt = 3 }", "with: Limt is no constant that may differ: did you mea"),
        ("Limit = 2", 'Limit = "true"', "Limit is the text 'true': write true, without quotes"),
        ('like = "f1-seed"', 'like = "f9"', "like f9 is no case without like: name one"),
        ('like = "f1-seed"', 'like = "f1-seed"\nworld = "crash"', "world comes from the case in"),
        ('undone = "Careful"', "", "case f1-undone: undone must name the rule"),
        ('undone = "Careful"', 'undone = "Limit"', "undone Limit is no rule and no assumption"),
        ('undone = "Careful"', 'undone = "Speed"', 'say undone = { Speed = "…" }, with'),
        ('undone = "Careful"', "undone = { Careful = true }", "Careful has that value anyway"),
        ('undone = "Careful"', "undone = { Careful = false, Fifo = false }", "names one rule"),
        (
            'undone = "Careful"',
            'undone = "Careful"\nwith = { Limit = 3 }',
            "f1-undone: it differs from counter-f1-repaired in Limit too: differs must say why",
        ),
        (
            'undone = "Careful"',
            'undone = "Careful"\ndiffers = "So."',
            "f1-undone: it differs in Careful alone: remove differs",
        ),
        ('differs = "Only so does it show."', "", "f3-undone: it differs in its rules in Fifo"),
        ('note = "Three', 'differs = "Three', "differs is for a case that has undone"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(
    folder: Path, old: str, new: str, sentence: str
) -> None:
    assert old in GOOD
    load(folder, GOOD)  # as it is, it is sound

    with pytest.raises(UsageError, match=sentence) as refused:
        load(folder, GOOD.replace(old, new, 1))
    assert "counter.toml" in str(refused.value)


def test_a_name_is_given_once_over_all_tables(folder: Path) -> None:
    load(folder, GOOD)
    text = GOOD[: GOOD.index("[case.f1-seed]")].replace("[case.small]", "[case.more-small]")
    text = text.replace('[rules.text]\nCareful = false\nSpeed = "fast"\n', "")
    text = text.replace('[world.crash]\nCrashers = ["a"]\n', "")
    (folder / "cases" / "counter_more.toml").write_text(text.replace("more-small", "small"))
    assert len(load_cases(folder / "cases")) == 8

    (folder / "cases" / "counter.toml").write_text(text)
    with pytest.raises(UsageError, match="two cases counter-more-small"):
        load_cases(folder / "cases")


def test_a_table_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Cannot read .*none\.toml"):
        load_cases(tmp_path / "none.toml")
    with pytest.raises(UsageError, match=r"has no \.toml"):
        load_cases(tmp_path)


def only(tier: str) -> str:
    return f"""
[case.{tier}]
words = "up to two"
ask = ["Small", "Moves"]
holds = {{ distinct = 9 }}
tier = "{tier}"
rule = "R1"
"""


def test_a_tier_includes_the_smaller_ones(folder: Path) -> None:
    top = 'module = "Counter"\nspecification = "Fair"\ntemporal = ["Moves"]\n'
    cases = load(folder, top + "".join(map(only, ("quick", "full", "deep"))))

    assert [case.name for case in select(cases)] == ["counter-quick"]
    assert [case.name for case in select(cases, tier="full")] == ["counter-quick", "counter-full"]
    assert len(select(cases, tier="deep")) == 3
    assert [case.name for case in select(cases, names=["counter-deep"])] == ["counter-deep"]


def test_what_is_not_in_the_catalog_is_refused_with_the_nearest_name(folder: Path) -> None:
    cases = load(folder, GOOD)

    with pytest.raises(UsageError, match="did you mean counter-small"):
        select(cases, names=["counter-smal"])
    with pytest.raises(UsageError, match="There is no case other"):
        select(cases, names=["other"])


def test_our_own_catalog_is_sound() -> None:
    cases = load_cases()

    assert any(case.protocol == "sequencer" for case in cases)
    for case in cases:
        # What has not been run to its end yet, which takes a night, has nothing to be pinned.
        pinned = case.distinct is not None or case.tier == "deep"
        assert pinned if case.expected == "holds" else case.distinct is None, case.name
