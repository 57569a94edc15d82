"""The frame of `raincheck run` without its processes: seeds, soaks, what is told and kept."""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Result, Ui
from raincheck.conformance.field import campaign
from raincheck.conformance.field.campaign import Campaign, keeping
from raincheck.conformance.field.faults import Plan, PlannedFault
from raincheck.conformance.field.lives import Life
from raincheck.conformance.field.record import RunRecord
from raincheck.conformance.field.tally import judged_sum

SEED = 7


@dataclass
class Found:
    """A run of nothing: of an odd seed nothing can be said."""

    record: RunRecord[PlannedFault, Life]

    def result(self, again: str) -> Result:
        """The run as one result."""
        verdict = "inconclusive" if self.record.seed % 2 else "holds"
        return Result(self.record.run, "toy", verdict, detail=again)


@dataclass
class Clock:
    """Stands in for `time` where each run takes as long as its seed."""

    now: float = 0.0
    ran: list[int] = field(default_factory=list)

    def monotonic(self) -> float:
        """Seconds."""
        return self.now


class Toy(Campaign[Found]):
    """A campaign that starts nothing."""

    clock = Clock()

    def options(self, which: list[str]) -> list[str]:
        return ["toy", *which]

    def dry(self) -> None:
        self.ui.announce("nothing would be started")

    def judged(self, seed: int) -> Found:
        self.clock.ran.append(seed)
        self.clock.now += seed
        done = [{"kind": "nap", "who": "a", "at": 0.5}]
        return Found(RunRecord(f"toy-{seed}", seed, Plan((), {}), done=done))

    def seen(self, judged: Found) -> str:
        return f"; seed {judged.record.seed}"

    def results(self, runs: list[Found], again: dict[int, str]) -> tuple[Result, ...]:
        return tuple(found.result(again[found.record.seed]) for found in runs)

    def asked(self) -> dict[str, int]:
        return {"members": 0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time by which soaks are measured."""
    made = Clock()
    monkeypatch.setattr(Toy, "clock", made)
    monkeypatch.setattr(campaign, "time", made)
    return made


def toy(
    out: Path, runs: int = 1, soak: float | None = None, dry_run: bool = False, json: bool = False
) -> Toy:
    args = argparse.Namespace(seed=SEED, runs=runs, soak=soak, dry_run=dry_run, out=out)
    return Toy(args, Ui(json=json))


def test_each_run_has_the_next_seed_and_its_own_command(
    tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = toy(tmp_path, runs=3).run()

    assert clock.ran == [7, 8, 9]
    assert outcome.reproduce == "raincheck run toy --seed 7 --runs 3"
    assert [each.detail for each in outcome.results] == [
        f"raincheck run toy --seed {seed}" for seed in (7, 8, 9)
    ]
    told = capsys.readouterr().out.splitlines()
    assert [line.split(" ", 1)[1] for line in told] == [
        "toy-7: inconclusive; seed 7",
        "toy-9: inconclusive; seed 9",
    ]
    assert json.loads((tmp_path / "settings.json").read_text()) == {"members": 0}
    faults = [json.loads(line) for line in (tmp_path / "faults.jsonl").read_text().splitlines()]
    assert faults[1] == {"run": "toy-8", "kind": "nap", "who": "a", "at": 0.5}
    assert (tmp_path / "summary.json").is_file()


def test_a_soak_begins_runs_until_its_time_is_over(tmp_path: Path, clock: Clock) -> None:
    outcome = toy(tmp_path, soak=20.0).run()

    assert clock.ran == [7, 8, 9]  # after 15 s there is time for another
    assert outcome.reproduce == "raincheck run toy --seed 7 --soak 20"


def test_for_machines_every_run_is_reported(
    tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    toy(tmp_path, runs=2, json=True).run()

    said = capsys.readouterr()
    assert said.out == ""
    assert "toy-8: holds; seed 8" in said.err
    assert clock.ran == [7, 8]


def test_a_dry_run_starts_and_makes_nothing(tmp_path: Path, clock: Clock) -> None:
    outcome = toy(tmp_path / "out", runs=2, dry_run=True).run()

    assert outcome.results == ()
    assert outcome.reproduce == "raincheck run toy --seed 7 --runs 2"
    assert clock.ran == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("system", ["stack", "raincore"])
def test_a_folder_with_other_traces_is_refused(
    system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "traces").mkdir()

    assert main(["run", system, "--out", str(tmp_path)]) == 3
    assert "holds traces of another run" in capsys.readouterr().err


def test_what_the_file_system_refuses_is_reported_in_a_sentence(tmp_path: Path) -> None:
    sentence = r"cannot keep its records in here \(Is a directory\)"

    with pytest.raises(UsageError, match=sentence), keeping(Path("here")):
        tmp_path.write_text("")


def test_over_whom_all_runs_were_judged_is_the_sum() -> None:
    runs = [{"members": 3, "views": 2}, {}, {"members": 4, "messages": 9}]

    assert judged_sum(runs) == {"members": 7, "views": 2, "messages": 9}
