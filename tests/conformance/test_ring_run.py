"""Real rings of real processes: what they do is recorded and checked, none is left behind."""

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.field.faults import Plan
from raincheck.conformance.field.ring.checks import (
    AS_WRITTEN,
    PROMISED,
    TRACE,
    RingJudged,
    judge_ring,
    ring_results,
)
from raincheck.conformance.field.ring.faults import HOLDER, KEPT, LOST, RingFault
from raincheck.conformance.field.ring.members import RingMember
from raincheck.conformance.field.ring.record import RingSettings
from raincheck.conformance.field.ring.run import RingRun
from raincheck.conformance.trace.live.receiver import Receiver
from raincheck.impl.recording.sending import Place

QUICK = RingSettings(members=3, seconds=0.5, rate=40)

pytestmark = pytest.mark.sockets


def planned(settings: RingSettings, folder: Path, *faults: RingFault, **damage: float) -> RingRun:
    """A run with these faults instead of drawn ones."""
    run = RingRun(settings, 1, folder)
    run.record.plan = Plan(faults, damage)
    return run


def judged(run: RingRun, folder: Path) -> RingJudged:
    record = asyncio.run(run.run())
    return judge_ring(record, folder, as_written=run.settings.as_written)


def texts(folder: Path) -> list[bytes]:
    """What the files of a folder say, apart from their names."""
    return sorted(path.read_bytes() for path in folder.iterdir())


def test_a_quiet_ring_keeps_every_promise(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    members_of: Callable[[Path], list[int]],
) -> None:
    out = tmp_path / "out"
    words = ["run", "raincore", "--faults", "none", "--seconds", "0.5", "--rate", "40", "--json"]
    receiver = Receiver([Place("127.0.0.1", 0)], tmp_path / "live", [].append)
    words += ["--trace-to", str(receiver.places[0])]

    code = main([*words, "--seed", "3", "--out", str(out)])
    receiver.close()

    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert code == 0, answer
    found = {result["name"]: result for result in answer["results"]}
    assert {found[name]["verdict"] for name in (TRACE, *PROMISED)} == {"holds"}
    run = found["ring-3"]
    assert run["events"] > 30
    assert (run["lives"], run["faults"], run["refused"]) == (3, "none", 0)
    assert run["locks"] > 0
    assert run["writes"] >= 2 * run["locks"]
    assert run["messages"] % 3 == 0  # everybody has delivered everything
    assert run["messages"] >= 9
    assert sorted(path.name for path in (out / "traces").iterdir()) == [
        f"ring-3.{name}.0.{protocol}.jsonl" for name in "abc" for protocol in ("locks", "raincore")
    ]
    # A reader beside the files has the same, and was told who never came.
    assert run["unsent"] == 0
    assert texts(tmp_path / "live") == texts(out / "traces")
    assert members_of(out) == []
    assert main(["conform", str(out / "traces"), "--json", "--out", str(tmp_path / "again")]) == 0
    again = json.loads(capsys.readouterr().out)["results"]
    assert {result["verdict"] for result in again} == {"holds"}
    assert "ring-3: ConsistentHistory" in {result["name"] for result in again}


def test_the_holder_dies_with_the_token_and_a_late_one_is_refused(tmp_path: Path) -> None:
    run = planned(
        replace(QUICK, members=4, seconds=1.0),
        tmp_path,
        RingFault("holder", 0.1, HOLDER, "passing", 0.0, KEPT, settle=True),
        RingFault("pause", 0.5, HOLDER, "locked", 1.5, settle=True),
    )

    found = judged(run, tmp_path)

    record = found.record
    assert record.failure == ""
    assert record.faults() == {"holder": 1, "back, kept": 1, "pause": 1, "resumed": 1}
    dead = next(member for member in record.lives if member.code == -signal.SIGKILL)
    lives = [member for member in record.lives if member.name == dead.name]
    assert [member.address for member in lives] == [dead.address] * 2
    assert found.verdict == "holds", found.reasons
    trace = tmp_path / "traces" / f"ring-1.{dead.address}.raincore.jsonl"
    actions = [json.loads(line).get("action") for line in trace.read_text().splitlines()]
    at = actions.index("Crash")
    assert (actions[at - 1], actions[at + 1]) == ("EatingTimeout", "Recover")
    assert actions[-1] is None  # a footer: nothing is missing
    late = [write for write in record.writes if not write.accepted]
    assert late, "the others have had the lock while its holder was stopped"
    assert sum(member.refused for member in record.lives) == len(late)


