"""`raincheck doctor --live`: real members in processes of their own, asked by the command line."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from raincheck.__main__ import main
from raincheck.conformance.field.ring.base import free_ports

pytestmark = pytest.mark.sockets

MEMBER = """
import asyncio, sys
import raincheck
kind, at, transport, key, ask = sys.argv[1:]
about = dict(name="a", incarnation=0, key=key or [], ask=ask.split() if ask != "-" else None)
async def main():
    if kind == "group":
        member = await raincheck.Channel.connect("orders", bind=at, transport=transport, **about)
    else:
        del about["incarnation"]
        member = await raincheck.Ring.connect("locks", bind=at, **about)
    print("there", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""

Start = Callable[..., str]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a member in a process of its own; returns where it listens."""
    monkeypatch.chdir(tmp_path)
    for name in ("RAINCHECK_KEY", "RAINCHECK_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "right.key").write_text("ab" * 32 + "\n")
    (tmp_path / "wrong.key").write_text("cd" * 32 + "\n")
    started: list[subprocess.Popen[str]] = []

    def start(kind: str, transport: str = "udp", key: str = "", ask: str = "-") -> str:
        (at,) = free_ports(1)
        member = subprocess.Popen(
            [sys.executable, "-c", MEMBER, kind, at, transport, key, ask],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(member)
        assert member.stdout is not None
        assert member.stdout.readline() == "there\n"
        return at

    yield start
    for each in started:
        each.kill()
        each.communicate()


@pytest.mark.parametrize(
    ("kind", "transport"), [("group", "udp"), ("group", "tcp"), ("ring", "udp")]
)
@pytest.mark.parametrize("key", ["", "right.key"])
def test_a_member_tells_its_status(
    start: Start, capsys: pytest.CaptureFixture[str], kind: str, transport: str, key: str
) -> None:
    at = start(kind, transport, key)
    words = ["doctor", "--live", at, *(["--key", key] if key else [])]

    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    member = answer["member"]
    assert (answer["verb"], answer["verdict"]) == ("doctor", "holds")
    assert (member["kind"], member["member"], member["status"]) == (kind, "a.0", "member")
    assert (member["endpoint"], member["transport"]) == (at, transport)
    assert member["sealed"] is bool(key)
    assert member["members"] == [["a.0", at]]
    assert member[kind]["members"] == member["view"] == 1
    assert answer["reproduce"] == f"raincheck {' '.join(words)} --json"

    assert main([*words, "--prometheus", "a.prom"]) == 0
    lines = capsys.readouterr().out.split("\n")
    sealed = ", under a key" if key else ""
    assert lines[0] == f"a.0 at {at} ({transport}{sealed})"
    assert "view 1: 1 members" in lines[3]
    families = text_string_to_metric_families(Path("a.prom").read_text())
    assert {sample.name: sample.value for each in families for sample in each.samples}[
        "raincheck_up"
    ] == 1


@pytest.mark.parametrize(
    ("about", "words", "code", "sentence"),
    [
        ({"ask": "10.0.0.0/8"}, [], 3, "does not allow this process to ask; see ask= there."),
        ({"key": "right.key"}, [], 3, "has a key, this process has none; ask with that key."),
        ({"key": "right.key"}, ["--key", "wrong.key"], 3, "refuses this key; ask with the key"),
        ({}, ["--key", "right.key"], 3, "has no key, this process has one; ask with the key"),
        ({}, ["--transport", "tcp", "--timeout", "0.5"], 2, "within 0.5 s: check that it runs"),
    ],
)
def test_a_member_that_does_not_tell_is_one_sentence_and_an_exit_code(
    start: Start,
    capsys: pytest.CaptureFixture[str],
    about: dict[str, str],
    words: list[str],
    code: int,
    sentence: str,
) -> None:
    at = start("group", **about)
    assert main(["doctor", "--live", at, *words]) == code
    out, err = capsys.readouterr()
    again = ["raincheck", "doctor", "--live", at, *words]
    assert out == (f"{' '.join(again)}\n" if code == 2 else "")
    assert err.startswith("raincheck: ")
    assert err.count("\n") == 1
    assert at in err
    assert sentence in err
    assert list(Path("runs").iterdir()) == []

    assert main(["doctor", "--live", at, *words, "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == {2: "inconclusive", 3: "error"}[code]
    assert answer["reproduce"] == " ".join([*again, "--json"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--live", "nowhere"], "member 'nowhere' is not HOST:PORT"),
        (["--live", "127.0.0.1:0"], "member 127.0.0.1:0 has port 0"),
        (["--live", "no.such.host.invalid:1"], "names an unknown host"),
        (["--live", "127.0.0.1:1", "--key", "none.key"], "key file none.key cannot be read"),
        (["--live", "127.0.0.1:1", "--timeout", "0"], "0 is no number of seconds"),
        (["--key", "right.key"], "--key is for --live HOST:PORT only."),
    ],
)
def test_what_cannot_be_asked_is_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", *words]) == 3
    assert sentence in capsys.readouterr().err


def test_a_dry_run_asks_nobody(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "-n", "--live", "127.0.0.1:1"]) == 0
    assert capsys.readouterr().out == "would ask the member at 127.0.0.1:1\n"
    assert list(tmp_path.iterdir()) == []
