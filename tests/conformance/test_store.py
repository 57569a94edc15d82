"""Evidence is taken from the store only while nothing that it depends on has changed."""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from raincheck.conformance.evidence import store as stores
from raincheck.conformance.evidence.folder import Ui
from raincheck.conformance.evidence.store import Found, Store, code_key, gathered, store_of
from raincheck.conformance.outcome import Result
from raincheck.conformance.tools.processes import Processes
from raincheck.conformance.verbs import generate, mirror, prove

GOOD = Result("one", "toy", "holds", figures={"edges": 3, "asked": ["A"]}, detail="in part")
BAD = Result("two", "toy", "violated")
OPEN = Result("three", "toy", "inconclusive")


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a module read as if somebody had changed it."""
    original = stores.source_of

    def change(module: str) -> None:
        assert original(module)
        monkeypatch.setattr(
            stores, "source_of", lambda name: original(name) + "#" * (name == module)
        )

    return change


def test_what_is_as_expected_is_gathered_once_and_then_says_so(tmp_path: Path) -> None:
    store, gatherings = Store(tmp_path), []

    def gather() -> Found:
        gatherings.append(1)
        return Found((GOOD,), {"text.txt": "words"})

    first = gathered(store, "toy", lambda: "k1", gather)
    again = gathered(store, "toy", lambda: "k1", gather)
    other = gathered(store, "toy", lambda: "k2", gather)

    assert first.results == other.results == (GOOD,)
    assert again.files == first.files
    (result,) = again.results
    assert result.figures == GOOD.figures | {"cached": True}
    assert (result.name, result.verdict, result.detail) == ("one", "holds", "in part")
    assert len(gatherings) == 2


@pytest.mark.parametrize("surprise", [BAD, OPEN])
def test_a_surprise_is_found_anew_each_time(tmp_path: Path, surprise: Result) -> None:
    store, gatherings = Store(tmp_path), []

    def gather() -> Found:
        gatherings.append(1)
        return Found((GOOD, surprise))

    for _ in range(2):
        assert gathered(store, "toy", lambda: "k", gather).results == (GOOD, surprise)
    assert len(gatherings) == 2


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"results": [{}], "files": {}}', '{"resu'])
def test_an_entry_that_cannot_be_read_is_none(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    gathered(store, "toy", lambda: "k", lambda: Found((GOOD,)))
    store.file("toy", "k").write_text(damage)

    assert gathered(store, "toy", lambda: "k", lambda: Found((GOOD,))).results == (GOOD,)


def test_without_a_store_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert store_of(None, unused=True) is None
    assert store_of(None, unused=False) == Store(stores.FOLDER)
    assert store_of(tmp_path / "here", unused=False) == Store(tmp_path / "here")


def test_a_key_covers_what_a_module_imports_at_any_distance(changed: Callable[[str], None]) -> None:
    def key() -> str:
        return code_key("raincheck.model.stable.system")

    before = key()
    assert key() == before
    # Not among its imports, however far.
    changed("raincheck.impl.stable.core")
    assert key() == before
    for module in (
        "raincheck.model.stable.system",
        "raincheck.model.stable.handlers",
        "raincheck.model.machine.values",
        "raincheck.model.machine",
    ):
        changed(module)
        assert key() != before, module


def test_a_comparison_rests_on_specification_case_model_and_limit(
    tmp_path: Path, changed: Callable[[str], None]
) -> None:
    parser = argparse.ArgumentParser()
    mirror.add_arguments(parser)
    (case,) = mirror._chosen(parser.parse_args(["unicast-fifo"]))
    for each in case.module.parent.glob("*.tla"):
        shutil.copy(each, tmp_path)

    def key(limit: int = 100, **changes: object) -> str:
        values = {name: getattr(case, name) for name in mirror.Case.__dataclass_fields__}
        values |= {"module": tmp_path / case.module.name} | changes
        return mirror.Comparer(None, Processes(), limit).key(mirror.Case(**values))

    before = key()
    assert key() == before
    other = case.asked.instead(case.asked.text.replace("TypeOK ", ""))
    assert other.text != case.asked.text
    assert len({before, key(101), key(asked=other), key(expected="WindowKept")}) == 4
    changed("raincheck.model.unicast.handlers")
    assert key() != before
    changed("raincheck.conformance.tlc.dotgraph")
    assert key() != before
    changed("raincheck.model.flush.handlers")
    assert key() == before
    spec = tmp_path / "Unicast.tla"
    spec.write_text(spec.read_text() + "\n")
    assert key() != before


def test_a_proof_rests_on_theory_seeds_and_what_is_asked(changed: Callable[[str], None]) -> None:
    def key(*words: str) -> str:
        parser = argparse.ArgumentParser()
        prove.add_arguments(parser)
        args = parser.parse_args(["unicast", *words])
        (task,) = prove._tasks(args)
        return task.key(prove._seeds(args.seeds), args)

    before = key()
    assert key() == before
    asked = [("--seeds", "3"), ("--timeout", "5"), ("--property", "WindowKept")]
    assert len({before, *(key(*words) for words in asked)}) == 4
    changed("raincheck.model.unicast.proof.theory")
    assert key() != before
    changed("raincheck.model.proof.induction")
    assert key() != before


def test_a_replay_rests_on_model_implementation_cases_and_seed(
    changed: Callable[[str], None],
) -> None:
    cases = [case for case in generate.load_cases() if case.name == "unicast-fifo"]

    def key(**changes: object) -> str:
        values = {"names": [], "seed": 1, "examples": 3} | changes
        return generate._key(cases, SimpleNamespace(**values))

    before = key()
    assert len({before, key(), key(seed=2), key(examples=4)}) == 3
    for module in (
        "raincheck.impl.unicast.core",
        "raincheck.model.unicast.handlers",
        "raincheck.conformance.bindings.unicast.binding",
        "raincheck.conformance.verbs.generate",
    ):
        changed(module)
        assert key() != before, module


def test_a_verb_says_what_it_has_from_an_earlier_run(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    prove.add_arguments(parser)
    # Without a repair that only progress needs it still holds, and is not compared with the model.
    words = ["unicast", "--property", "WindowKept", "--seeds", "1", "--without", "Timer"]
    given = vars(parser.parse_args(words))
    args = argparse.Namespace(
        **given, out=tmp_path / "out", cache=tmp_path / "cache", no_cache=False, dry_run=False
    )

    first = prove.run(args, Ui(quiet=True))
    (tmp_path / "out" / "invariant.txt").unlink()
    second = prove.run(args, Ui(quiet=True))

    assert first.verdict == second.verdict == "holds"
    assert not any("cached" in each.figures for each in first.results)
    assert all(each.figures["cached"] is True for each in second.results)
    assert (tmp_path / "out" / "invariant.txt").is_file()