def test_a_partition_a_lost_state_joins_and_a_leave_under_damage(tmp_path: Path) -> None:
    run = planned(
        replace(QUICK, members=4, seconds=1.0),
        tmp_path,
        RingFault("partition", 0.1, seconds=0.8, settle=True),
        RingFault("forget", 0.3, back=LOST, settle=True),
        RingFault("joinstorm", 0.6, count=2),
        RingFault("leave", 0.8, settle=True),
        loss=0.02, duplicate=0.1, delay=0.1, reorder=0.1,
    )  # fmt: skip

    found = judged(run, tmp_path)

    record = found.record
    assert record.failure == ""
    kinds = {"partition", "heal", "forget", "back, lost", "joinstorm", "leave"}
    assert set(record.faults()) == kinds
    (later,) = (member for member in record.lives if member.incarnation == 1)
    earlier = next(member for member in record.lives if member.name == later.name)
    assert earlier.bind != later.bind, "another life need not be there"
    assert found.verdict == "holds", found.reasons
    figures = found.result("again").figures
    for kind in ("lost", "duplicated", "delayed", "reordered", "parted"):
        assert kind in str(figures["damaged"])


def test_who_is_closed_or_interrupted_comes_back_by_the_same_call(tmp_path: Path) -> None:
    run = planned(
        QUICK,
        tmp_path,
        RingFault("interrupt", 0.1, back=KEPT),
        RingFault("close", 0.5, back=LOST, settle=True),
    )

    found = judged(run, tmp_path)

    record = found.record
    assert record.failure == ""
    assert record.faults() == {"interrupt": 1, "back, kept": 1, "close": 1, "back, lost": 1}
    assert found.verdict == "holds", found.reasons
    assert [member.code for member in record.lives if member.ending == "close"] == [0, 0]
    (closed,) = (each["who"] for each in record.done if each["kind"] == "close")
    again = {member.address for member in record.lives} - {"a.0", "b.0", "c.0"}
    assert again == {f"{closed}.1"}, "without its file it is another life"


class Forgetful(RingRun):
    """A run in which all files are lost, though they are to be kept."""

    async def _again(self, target: RingMember, fault: RingFault) -> None:
        self._state(target.name).unlink()
        await super()._again(target, fault)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_stop_and_come_back_in_any_order(seed: int, tmp_path: Path) -> None:
    """The same restart is noticed if all files are lost: then a second ring is founded."""
    found = {}
    for kind in (RingRun, Forgetful):
        folder = tmp_path / kind.__name__
        folder.mkdir()
        run = kind(QUICK, seed, folder)
        run.record.plan = Plan((RingFault("restartall", 0.3, back=KEPT, settle=True),), {})
        found[kind] = judged(run, folder)

    assert found[RingRun].verdict == "holds", found[RingRun].reasons
    assert found[RingRun].record.faults()["back, kept"] == 3
    assert "OneFounding" in found[Forgetful].violated


def test_as_written_the_same_campaign_shows_what_is_missing(tmp_path: Path) -> None:
    run = planned(
        replace(QUICK, as_written=True),
        tmp_path,
        RingFault("restart", 0.3, back=KEPT),
    )

    found = judged(run, tmp_path)
    results = {each.name: each for each in ring_results([found], {1: "again"})}

    assert found.verdicts[TRACE] == "holds", found.reasons
    assert "FenceUnique" in found.violated  # every founder makes a token
    assert 0 < found.soonest["FenceUnique"] < found.record.seconds
    assert results["FenceUnique"].figures["first_run"] == 1
    assert results[AS_WRITTEN].as_expected
    header = json.loads(next((tmp_path / "traces").glob("*.a.0.*")).read_text().splitlines()[0])
    assert header["constants"]["majority"] is False


class Sabotaged(RingRun):
    """A run in which something happens that nobody planned, once the ring is formed."""

    def sabotage(self, members: list[RingMember]) -> None:
        """Do it."""
        raise NotImplementedError

    async def _load(self) -> None:
        await super()._load()
        self.sabotage(self.members.in_group)


def test_a_member_that_dies_unasked_or_is_silent_leaves_the_run_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Murder(Sabotaged):
        def sabotage(self, members: list[RingMember]) -> None:
            members[1].signal(signal.SIGKILL)

    class Coma(Sabotaged):
        def sabotage(self, members: list[RingMember]) -> None:
            for member in members[1:]:
                member.signal(signal.SIGSTOP)

    monkeypatch.setattr(RingRun, "SETTLE", 1.5)
    said: list[Any] = []
    for place, kind in enumerate((Murder, Coma)):
        folder = tmp_path / str(place)
        folder.mkdir()
        found = judged(kind(QUICK, 1, folder), folder)
        said.append(found.record.failure)
        assert found.verdict == "inconclusive"
        assert all(member.code is not None for member in found.record.lives)

    assert said[0].startswith(
        "Member b.0 was not asked to end, but ended by signal SIGKILL: it said nothing."
    )
    assert "waits for" in said[1]


@pytest.mark.slow
def test_a_repair_undone_is_noticed(tmp_path: Path) -> None:
    """Without majorities both sides of a partition go on, and their histories differ."""
    found = []
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        run = planned(
            replace(QUICK, members=4, seconds=1.5, undo="majority"),
            folder,
            RingFault("partition", 0.1, seconds=1.5),
        )
        found.append(judged(run, folder))
        if found[-1].violated:
            break

    assert "ConsistentHistory" in found[-1].violated
