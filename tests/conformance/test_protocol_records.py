"""The protocols that are known, and their records: ours and a project's alike."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import DATAGRAM, binding_of
from raincheck.conformance.bindings.stable.binding import BINDING as STABLE
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.judges.planted_invariants import steps_tried
from raincheck.conformance.protocols import registry
from raincheck.conformance.protocols.record import Circle, Protocol

RECORD = '[protocol.ping]\ncases = "ping.toml"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a raincheck.toml, and stand in a folder below it."""

    def write(text: str) -> Path:
        (tmp_path / "ping.toml").touch()
        (tmp_path / "raincheck.toml").write_text(text)
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        monkeypatch.setattr(sys, "path", list(sys.path))
        return tmp_path

    return write


def test_ours_are_registered_by_the_package() -> None:
    found = registry.protocols()

    assert {"sequencer", "flush", "raincore", "stack"} <= found.keys()
    assert found["flush"].get("model").__module__ == "raincheck.model.flush.system"
    assert found["flush"].cases.is_file()
    assert {each.name for each in registry.offering("run")} == {"stack", "raincore", "merging"}


def test_a_project_speaks_of_itself_alone(project: Callable[[str], Path]) -> None:
    home = project(RECORD)

    found = registry.protocols()

    assert list(found) == ["ping"]
    assert found["ping"].cases == home / "ping.toml"
    assert str(home) in sys.path


def test_the_steps_planted_for_our_checkers_are_asked_in_any_project(
    project: Callable[[str], Path],
) -> None:
    project(RECORD)

    assert {noticed for _, _, noticed in steps_tried()} == {True}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("protocol = 1", "it has no [protocol.…]"),
        ("", "it has no [protocol.…]"),
        ("[", "is not TOML"),
        ('x = 1\n[protocol.ping]\ncases = "ping.toml"', "x is no key"),
        ("path = 3\n" + RECORD, "path must be a list of folders"),
        ('path = ["nowhere"]\n' + RECORD, "nowhere, which is no folder"),
        ("[protocol]\nping = 1", "it must be a [protocol.…] table"),
        ('[protocol.Ping]\ncases = "ping.toml"', "small letters"),
        ("[protocol.ping]", "cases must name the table"),
        ('[protocol.ping]\ncases = "pong.toml"', "pong.toml, which is no file"),
        ('[protocol.ping]\ncases = ""', "cases must be a text"),
        (RECORD + 'modle = "x"', "modle is no key"),
        ('[protocol.pong]\ncases = "ping.toml"', "must be called pong.toml"),
        (RECORD + "links = 1", "links must be a list"),
        (RECORD + 'links = ["specification", "luck"]', "links has luck: choose from specification"),
        (RECORD + 'links = ["specification", "proofs"]', "proof is missing: name it"),
        (RECORD + "links = []", "links lacks specification"),
        (RECORD + "circles = [1]", "of must name at least two"),
        (RECORD + 'circles = [{ of = ["ping", "ping"], by = "case x" }]', "at least two"),
        (RECORD + 'circles = [{ of = ["ping", "pong"], by = "x" }]', 'by must be "case NAME"'),
    ],
)
def test_a_wrong_record_is_reported_in_one_sentence(
    project: Callable[[str], Path], text: str, sentence: str
) -> None:
    home = project(text)

    with pytest.raises(UsageError) as refused:
        registry.protocols()

    assert sentence in str(refused.value)
    assert str(home / "raincheck.toml") in str(refused.value)


def test_the_links_of_a_record_are_those_that_it_declares_or_those_of_its_modules(
    project: Callable[[str], Path],
) -> None:
    modules = 'model = "m"\nbinding = "b"\nrun = "r"\n'
    declared = 'links = ["field", "model", "specification"]\n'
    home = project(RECORD + modules + declared)
    assert registry.protocols()["ping"].links == ("specification", "model", "field")

    (home / "raincheck.toml").write_text(RECORD + modules)
    registry._read.cache_clear()
    assert registry.protocols()["ping"].links == (
        *("specification", "model", "code", "traces", "field"),
    )


