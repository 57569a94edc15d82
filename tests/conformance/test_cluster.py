"""Real clusters of real processes: what they do is recorded and checked, none is left behind."""

import argparse
import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.errors import UsageError
from raincheck.conformance.field.faults import Plan
from raincheck.conformance.field.record import cut_last_line, name_of
from raincheck.conformance.field.stack import run as clusterrun
from raincheck.conformance.field.stack.campaign import run_cluster, settings_of
from raincheck.conformance.field.stack.checks import FIRM, NOT_PROMISED, judge, results
from raincheck.conformance.field.stack.faults import Fault
from raincheck.conformance.field.stack.members import Member
from raincheck.conformance.field.stack.record import Record, Settings
from raincheck.conformance.field.stack.run import ClusterRun
from raincheck.conformance.field.stack.state import Everything
from raincheck.conformance.field.telling import content
from raincheck.conformance.trace.run import check_paths

QUICK = Settings(members=3, seconds=0.5, rate=400)

State = tuple[str, int]
"""Who gave a state, and the position of its log by then."""

pytestmark = pytest.mark.sockets


def planned(run: ClusterRun, *faults: Fault) -> ClusterRun:
    """Give a run these faults instead of drawn ones."""
    run.record.plan = Plan(faults, {})
    return run


def records_of(folder: Path, run: str) -> list[dict[str, object]]:
    """All records of a run's traces."""
    return [
        json.loads(line)
        for path in sorted((folder / "traces").glob(f"{run}.*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a condition on the outside world, as long as the process lives."""
    end = time.monotonic() + 30
    while not condition():
        assert process.poll() is None, "the harness ended too soon"
        assert time.monotonic() < end, "nothing happened"
        os.sched_yield()


@pytest.mark.parametrize("transport", ["udp", "udp-multicast", "tcp"])
def test_a_quiet_cluster_conforms_on_every_transport(
    transport: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    members_of: Callable[[Path], list[int]],
) -> None:
    out = tmp_path / "out"
    words = ["run", "--faults", "none", "--messages", "50", "--rate", "400", "--json"]

    code = main([*words, "--transport", transport, "--seed", "3", "--out", str(out)])

    answer = json.loads(capsys.readouterr().out)
    assert code == 0, answer
    found = {result["name"]: result for result in answer["results"]}
    assert found["run-3"]["messages"] == 3 * 3 * 51  # each ends its load with one more
    assert found["run-3"]["events"] > 100
    assert found["run-3"]["faults"] == "none"
    for name in FIRM:
        assert found[name]["verdict"] == "holds"
    assert found["UniformTotalOrder"]["verdict"] == NOT_PROMISED
    assert found["UniformTotalOrder"]["seen_kept"] == 1
    assert answer["reproduce"].endswith("--messages 50 --size 100 --rate 400 --seed 3")
    assert (out / "summary.json").is_file()
    assert not (out / "INCOMPLETE").exists()
    assert members_of(out) == []


def test_a_crash_of_the_coordinator_is_survived_and_reported(tmp_path: Path) -> None:
    settings = replace(QUICK, trace_to="unix:nobody")  # which costs the run nothing
    run = planned(
        ClusterRun(settings, 1, tmp_path), Fault("crash", 0.5, "coordinator", seconds=0.0)
    )

    record = asyncio.run(run.run())
    judged = judge(record, tmp_path)

    assert record.failure == ""
    assert [each["kind"] for each in record.done] == ["crash", "restart"]
    assert record.done[0]["who"] == "a.0"
    assert {member.address: member.code for member in record.lives} == {
        "a.0": -signal.SIGKILL, "b.0": 0, "c.0": 0, "a.1": 0,
    }  # fmt: skip
    crashes = [each for each in records_of(tmp_path, "run-1") if each["kind"] == "crash"]
    traced = ["flush", "frag", "gms", "sequencer", "stable", "state_transfer"]
    who = {"run": "run-1", "node": "a", "incarnation": 0}
    assert crashes == [{"kind": "crash", **who, "traced": traced}]
    assert judged.verdict == "holds", judged.reasons
    assert judged.result("again").figures["unsent"] == record.unsent
    assert record.unsent > 100
    assert judged.views >= 5  # three founders, the crash, the return


def test_pause_leave_and_join_under_damage(tmp_path: Path) -> None:
    run = ClusterRun(QUICK, 2, tmp_path)
    run.record.plan = Plan(
        (
            Fault("pause", 0.2, "coordinator", seconds=0.2),
            Fault("join", 0.4),
            Fault("leave", 0.6, "coordinator", seconds=0.0, settle=False),
        ),
        {"loss": 0.1, "duplicate": 0.1, "delay": 0.1, "reorder": 0.1},
    )

    record = asyncio.run(run.run())
    judged = judge(record, tmp_path)

    assert record.failure == ""
    assert record.faults() == {"pause": 1, "join": 1, "leave": 1, "restart": 1}
    assert sorted(member.address for member in record.survivors) == ["a.1", "b.0", "c.0", "d.0"]
    assert judged.verdict == "holds", judged.reasons
    figures = judged.result("again").figures
    for kind in ("lost", "duplicated", "delayed", "reordered"):
        assert kind in str(figures["damaged"])


def test_a_member_taken_for_dead_comes_back_as_another(tmp_path: Path) -> None:
    run = planned(ClusterRun(QUICK, 1, tmp_path), Fault("pause", 0.2, "member", seconds=2.5))

    record = asyncio.run(run.run())

    assert record.failure == ""
    assert record.faults() == {"pause": 1, "excluded": 1}
    assert "excluded from the group" in record.done[1]["reason"]
    assert sorted(m.name for m in record.survivors) == ["a", "b", "c"]
    assert judge(record, tmp_path).verdict == "holds"


def test_a_state_asked_for_amid_the_load_is_judged_by_logs_and_layers(tmp_path: Path) -> None:
    run = planned(ClusterRun(QUICK, 1, tmp_path), Fault("state", 0.6, "member"))

    record = asyncio.run(run.run())
    judged = judge(record, tmp_path)

    assert record.failure == ""
    assert record.faults() == {"state": 1}
    assert judged.verdict == "holds", judged.reasons
    assert [member.transfers for member in record.survivors] == [0, 2, 1]
    promises = [each for found in check_paths([tmp_path / "traces"]) for each in found.promises]
    (cuts,) = [each for each in promises if each.name == "CutIsDelivered"]
    assert (cuts.verdict, cuts.idle) == ("holds", False)
    path = tmp_path / "deliveries" / "run-1.b.0.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    (taken,) = [row for row in rows if row.get("event") == "state" and row["after"]]
    assert taken["position"] > 2

    provider = tmp_path / "deliveries" / f"run-1.{taken['sender']}.jsonl"
    last = max(json.loads(line).get("position", 0) for line in provider.read_text().splitlines())
    assert taken["after"] < last, "the load was over when the state was taken"
    # That of the beginning lacks what b has delivered; that of the end has what b delivers yet.
    for after in (1, last):
        other = [row | {"after": after} if row is taken else row for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in other))
        wrong = judge(record, tmp_path)
        assert wrong.verdicts["Logs"] == "violated"
        assert any("state_cut violated" in reason for reason in wrong.reasons)


class Sabotaged(ClusterRun):
    """A run in which something happens that nobody planned, once the load is on."""

    def sabotage(self, members: list[Member]) -> None:
        """Do it."""
        raise NotImplementedError

    async def _load(self) -> None:
        await super()._load()
        self.sabotage(self.members.in_group)


def test_a_member_that_dies_unasked_makes_the_run_incomplete(tmp_path: Path) -> None:
    class Murder(Sabotaged):
        def sabotage(self, members: list[Member]) -> None:
            members[1].signal(signal.SIGKILL)

    record = asyncio.run(Murder(QUICK, 1, tmp_path).run())
    judged = judge(record, tmp_path)

    words = "Member b.0 was not asked to end, but ended by signal SIGKILL: it said nothing."
    assert record.failure.startswith(words)
    assert judged.verdict == "inconclusive"
    assert results([judged], {1: "again"})[0].detail.startswith(f"Incomplete: {words}")
    assert all(member.code is not None for member in record.lives)


@pytest.mark.parametrize("patience", [1.0, 0.01], ids=["it has asked", "it has not begun"])
def test_a_member_that_never_joins_is_named(
    patience: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf(ClusterRun):
        async def _join(self, name: str) -> Member:
            for member in self.members.in_group:
                monkeypatch.setattr(ClusterRun, "START", patience)  # the first may take its time
                member.signal(signal.SIGSTOP)
            return await super()._join(name)

    record = asyncio.run(Deaf(QUICK, 1, tmp_path).run())

    words = f"The joining of b.0 took longer than {patience:g} s; a.0: no answer"
    assert record.failure.startswith(words)
    assert judge(record, tmp_path).verdict == "inconclusive"
    assert [member.code for member in record.lives] == [-signal.SIGKILL] * 2


def test_a_port_in_use_is_a_matter_of_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ClusterRun.options_of
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"

        def with_port(*given: object) -> dict[str, object]:
            return options(*given) | {"bind": where}  # type: ignore[arg-type]

        monkeypatch.setattr(ClusterRun, "options_of", staticmethod(with_port))

        with pytest.raises(UsageError, match=rf"does not start: .*cannot bind UDP to {where}"):
            run_cluster(QUICK, 1, tmp_path)


def test_a_trace_that_cannot_be_written_makes_the_run_inconclusive(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "run-1.b.0.jsonl").touch()  # no life's file is ever overwritten

    record = run_cluster(QUICK, 1, tmp_path)
    judged = judge(record, tmp_path)

    assert record.failure == ""
    assert any("run-1.b.0.jsonl has stopped (File exists)" in said for said in record.defects)
    assert judged.verdict == "inconclusive"


def test_a_full_disk_is_reported_in_a_sentence(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # inherited by the members
    try:
        record = run_cluster(QUICK, 1, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert "ended with exit code 3: member " in record.failure
    assert "File too large" in record.failure
    assert judge(record, tmp_path).verdict == "inconclusive"


def test_members_that_are_thrown_out_again_and_again_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusterrun, "MOST_EXCLUDED", 0)
    run = planned(ClusterRun(QUICK, 1, tmp_path), Fault("pause", 0.2, "member", seconds=2.5))

    record = asyncio.run(run.run())

    assert record.failure.startswith("Members were taken for dead too often (1), at last b.0: ")
    assert judge(record, tmp_path).verdict == "inconclusive"


def test_a_folder_that_cannot_be_written_is_a_matter_of_set_up(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("a file")

    with pytest.raises(UsageError, match=r"cannot keep its records in .*File exists"):
        run_cluster(QUICK, 1, tmp_path)


def test_an_interrupted_run_leaves_no_process_and_says_that_it_is_incomplete(
    tmp_path: Path, members_of: Callable[[Path], list[int]]
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "raincheck", "run", "--faults", "none", "--seconds", "600"]
    harness = subprocess.Popen(
        [*command, "--out", str(out)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: len(members_of(out)) == 3, harness)
        harness.send_signal(signal.SIGINT)
        said = harness.communicate(timeout=30)[1]
    finally:
        harness.kill()
        harness.communicate()

    assert harness.returncode == 2
    assert said.splitlines()[-1] == "raincheck: Interrupted."
    assert "Traceback" not in said
    assert members_of(out) == []
    assert (out / "INCOMPLETE").is_file()
    assert not (out / "summary.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "undo", "shows"),
    [
        ("unicast", "", "Retransmit"),
        ("unicast", "unicast.ack_duplicates", "Receive"),
        ("nakack", "", "Announce"),
        ("nakack", "nakack.announcing", "Announce"),
    ],
)
def test_a_layer_that_is_traced_only_if_asked(
    layer: str, undo: str, shows: str, tmp_path: Path
) -> None:
    """Who is paused lags until it has to be told, and has to be sent to, again."""
    settings = Settings(members=3, messages=600, rate=1000, undo=undo, trace=(layer,))
    run = ClusterRun(settings, 1, tmp_path)
    run.record.plan = Plan(
        (Fault("pause", 0.2, seconds=0.4), Fault("crash", 0.6, "coordinator", seconds=0.0)),
        {"loss": 0.05, "duplicate": 0.1, "reorder": 0.1},
    )

    record = asyncio.run(run.run())
    verdicts = check_paths([tmp_path / "traces"])
    [found] = [each for each in verdicts if each.protocol == layer]

    assert record.failure == ""
    assert found.files == len(record.lives) >= 4  # more where a busy machine had it taken for dead
    assert found.events > 300
    assert found.actions[shows] >= 1
    assert found.verdict == ("violated" if undo else "holds"), found.findings
    if undo:
        assert {each.action for each in found.findings} == {shows}


@pytest.mark.slow
@pytest.mark.parametrize("repair", ["own_table", "join_policy", "prune_table", "resend_always"])
def test_a_repair_undone_is_noticed(repair: str, tmp_path: Path) -> None:
    settings = Settings(members=3, seconds=1.0, rate=1000, undo=repair)
    found = []
    for seed in range(1, 17):  # it shows in one run of two to five
        folder = tmp_path / str(seed)
        run = planned(
            ClusterRun(settings, seed, folder), Fault("crash", 0.3, "coordinator", seconds=0.0)
        )
        judged = judge(asyncio.run(run.run()), folder)
        found.append(judged.verdict)
        if judged.verdict == "violated":
            break

    assert found[-1] == "violated"


# ---------------------------------------------------------------------- without processes


def lived(tmp_path: Path, logs: Mapping[str, Sequence[int | State]], sent: int) -> Record:
    """A record of members that delivered these messages of a.0, and ended well.

    `("a.0", 2)` is a state with what a.0 had at position 2.
    """
    record = Record("run-1", 1, Plan((), {}))
    folder = tmp_path / "deliveries"
    folder.mkdir()
    for name, numbers in logs.items():
        rows = [
            {"member": f"{name}.0", "view": 1, "position": p}
            | (
                {"sender": "a.0", "message": what}
                if isinstance(what, int)
                else {"event": "state", "sender": what[0], "after": what[1]}
            )
            for p, what in enumerate(numbers, 1)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"run-1.{name}.0.jsonl").write_text(text)
        process: asyncio.subprocess.Process = None  # type: ignore[assignment]
        member = Member(name, 0, process, tmp_path / "none", ending="leave", code=0)
        member.joined_in = 1
        member.sent = sent if name == "a" else 0
        record.lives.append(member)
    record.survivors = list(record.lives)
    return record


@pytest.mark.parametrize(
    ("at_b", "verdicts", "words"),
    [
        ([1, 2, 3], {"GapFree": "holds", "Validity": "holds"}, ""),
        ([1, 3], {"GapFree": "violated", "Validity": "holds"}, "b.0 delivered a.0 3 after 1"),
        ([1, 2], {"GapFree": "holds", "Validity": "violated"}, "up to 2 of 3"),
        ([2, 3], {"GapFree": "holds", "Validity": "violated"}, "lacks a.0's messages before 2"),
        ([1, 2, 2, 3], {"GapFree": "violated", "Validity": "holds"}, "a.0 2 after 2"),
        ([], {"GapFree": "inconclusive", "Validity": "violated"}, "no row: the file is empty"),
        ([1, ("a.0", 2), 3], {"GapFree": "holds", "Validity": "holds"}, ""),
        ([("a.0", 1), 2, 3], {"GapFree": "holds", "Validity": "holds"}, ""),
        ([1, ("a.0", 3)], {"GapFree": "holds", "Validity": "holds"}, ""),
        ([("a.0", 3)], {"GapFree": "holds", "Validity": "holds"}, ""),
        ([1, ("a.0", 2)], {"GapFree": "holds", "Validity": "violated"}, "up to 2 of 3"),
        ([1, ("a.0", 1), 3], {"GapFree": "violated", "Validity": "holds"}, "a.0 3 after 1"),
        ([1, ("a.0", 3), 3], {"GapFree": "violated", "Validity": "holds"}, "a.0 3 after 1"),
        ([1, 3, ("a.0", 2)], {"GapFree": "violated", "Validity": "holds"}, "a.0 3 after 1"),
        ([1, ("a.0", 9), 3], {"GapFree": "violated", "Validity": "holds"}, "a.0 3 after 1"),
        ([("a.0", 0), 2, 3], {"GapFree": "holds", "Validity": "violated"}, "messages before 2"),
    ],
)
def test_logs_are_judged_by_what_was_given_to_the_application(
    at_b: list[int | State], verdicts: dict[str, str], words: str, tmp_path: Path
) -> None:
    judged = judge(lived(tmp_path, {"a": [1, 2, 3], "b": at_b}, 3), tmp_path, check=False)

    assert judged.verdicts == verdicts
    assert words in "\n".join(judged.reasons)


def test_a_safe_run_is_judged_by_the_uniform_promises(tmp_path: Path) -> None:
    """b goes on without a, which has delivered one message more before it was killed."""
    record = lived(tmp_path, {"a": [1, 2, 3], "b": [1, 2], "c": [1, 2]}, 3)
    record.safe = True
    logs = tmp_path / "deliveries"
    for name in "abc":
        rows: list[dict[str, object]] = [{"event": "safe"}]
        if name != "a":
            rows.append({"event": "view", "view": 2})
        with (logs / f"run-1.{name}.0.jsonl").open("a") as file:
            file.writelines(json.dumps({"member": f"{name}.0"} | row) + "\n" for row in rows)
    (logs / "run-1.faults.jsonl").write_text('{"member": "a.0", "event": "crash"}\n')

    judged = judge(record, tmp_path)

    assert judged.verdicts["UniformAgreement"] == "violated"
    assert judged.verdict == "violated"
    assert any("uniform_agreement violated" in reason for reason in judged.reasons)
    assert {"UniformTotalOrder", "UniformAgreement"} <= set(judged.owed)
    names = {result.name: result.verdict for result in results([judged], {1: ""})}
    assert names["safe delivery: UniformAgreement"] == "violated"


@pytest.mark.parametrize(
    ("at_c", "broken"),
    [([2, 1], {"Fifo"}), ([1, 1, 2], {"Integrity"}), ([1], {"Agreement"})],
)
def test_a_run_with_total_is_judged_by_its_logs(
    at_c: list[int], broken: set[str], tmp_path: Path
) -> None:
    """c, which goes on with b, has delivered what it may not."""
    record = lived(tmp_path, {"a": [1, 2], "b": [1, 2], "c": at_c}, 2)
    record.order = "total"
    for name in "bc":
        with (tmp_path / "deliveries" / f"run-1.{name}.0.jsonl").open("a") as file:
            file.write(json.dumps({"member": f"{name}.0", "event": "view", "view": 2}) + "\n")

    judged = judge(record, tmp_path)

    assert {name for name, each in judged.verdicts.items() if each == "violated"} >= broken
    assert judged.verdict == "violated"
    assert not {"InView", "UniformAgreement"} & {*judged.owed}
    found = [result for result in results([judged], {1: ""}) if result.name in broken]
    assert {(each.protocol, each.verdict) for each in found} == {("total", "violated")}


def test_nothing_delivered_is_not_a_pass(tmp_path: Path) -> None:
    judged = judge(Record("run-1", 1, Plan((), {})), tmp_path)

    assert judged.verdict == "inconclusive"
    assert judged.verdicts == {
        "GapFree": "inconclusive", "Validity": "inconclusive", "Trace": "inconclusive",
        "Logs": "inconclusive", "Unordered": "inconclusive",
    }  # fmt: skip


def test_traces_that_are_not_there_are_not_a_pass(tmp_path: Path) -> None:
    """Even where the harness has written that it killed somebody."""
    (tmp_path / "traces").mkdir()
    crash = {"kind": "crash", "run": "run-1", "node": "b", "incarnation": 0}
    (tmp_path / "traces" / "run-1.faults.jsonl").write_text(json.dumps(crash) + "\n")

    judged = judge(lived(tmp_path, {"a": [1], "b": [1]}, 1), tmp_path)

    assert judged.verdicts["Trace"] == "inconclusive"
    assert judged.verdict == "inconclusive"
    assert "no member has written a trace" in judged.reasons


def test_what_is_not_promised_is_shown_and_fails_nothing(tmp_path: Path) -> None:
    record = lived(tmp_path, {"a": [1], "b": [1]}, 1)
    judged = judge(record, tmp_path, check=False)
    judged.verdicts |= {"Trace": "holds", "UniformTotalOrder": "violated"}
    judged.witnesses["UniformTotalOrder"] = {"members": ["a", "b"]}

    shown = {result.name: result for result in results([judged], {1: "again"})}

    assert shown["run-1"].verdict == "holds"
    assert shown["UniformTotalOrder"].verdict == NOT_PROMISED
    assert shown["UniformTotalOrder"].as_expected
    assert shown["UniformTotalOrder"].figures["seen_violated"] == 1
    assert shown["UniformTotalOrder"].figures["seeds_violated"] == [1]
    assert shown["UniformTotalOrder"].figures["witness"] == {"members": ["a", "b"]}


def test_a_broken_order_fails_the_run_and_so_do_the_logs_alone(tmp_path: Path) -> None:
    record = lived(tmp_path, {"a": [1, 2], "b": [2, 1]}, 2)
    judged = judge(record, tmp_path)

    assert judged.verdicts["Logs"] == "violated"
    assert "total_order violated" in "\n".join(judged.reasons)
    judged.verdicts = {"Trace": "holds", "TotalOrder": "violated"}
    assert judged.verdict == "violated"


def test_states_that_differ_in_the_end_break_the_cut(tmp_path: Path) -> None:
    record = lived(tmp_path, {"a": [1], "b": [1]}, 1)
    for member in record.lives:
        member.state = (1, 0xABC, 0x1)
    assert judge(record, tmp_path, check=False).verdicts["SameCut"] == "holds"

    record.lives[1].state = (1, 0xABC, 0x2)
    judged = judge(record, tmp_path, check=False)
    assert "b.0 1 00000abc 00000002" in "\n".join(judged.reasons)

    record.lives[1].state = (2, 0xDEF, 0x1)
    judged = judge(record, tmp_path, check=False)

    assert judged.verdict == "violated"
    assert "SameCut is violated" in "\n".join(judged.reasons)
    assert "b.0 2 00000def 00000001" in "\n".join(judged.reasons)


def test_a_state_goes_over_whole_or_not_at_all() -> None:
    async def handed(chunks: list[bytes]) -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    provider, heard = Everything(), Everything()
    provider.add("a.0", [1, 2])
    provider.add("b.0", [1])
    chunks = list(provider.get_state())
    asyncio.run(heard.set_state(handed(chunks)))
    for each in (provider, heard):
        each.add("a.0", [3])

    assert (heard.count, heard.sum) == (provider.count, provider.sum)
    assert (heard.count, heard.transfers) == (4, 1)
    with pytest.raises(ValueError, match="not the one that was sent"):
        asyncio.run(heard.set_state(handed(chunks[:-1])))


def test_contents_tell_messages_apart() -> None:
    contents = {content(sender, number, 16) for sender in ("a.0", "b.0") for number in range(500)}

    assert len(contents) == 1000
    assert {len(each) for each in contents} == {16}


def test_a_half_written_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":')

    cut_last_line(path)
    cut_last_line(tmp_path / "absent")

    assert path.read_bytes() == b'{"a":1}\n'


def test_a_dry_run_names_the_commands_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["run", "-n", "--members", "2", "--faults", "crash,loss"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert sum("raincheck.conformance.field.stack.node --name=" in line for line in lines) == 2
    assert "--peers=HOST:PORT" in lines[1]
    assert sum("crash of the " in line for line in lines) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--members", "0"], "--members is 0"),
        (["--size", "3"], "--size is 3: choose from 16"),
        (["--messages", "0"], "--messages is 0"),
        (["--seconds", "-1"], "--seconds is -1"),
        (["--rate", "-2"], "--rate is -2"),
        (["--runs", "0"], "--runs is 0"),
        (["--faults", "flood"], "does not know flood"),
        (["--transport", "pigeon"], "invalid choice: 'pigeon'"),
        (["--trace-to", "traces"], "--trace-to is traces: give unix:PATH"),
        (["--trace-to", "tcp:x"], "--trace-to: 'tcp:x' is not tcp:ADDRESS:PORT"),
        (["--trace-to", "tcp:127.0.0.1:0"], "--trace-to: 'tcp:127.0.0.1:0' has port 0"),
        (["--trace-to", "unix:s", "--runs", "2"], "--trace-to is for one run"),
        (["--trace", "unicast,flush"], "--trace does not know flush: choose from unicast"),
    ],
)
def test_what_cannot_be_run_is_refused(
    given: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *given, "--out", str(tmp_path / "out")]) == 3
    assert sentence in capsys.readouterr().err


def test_names_go_on_after_the_alphabet() -> None:
    assert [name_of(number) for number in (0, 25, 26)] == ["a", "z", "m26"]


def test_settings_follow_the_arguments() -> None:
    args = argparse.Namespace(
        members=4, transport="tcp", faults="loss", messages=None, seconds=None, size=200,
        large=0, rate=0.0, runs=1, soak=None, seed=9, undo="", trace="unicast",
        order="sequencer", delivery="agreed", stability="votes", repair="requests",
        trace_to="",
    )  # fmt: skip

    settings = settings_of(args)

    assert (settings.members, settings.kinds, settings.seconds) == (4, ("loss",), 5.0)
    assert settings.trace == ("unicast",)
    assert settings.batch > settings_of(argparse.Namespace(**vars(args) | {"rate": 5.0})).batch
    assert settings.group != settings_of(argparse.Namespace(**vars(args) | {"seed": 8})).group


def test_the_traces_alone_say_the_same_again(tmp_path: Path) -> None:
    record = run_cluster(QUICK, 5, tmp_path)

    verdicts = {each.protocol: each for each in check_paths([tmp_path / "traces"])}
    verdict = verdicts.pop("sequencer")

    assert record.failure == ""
    assert verdict.verdict == "holds"
    assert verdict.files == 3
    layers = {each.protocol: (each.verdict, each.findings) for each in verdicts.values()}
    names = ("flush", "frag", "gms", "stable", "state_transfer", "layers")
    assert layers == dict.fromkeys(names, ("holds", []))
