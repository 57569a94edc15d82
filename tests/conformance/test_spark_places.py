"""Where Spark runs and where files lie: settings, the package on its way, other file systems."""

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.conformance.deliveries import properties_local
from raincheck.conformance.errors import UsageError
from raincheck.conformance.judges.plan import plan
from raincheck.conformance.spark import pipeline, remote, settings, shipping
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.inputs import Uri, place
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.located import located
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.tracefile import read_blocks
from raincheck.conformance.verbs.sparking import only_paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.filterwarnings("default")]
TRACES = Path(__file__).parents[1] / "traces" / "sequencer"
EXAMPLE = Path(__file__).parents[2] / "examples" / "two_phase_commit"


@pytest.fixture
def there(session: "SparkSession", tmp_path: Path) -> str:
    """The address of a folder by a file system that Python cannot open."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    name = "".join(c if c.isalnum() else "-" for c in tmp_path.name)
    hadoop.set(f"fs.viewfs.mounttable.{name}.link./data", tmp_path.as_uri())
    return f"viewfs://{name}/data"


def test_settings_are_those_of_the_user_and_a_cluster_keeps_its_own(tmp_path: Path) -> None:
    assert settings.parsed(["spark.a=1=2", "spark.b="]) == {"spark.a": "1=2", "spark.b": ""}
    for wrong in ("spark.a", "a=1", "=1"):
        with pytest.raises(UsageError, match="as spark-submit takes it"):
            settings.parsed([wrong])
    (tmp_path / "spark-defaults.conf").write_text("# spark.master no\nspark.master   yarn\n")
    here = {"SPARK_CONF_DIR": str(tmp_path)}
    assert settings.master_of(None, {}, {}) == "local[*]"
    assert settings.master_of(None, {"spark.master": "yarn"}, {}) == "yarn"
    assert settings.master_of("local[2]", {"spark.master": "yarn"}, here) == "local[2]"
    for told in (
        here,
        {"PYSPARK_GATEWAY_PORT": "1"},
        {"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"},
    ):
        assert settings.master_of(None, {}, told) is None
    for master in (None, "yarn", "spark://h:7077", "local-cluster[2,1,1024]", "k8s://h"):
        assert not settings.embedded(master)
        assert not any("driver" in name for name in settings.ours(master, 4, brief=True))
        python = settings.environment(master, {"spark.pyspark.python": "/w/python"}, "p", {})
        assert python == {"PYSPARK_PYTHON": "/w/python", "PYSPARK_DRIVER_PYTHON": "p"}
    assert settings.ours("local[*]", 4, brief=False)["spark.driver.host"] == "127.0.0.1"


def test_an_address_names_a_file_system_and_a_path_this_machines(tmp_path: Path) -> None:
    assert place("hdfs://h:8020/a b") == Uri("hdfs://h:8020/a b")
    assert place((tmp_path / "a b").as_uri()) == tmp_path / "a b"
    for own in ("a/b", "/a", "unix:/run/x.sock", "tcp:127.0.0.1:7400"):
        assert place(own) == Path(own)
    with pytest.raises(UsageError, match="s3a://b/x is not read by the local engine"):
        only_paths([place("s3a://b/x")], "the local engine")


def test_the_package_and_the_project_at_hand_are_in_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shipping.written(tmp_path / "a.zip")
    assert shipping.written(tmp_path / "b.zip") == first
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project)
    monkeypatch.chdir(project)
    assert shipping.written(tmp_path / "c.zip") != first
    names = {*zipfile.ZipFile(tmp_path / "c.zip").namelist()}
    ours = {*zipfile.ZipFile(tmp_path / "a.zip").namelist()}
    assert {"raincheck/raincheck.toml", "raincheck/conformance/spark/pipeline.py"} <= ours < names
    assert any(name.endswith("dist-info/entry_points.txt") for name in ours)
    assert {
        "raincheck.toml",
        "two_phase_commit/binding.py",
        "spec/cases/two_phase_commit.toml",
    } <= names - ours


LINES = st.lists(st.binary(max_size=6).map(lambda b: b.replace(b"\n", b"")), max_size=12)


@given(LINES, st.booleans(), st.integers(1, 5), st.integers(-1, 1))
def test_a_file_that_comes_in_lines_is_the_file_or_is_called_cut(
    lines: list[bytes], ended: bool, size: int, off: int
) -> None:
    whole = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    rows = whole.split(b"\n")
    rows = rows[:-1] if rows[-1] == b"" else rows
    found = [[row + b"\n" for row in rows[at : at + size]] for at in range(0, len(rows), size)]
    problems: list[Problem] = []
    claimed = len(whole) + (off if rows else 0)
    chunks = [remote.Chunk("f", claimed, pa.array(each, pa.binary())) for each in found]

    blocks = list(remote.blocks_of("f", chunks, problems.append))

    got, came = b"".join(block for _, block in blocks), b"".join(map(b"".join, found))
    assert off or got == whole
    assert got == {len(came): came, len(came) - 1: came[:-1]}.get(claimed, came)
    assert bool(problems) == (claimed not in (len(came), len(came) - 1) and bool(rows))
    at = 1
    for line, block in blocks:
        assert line == at
        at += block.count(b"\n")


def test_a_line_that_is_no_records_length_is_refused_as_on_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raincheck.conformance.trace.tracefile.MAX_LINE", 100)
    monkeypatch.setattr("raincheck.conformance.trace.tracefile.CHUNK", 16)
    monkeypatch.setattr(remote, "MAX_LINE", 100)
    monkeypatch.setattr(remote, "CHUNK", 16)
    rows = [b"short\n", b"x" * 300 + b"\n", b"last\n"]
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"".join(rows))
    here: list[Problem] = []
    there: list[Problem] = []
    chunk = remote.Chunk(str(path), sum(map(len, rows)), pa.array(rows, pa.binary()))

    mine = b"".join(block for _, block in read_blocks(path, here.append))
    theirs = b"".join(block for _, block in remote.blocks_of(str(path), [chunk], there.append))

    assert mine == theirs == b"short\nlast\n"
    assert [each.line for each in here] == [each.line for each in there] == [2]


def collected(monkeypatch: pytest.MonkeyPatch, kind: type, run: Callable[[], object]) -> list[int]:
    """Return how many rows, and how many characters of them, come to the driver."""
    came: list[str] = []

    def spied(name: str) -> Callable[[Any], Any]:
        before = getattr(kind, name)

        def call(self: Any) -> Any:
            rows = list(before(self))
            came.extend(map(str, rows))
            return rows if name == "collect" else iter(rows)

        return call

    with monkeypatch.context() as patch:
        for name in ("collect", "toLocalIterator", "toPandas", "toArrow"):
            if hasattr(kind, name):
                patch.setattr(kind, name, spied(name))
        run()
    return [len(came), sum(map(len, came))]


@pytest.mark.parametrize("planted", [False, True])
def test_the_driver_gets_as_much_of_a_long_run_as_of_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    frame = type(plan().range(0, 1, 1, 1))
    grouped = frame.groupBy

    def groups(self: Any, *names: str) -> Any:
        self.collect()  # what the driver must not do
        return grouped(self, *names)

    if planted:
        monkeypatch.setattr(frame, "groupBy", groups)
    came = []
    for events in (400, 8000):
        folder = tmp_path / str(events)
        write_steady(folder, events)

        def check(folder: Path = folder) -> None:
            (verdict,) = pipeline.check_paths(plan(), [folder])
            assert verdict.verdict == "holds"

        came.append(collected(monkeypatch, frame, check))

    (rows, size), (more, larger) = came
    assert planted or rows == 4  # a row for each file, and the verdict
    grown = more > rows or larger > size * 1.1
    assert grown == planted


@pytest.mark.java
@pytest.mark.slow
def test_the_driver_gets_as_much_of_long_logs_as_of_short_ones(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.classic.dataframe import DataFrame

    from raincheck.conformance.spark import properties

    came = []
    for messages in (20, 400):
        # Nobody contradicts the fullest log, and two lack the same of it: a cycle is looked for.
        names = {"p": "xac", "q": "xbc", "r": "ab"}
        folder = tmp_path / str(messages)
        folder.mkdir()
        for member, senders in names.items():
            rows = [(sender, i) for i in range(messages) for sender in senders]
            text = "".join(
                json.dumps({"member": member, "position": at, "sender": s, "message": i}) + "\n"
                for at, (s, i) in enumerate(rows, 1)
            )
            (folder / f"{member}.jsonl").write_text(text)

        def check(folder: Path = folder) -> None:
            properties.check_deliveries(session, [folder])

        came.append(collected(monkeypatch, DataFrame, check))

    (rows, size), (more, larger) = came
    assert more == rows
    assert larger < size * 1.1


@pytest.mark.java
def test_traces_on_another_file_system_get_the_same_verdicts(
    session: "SparkSession", there: str, tmp_path: Path
) -> None:
    for folder in sorted(TRACES.iterdir()):
        (tmp_path / folder.name).mkdir()
        for path in folder.iterdir():
            text = re.sub('"run":"[^"]*"', f'"run":"{folder.name}"', path.read_text())
            (tmp_path / folder.name / path.name).write_text(text)
    (tmp_path / "empty.jsonl").touch()
    first = next((tmp_path / "holds-join").glob("*.[0-9].jsonl"))
    first.write_bytes(first.read_bytes()[:-1])  # no newline behind the last line
    shutil.copy(first, tmp_path / "holds-join" / "z [again] %20.jsonl")

    local = list(map(located, check_paths([tmp_path])))
    found = pipeline.check_paths(session, [Uri(there)], lines=True)

    assert {verdict.verdict for verdict in local} >= {"violated", "inconclusive"}
    assert "a second file for" in str(local)
    assert any(finding.line for verdict in found for finding in verdict.findings)
    assert renamed(found, there, str(tmp_path)) == local
    for given_, said in ((f"{there}/none", "cannot be read by Spark"), (there, "holds no odd")):
        with pytest.raises(UsageError, match=said):
            remote.listed(session, [Uri(given_)], (".odd",), "odd")
    remote.copied(session, TRACES / "holds-join", f"{there}/copy/here")
    assert {p.name for p in (tmp_path / "copy" / "here").iterdir() if p.name[0] != "."} == {
        p.name for p in (TRACES / "holds-join").iterdir()
    }


@pytest.mark.java
def test_delivery_logs_on_another_file_system_get_the_same_verdicts(
    session: "SparkSession", there: str, tmp_path: Path
) -> None:
    from raincheck.conformance.spark import properties

    rows = [{"member": m, "position": i, "sender": "p", "message": i} for m in "pq" for i in (1, 2)]
    rows[2], rows[3] = rows[3] | {"position": 1}, rows[2] | {"position": 2}
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "log.jsonl").write_text(text + "{nonsense\n")
    (tmp_path / "empty.jsonl").touch()

    asked = ["sender_fifo"]  # what is read is the same for all
    local = properties_local.check_deliveries([tmp_path], asked)
    (tmp_path / "_hidden.jsonl").write_text(text)
    found = properties.check_deliveries(session, [Uri(there)], asked)

    assert local["sender_fifo"].verdict == "violated"
    assert len(local.problems) == 2
    hidden, *others = found.problems
    assert hidden.path == f"{there}/_hidden.jsonl"
    assert hidden.reason.startswith("Spark has read nothing of its")
    here = [each._replace(path=each.path.replace(there, str(tmp_path))) for each in others]
    assert here == local.problems
    assert found.properties == local.properties


def renamed(found: Iterable[RunVerdict], old: str, new: str) -> list[RunVerdict]:
    import msgspec

    text = msgspec.json.encode(list(found)).decode().replace(old, new)
    return msgspec.json.decode(text, type=list[RunVerdict])