def test_a_record_names_the_circles_that_its_results_break(
    project: Callable[[str], Path],
) -> None:
    several = '{ of = ["ping", "tick"], by = ["case one", "proof two"] }'
    project(RECORD + f'circles = [{{ of = ["ping", "pong"], by = "proof both" }}, {several}]')

    assert registry.protocols()["ping"].circles == (
        Circle(("ping", "pong"), ("proof both",)),
        Circle(("ping", "tick"), ("case one", "proof two")),
    )


def test_an_unknown_protocol_suggests_near_ones() -> None:
    with pytest.raises(UsageError, match="There is no protocol flash: did you mean flush"):
        registry.protocol("flash")
    with pytest.raises(UsageError, match="There is no protocol xyzzy: there is flush, frag, gms"):
        registry.protocol("xyzzy")


def record(**modules: str) -> Protocol:
    here = Path(__file__).parent
    return Protocol(name="ping", home=here, cases=here / "ping.toml", **modules)


def test_a_verb_for_which_there_is_nothing_says_so() -> None:
    for what, words in [("proof", "offers no proof"), ("run", "no processes that can be run")]:
        with pytest.raises(Inconclusive, match=words):
            record().module(what)


def test_a_module_that_is_not_there_or_lacks_its_name_is_reported() -> None:
    with pytest.raises(UsageError, match=r"model is nowhere\.at_all, but there is no module"):
        record(model="nowhere.at_all").module("model")
    with pytest.raises(UsageError, match="json has no machine: define it"):
        record(model="json").module("model")


def test_a_module_that_fails_fails_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raincheck_broken.py").write_text("import nothing_like_this\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="nothing_like_this"):
        record(model="raincheck_broken").module("model")


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.GROUP)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([], "No protocol is registered"),
        ([entry("x", "no_such_package")], "x = no_such_package names no package"),
        ([entry("x", "tomllib")], "tomllib/raincheck.toml"),
        ([entry("a", "ours_a"), entry("b", "ours_b")], "registers ping, which"),
    ],
)
def test_an_entry_point_that_cannot_be_is_reported(
    entries: list[EntryPoint], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ours_a", "ours_b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "ping.toml").touch()
        (tmp_path / name / "raincheck.toml").write_text(RECORD)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "entry_points", lambda **_: entries)
    registry._installed.cache_clear()

    with pytest.raises(UsageError) as refused:
        registry.protocols()

    assert sentence in str(refused.value)
    registry._installed.cache_clear()


def test_a_protocol_can_be_added_for_a_while() -> None:
    with registry.added(record()):
        assert registry.protocol("ping").where.endswith("raincheck.toml, protocol ping")
    with pytest.raises(UsageError):
        registry.protocol("ping")


def test_the_modules_of_a_record_are_imported_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("raincheck_ping")
    module.machine = len  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "raincheck_ping", module)

    assert record(model="raincheck_ping").get("model") is len
    assert record(model="raincheck_ping").modules("model", "binding") == ("raincheck_ping",)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"protocol": "pong"}, "it is of pong, and the record of ping"),
        ({"channels": {"Heartbeat": DATAGRAM}}, "channels has Heartbeat, which is none of its"),
        ({"channels": {"Purge": "fiffo"}}, "channel Purge is 'fiffo': it must be 'fifo' or"),
        ({"arrives": {"Purge": "ReceivePurge"}}, "arrives has Purge, which is none of its chan"),
        ({"told": frozenset({"Gossip"})}, "told has Gossip, which is none of its outputs"),
    ],
)
def test_a_name_in_a_binding_that_means_nothing_is_refused(
    changed: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {"protocol": "ping", "channels": {}, "arrives": {}}
    module = ModuleType("raincheck_ping")
    monkeypatch.setitem(sys.modules, "raincheck_ping", module)

    with registry.added(record(binding="raincheck_ping")):
        module.BINDING = replace(STABLE, **names)  # type: ignore[attr-defined]
        assert binding_of("ping").protocol == "ping"
        module.BINDING = replace(STABLE, **names | changed)  # type: ignore[attr-defined]
        with pytest.raises(UsageError) as refused:
            binding_of("ping")

    assert sentence in str(refused.value)
