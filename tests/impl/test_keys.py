"""Keys: where they come from, and the one sentence when there is none."""

import builtins
import os
import re
from pathlib import Path
from typing import Any

import pytest

from raincheck.impl.errors import ConfigError
from raincheck.impl.sealing.keys import read_keys

ONE, OTHER = bytes(range(32)), bytes(range(100, 132))
NOBODY: dict[str, str] = {}


def ids(source: Any, environ: dict[str, str] = NOBODY) -> list[bytes]:
    """The names of the keys that are read."""
    return [key.id for key in read_keys(source, environ)]


def file_of(folder: Path, text: str | bytes) -> Path:
    """A key file."""
    path = folder / "group.key"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_key_is_given_as_bytes_as_a_file_or_by_the_environment(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"{ONE.hex()}\n")
    ((expected,),) = (ids(ONE),)

    assert ids(path) == ids(str(path)) == ids([path]) == [expected]
    assert ids(None, {"RAINCHECK_KEY": ONE.hex()}) == [expected]
    assert ids(None, {"RAINCHECK_KEY_FILE": str(path)}) == [expected]
    assert len(expected) == 4
    assert expected != ONE[:4]


def test_several_keys_stay_in_their_order(tmp_path: Path) -> None:
    both = ids([ONE, OTHER])
    path = file_of(tmp_path, f"{ONE.hex()}\n{OTHER.hex()}\n")

    assert ids([OTHER, ONE]) == both[::-1] != both
    assert ids(path) == ids(None, {"RAINCHECK_KEY": f"{ONE.hex()},{OTHER.hex()}"}) == both
    assert ids(None, {"RAINCHECK_KEY_FILE": os.pathsep.join([str(path), str(path)])}) == both * 2


def test_without_a_key_there_is_none_and_an_empty_list_overrules_the_environment() -> None:
    assert ids(None) == []
    assert ids((), {"RAINCHECK_KEY": ONE.hex()}) == []
    assert ids(OTHER, {"RAINCHECK_KEY": ONE.hex()}) == ids(OTHER)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (ONE[:31], r"a key of 31 bytes; it has to be 32 random ones: python -c"),
        ([ONE, ONE + b"x"], r"a key of 33 bytes"),
        (ONE.hex(), r"key= is a text of digits; give bytes.fromhex"),
        (7, r"key= is a int; give bytes, or a file's path"),
        ([7], r"key= is a int; give bytes, or a file's path"),
        ("/nowhere/group.key", r"key file /nowhere/group.key cannot be read: No such file"),
    ],
)
def test_what_is_no_key_is_refused_in_a_sentence(source: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        read_keys(source, NOBODY)

    assert ONE.hex() not in str(refused.value)


@pytest.mark.parametrize(
    "content", ["", "\n", "secret\n", ONE.hex()[:-1], f"{ONE.hex()} x", b"\xff"]
)
def test_a_file_without_a_key_is_refused_and_not_quoted(
    tmp_path: Path, content: str | bytes
) -> None:
    path = file_of(tmp_path, content)

    with pytest.raises(ConfigError, match=f"key file {re.escape(str(path))} ") as refused:
        read_keys(path, NOBODY)

    assert "secret" not in str(refused.value).replace("import secrets; print(secrets", "")
    assert ONE.hex()[:-1] not in str(refused.value)


def test_an_environment_that_says_two_things_is_refused() -> None:
    with pytest.raises(ConfigError, match="RAINCHECK_KEY and RAINCHECK_KEY_FILE are both set"):
        read_keys(None, {"RAINCHECK_KEY": ONE.hex(), "RAINCHECK_KEY_FILE": "x"})
    with pytest.raises(ConfigError, match="RAINCHECK_KEY has no key, or what is none"):
        read_keys(None, {"RAINCHECK_KEY": "hello"})


def test_without_the_library_a_key_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = builtins.__import__

    def gone(name: str, *rest: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return there(name, *rest)

    monkeypatch.setattr(builtins, "__import__", gone)

    with pytest.raises(ConfigError, match=re.escape("pip install 'raincheck[crypto]'")):
        read_keys(ONE, NOBODY)
    assert read_keys((), NOBODY) == ()
