"""Delivery logs that are judged while they grow: the batch's verdict, and nobody accused before."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.deliveries import live_logs
from raincheck.conformance.deliveries.live_logs import LiveLogs
from raincheck.conformance.deliveries.properties import NAMES
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.testing.growing import grown
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.verbs import following

Event = dict[str, Any]
Logs = dict[str, list[Event]]
PIECES = (9, 120, 900, 2500)


def run_of(random: Random, views: int = 3) -> Logs:
    """What the members of a good run do, view after view; in the last one some have less."""
    logs: Logs = {name: [] for name in "pqr"[: random.choice((2, 3))]}
    sent: dict[str, int] = dict.fromkeys(logs, 0)
    for view in range(1, views + 1):
        for log in logs.values():
            log.append({"event": "view", "view": view})
        order = []
        for _ in range(random.randrange(5)):
            sender = random.choice(sorted(logs))
            sent[sender] += 1
            order.append((sender, sent[sender]))
        for name, log in logs.items():
            mine = order[: random.randint(0, len(order))] if view == views else order
            for sender, number in order:
                if sender == name:
                    log.append({"event": "send", "message": number, "view": view})
                if (sender, number) in mine:
                    log.append(
                        {"event": "deliver", "sender": sender, "message": number, "view": view}
                    )
    return logs


def swap(random: Random, log: list[Event]) -> None:
    one, other = random.sample([n for n, e in enumerate(log) if e["event"] == "deliver"], 2)
    log[one], log[other] = log[other], log[one]


def lose(random: Random, log: list[Event]) -> None:
    del log[random.choice([n for n, e in enumerate(log) if e["event"] == "deliver"])]


def double(random: Random, log: list[Event]) -> None:
    again = dict(random.choice([e for e in log if e["event"] == "deliver"]))
    log.insert(random.randrange(len(log) + 1), again)


def invent(random: Random, log: list[Event]) -> None:
    event = random.choice([e for e in log if e["event"] == "deliver"])
    event["message"] += random.choice((0, 1, 50))
    event["sender"] = random.choice("pqr")


def elsewhere(random: Random, log: list[Event]) -> None:
    random.choice([e for e in log if e["event"] == "deliver"])["view"] += 1


def early(random: Random, log: list[Event]) -> None:
    sends = [n for n, e in enumerate(log) if e["event"] == "send"]
    if sends:
        log.append(log.pop(random.choice(sends)))


DAMAGES = (swap, lose, double, invent, elsewhere, early)
SHAPES = ("numbers", "none", "names", "names after", "lists", "states")


def written(random: Random, logs: Logs, shape: str, folder: Path) -> None:
    """The run's logs, a file for each member; the shape says how views are known."""
    folder.mkdir()
    sends, ends = random.random() < 0.6, random.random() < 0.8
    for name, log in logs.items():
        rows: list[Event] = []
        position = sent = 0
        if random.random() < 0.3:
            rows.append({"event": "safe"})
        for event in log:
            row = dict(event)
            view = row.pop("view")
            if shape.startswith("names"):
                row["view"] = f"v{view}"
            elif shape != "none":
                row["view"] = view
            if event["event"] == "view":
                if shape == "none":
                    continue
                row |= {"after": position} if shape in ("names after", "lists") else {}
                row |= {"members": sorted(logs)} if shape == "lists" else {}
            elif event["event"] == "send":
                if not sends:
                    continue
                sent += 1
                row |= {"position": sent, "after": position}
            else:
                position += 1
                row["position"] = position
                if shape == "states" and name == "q" and position == 1:
                    row |= {"event": "state", "sender": "p", "after": random.randrange(3)}
                    del row["message"]
            rows.append(row)
        if ends and random.random() < 0.8:
            rows.append({"event": "end", "position": position})
        text = "".join(json.dumps({"member": name, **row}) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)


def log_of(seed: int, folder: Path) -> None:
    """The log of a run that nearly always has a fault."""
    random = Random(seed)
    logs = run_of(random)
    if seed % 7:
        for _ in range(random.choice((1, 1, 2))):
            damage = random.choice(DAMAGES)
            log = random.choice(list(logs.values()))
            if sum(event["event"] == "deliver" for event in log) > 1:
                damage(random, log)
    written(random, logs, SHAPES[seed % len(SHAPES)], folder)


def followed(source: Path, place: Path, seed: int) -> tuple[set[str], set[str]]:
    """Follow the logs while they grow; the verdict is the batch's. Return what was told before,
    and what the batch says is violated.
    """
    live, told, now = LiveLogs([place], NAMES), set[str](), 0.0
    for now in grown(source, place, Random(seed), PIECES):
        live.turn(now)
        for whole in (False, True):
            for verdicts in live.broken(whole=whole).verdicts:
                told |= {each.name for each in verdicts.properties}
    while live.turn(now + 1.0):
        pass
    for verdicts in live.broken(whole=True).verdicts + live.broken(whole=False).verdicts:
        told |= {each.name for each in verdicts.properties}
    (found,) = live.close(now)

    batch = check_deliveries([place], NAMES)
    assert found == batch
    return told, {each.name for each in batch.properties if each.verdict == VIOLATED}


