"""An interrupted audit that is damaged: `audit --resume` refuses it in a sentence, at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.__main__ import main
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.plans import RUNS, plans
from raincheck.conformance.verbs import audit, auditsteps

USAGE = 3
FOUND: dict[str, Any] = {"sources": {"raincheck/spec/Flush.tla": "1"}, "tools": {"java": "17"}}
"""The identity of the audit that would go on."""


def text(content: str) -> Callable[[Path], object]:
    """The file has another content."""
    return lambda path: path.write_text(content, encoding="utf-8")


def made_of(value: Any) -> Callable[[Path], object]:
    """The file has this JSON value."""
    return text(json.dumps(value))


def no_file(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """There is something else in the file's place."""

    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": text(""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "begun twice": lambda path: path.write_bytes(path.read_bytes() * 2),
    "no JSON": text("no JSON at all"),
    "nested deeply": text("[" * 200_000),
    "nested deeply and whole": text("[" * 200_000 + "]" * 200_000),
    "nested in its members": text('{"sources": ' + "{" * 5000 + "}" * 5000 + "}"),
    "a huge number": text('{"sources": ' + "9" * 5000 + "}"),
    "a number beyond floats": text('{"sources": {"a": 1e999}, "tools": NaN}'),
    "no UTF-8": lambda path: path.write_bytes(b'{"sources": "\xff\xfe"}'),
    "UTF-16": lambda path: path.write_text(path.read_text(), encoding="utf-16"),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "a list": made_of([]),
    "a text": made_of("sources"),
    "a number": made_of(5),
    "null": made_of(None),
    "no members": made_of({}),
    "sources of another kind": made_of({**FOUND, "sources": [["a", "b"], [1, 2]]}),
    "sources that are a text": made_of({**FOUND, "sources": "ab"}),
    "sources that are null": made_of({**FOUND, "sources": None}),
    "hashes of another kind": made_of({**FOUND, "sources": {"a": [], "b": {}}}),
    "tools of another kind": made_of({**FOUND, "tools": ["java", 17]}),
    "no tools": made_of({"sources": FOUND["sources"]}),
    "gone": lambda path: path.unlink(),
    "a folder": no_file(lambda path: path.mkdir()),
    "a link to itself": no_file(lambda path: path.symlink_to(path)),
    "a loop of links": no_file(
        lambda path: (path.symlink_to(f"{path}.2"), Path(f"{path}.2").symlink_to(path))
    ),
    "a link to nothing": no_file(lambda path: path.symlink_to("nowhere")),
    "unreadable": no_file(lambda path: path.symlink_to("/proc/self/mem")),
    "a pipe": no_file(os.mkfifo),
    "a device without end": no_file(lambda path: path.symlink_to("/dev/zero")),
    "a file of 1 TB": lambda path: os.truncate(path, 1 << 40),
}


@pytest.fixture
def broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an audit that was interrupted before its first step had ended."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "INCOMPLETE").touch()
    (folder / "identity.json").write_text(json.dumps(FOUND))
    (folder / "plan.json").write_text(auditsteps.plan_text(plans("quick", 7, RUNS["quick"])))
    monkeypatch.setattr(audit, "_identity", lambda: FOUND)
    return folder


GOES_ON = "The audit goes on."


def goes_on(*_: object, **__: object) -> None:
    raise UsageError(GOES_ON)


def resume(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Resume the audit in the folder, as far as its first step."""
    monkeypatch.setattr(auditsteps, "run_all", goes_on)
    return main(["audit", "--resume", "--seed", "7", "--out", str(folder)])


def test_what_is_not_damaged_goes_on(
    broken_off: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert resume(broken_off, monkeypatch) == USAGE

    assert GOES_ON in capsys.readouterr().err


@pytest.mark.parametrize("name", ["identity.json", "plan.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_in_a_sentence(
    name: str,
    damage: str,
    broken_off: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        DAMAGES[damage](broken_off / name)
    except OSError as error:
        pytest.skip(f"this system cannot have it: {error}")

    assert resume(broken_off, monkeypatch) == USAGE

    out, err = capsys.readouterr()
    assert err.startswith("raincheck: "), out + err
    assert err.count("\n") == 1, err
    assert str(broken_off) in err
    assert "udit again" in err or "give the options" in err
    assert not (broken_off / "crash.txt").exists()
    assert GOES_ON not in err


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(
    st.one_of(json_values, st.fixed_dictionaries({"sources": json_values, "tools": json_values}))
)
def test_whatever_an_identity_says_it_is_refused_in_a_sentence(said: Any) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "INCOMPLETE").touch()
        (folder / "plan.json").write_text(auditsteps.plan_text(()))
        (folder / "identity.json").write_text(json.dumps(said))
        with pytest.raises(UsageError, match="audit again"):
            auditsteps.interrupted((), folder, FOUND)