def test_however_logs_grow_what_is_told_stands_and_the_verdict_is_the_batchs(
    tmp_path: Path,
) -> None:
    seen: set[str] = set()
    for seed in range(90):
        log_of(seed, tmp_path / f"whole{seed}")
        told, violated = followed(tmp_path / f"whole{seed}", tmp_path / f"grown{seed}", seed)
        assert told <= violated, seed
        seen |= told

    assert {*NAMES} - seen <= {"uniform_agreement"}


def test_where_rows_are_dropped_what_is_told_stands_unless_it_was_delivered_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_logs, "KEPT", 12)
    monkeypatch.setattr(live_logs, "SOON", 6)
    seen: set[str] = set()
    for seed in range(60):
        log_of(seed, tmp_path / f"whole{seed}")
        told, violated = followed(tmp_path / f"whole{seed}", tmp_path / f"grown{seed}", seed)
        assert told <= violated or "no_duplication" in violated, seed
        seen |= told

    assert {"total_order", "no_duplication", "sender_fifo"} <= seen


def row(member: str, position: int, message: int, **more: Any) -> str:
    columns = {"member": member, "sender": "a", "message": message, "position": position}
    return json.dumps(columns | more) + "\n"


def names(live: LiveLogs) -> set[str]:
    while live.turn(live.looked_at + 1.0):
        pass
    (verdicts,) = live.broken(whole=False).verdicts
    return {each.name for each in verdicts.properties}


def test_another_order_is_told_in_the_view_in_which_all_are(tmp_path: Path) -> None:
    live = LiveLogs([tmp_path])
    rows = [row("p", 1, 1), row("p", 2, 2), row("q", 1, 2), row("q", 2, 1)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(rows)[:-3])
    assert names(live) == set()  # the last line is not all there
    path.write_text("".join(rows))
    assert "total_order" in names(live)
    live.close(0.0)


def test_a_member_that_others_have_left_behind_may_have_been_killed(tmp_path: Path) -> None:
    live = LiveLogs([tmp_path])
    rows = [row("p", 1, 1, view=1), row("p", 2, 2, view=1), row("q", 1, 2, view=1)]
    rows += [row("q", 2, 1, view=1), row("q", 3, 3, view=2)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(rows))
    assert names(live) == {"sender_fifo"}  # q's order is not its sender's
    with path.open("a") as file:
        file.write(row("p", 3, 3, view=2))
    assert "total_order" in names(live)
    live.close(0.0)


def test_rows_in_another_order_than_they_were_written_in_are_compared_at_the_end(
    tmp_path: Path,
) -> None:
    live = LiveLogs([tmp_path])
    rows = [row("p", 2, 2, view=2), row("p", 1, 1, view=1), row("q", 1, 1, view=1)]
    (tmp_path / "log.jsonl").write_text("".join([*rows, row("q", 2, 3, view=2)]))
    names(live)
    assert ["the rows of p are not in their order" in each for each in live.remarks()] == [True]
    live.close(0.0)


# ---------------------------------------------------------------- the verb


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(following, "OVER", 0.0)
    monkeypatch.setattr(following, "POLL", 0.0)
    Path("logs").mkdir()


def conform(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    code = main(["conform", "logs", "--follow", *words, "--out", "e", "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.mark.usefixtures("_elsewhere")
def test_logs_are_followed_until_all_have_ended(capsys: pytest.CaptureFixture[str]) -> None:
    ends = [{"member": name, "event": "end", "position": 2} for name in "pq"]
    text = "".join(row(name, at, at) for name in "pq" for at in (1, 2))
    Path("logs/l.jsonl").write_text(text + "".join(json.dumps(each) + "\n" for each in ends))
    words = ("--log-format", "deliveries", "--properties", "total_order,no_duplication")
    code, answer, _ = conform(capsys, *words)

    assert code == 0
    assert [each["name"] for each in answer["results"]] == ["total_order", "no_duplication"]
    assert answer["follow"] == {"told": 0, "alarms": 0, "alarms_failed": 0}
    assert "--follow" not in answer["reproduce"]


@pytest.mark.usefixtures("_elsewhere")
def test_another_systems_log_is_followed_to_its_first_violation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for client, numbers in (("p", (1, 2)), ("q", (2, 1))):
        lines = [f"MSG x 1 $JS.ACK.s.c.1.{number}.1.0.0 5\n" for number in numbers]
        Path(f"logs/{client}.log").write_text("".join(lines))
    code, answer, err = conform(capsys, "--log-format", "nats", "--on-violation", "exit")

    assert code == 1
    assert "violates: total_order: smallest witness" in err
    assert answer["follow"]["told"] >= 1


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("words", [["tcp:127.0.0.1:0"], ["--properties", "order"]])
def test_what_cannot_be_followed_of_logs_is_a_usage_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = conform(capsys, *words, "--log-format", "deliveries")

    assert code == 3
    assert err.startswith("raincheck: ")
