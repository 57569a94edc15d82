"""The trace checker: good traces conform, each fault is seen, both ways of checking agree."""

import dataclasses
import random
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from raincheck.conformance.trace import run, tracefile
from raincheck.conformance.trace.events import Crash, Event, Footer, encode_lines
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.damage import FAULTS, copy, damage
from raincheck.conformance.trace.sequencer.direct import Direct
from raincheck.conformance.trace.sequencer.logs import logs_of
from raincheck.conformance.trace.sequencer.members import Views, check_drained, check_members
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.summary import Departure, Installed, Summary
from raincheck.conformance.trace.sequencer.tracegen import Shape, Trace, Walk, write_trace
from raincheck.conformance.trace.streams import Streams
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Rules

SYNCHRONOUS = Shape(steps=80, crashes=2, synchronous=True)
A, B, C = (Address(n, 0) for n in "abc")


def verdict_of(folder: Path, trace: Trace) -> RunVerdict:
    """The decomposed checker's word on a trace."""
    for old in folder.glob("*.jsonl"):
        old.unlink()
    write_trace(folder, trace)
    return check_paths([folder])[0]


def small() -> Trace:
    """A short good trace with a join, a crash and a leave in it."""
    return Walk(7, Shape(steps=150)).run().files()


def event_of(trace: Trace, who: Address, action: str) -> Event:
    """The first event of that kind."""
    return next(r for r in trace[who] if isinstance(r, Event) and r.action == action)


# The audit's step damage asks both of many more walks.
MORE = pytest.mark.slow


@pytest.mark.parametrize("block", [0, 1, pytest.param(2, marks=MORE), pytest.param(3, marks=MORE)])
def test_the_decomposed_verdict_is_the_direct_one(tmp_path: Path, block: int) -> None:
    seen: dict[str, set[str]] = {}
    for seed in range(block * 40, block * 40 + 40):
        good = Walk(seed, Shape(steps=70)).run().files()
        for fault in range(5):
            name, trace = ("none", good) if fault == 0 else damage(good, seed * 10 + fault)
            direct, decomposed = Direct(trace), verdict_of(tmp_path, trace)

            assert decomposed.verdict == direct.verdict, (seed, fault, name, direct.violated)
            seen.setdefault(name, set()).add(decomposed.verdict)

    assert seen["none"] == {HOLDS}
    assert {name for name, verdicts in seen.items() if VIOLATED in verdicts} >= {
        "receive other contents",
        "receive at another position",
        "receive another tag",
        "receive other messages",
    }
    assert set(FAULTS) >= set(seen) - {"none"}


@cache
def synchronous(seed: int) -> Walk:
    """A walk whose views are virtually synchronous."""
    return Walk(seed, SYNCHRONOUS).run()


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=MORE), pytest.param(2, marks=MORE)])
def test_the_verdicts_agree_where_views_are_virtually_synchronous(
    tmp_path: Path, block: int
) -> None:
    seen: dict[str, set[str]] = {}
    for seed in range(block * 20, block * 20 + 20):
        good = synchronous(seed).files()
        damaged = [damage(good, seed * 10 + number) for number in range(4)]
        for name, trace in [("none", good), *damaged]:
            direct, decomposed = Direct(trace), verdict_of(tmp_path, trace)

            assert decomposed.verdict == direct.verdict, (seed, name, direct.violated)
            seen.setdefault(name, set()).add(decomposed.verdict)

    assert seen["none"] == {HOLDS}
    assert set().union(*seen.values()) == {HOLDS, INCONCLUSIVE, VIOLATED}


def test_synchronous_walks_go_through_every_kind_of_view_change() -> None:
    walks = [synchronous(seed) for seed in range(60)]
    actions = {event.action for walk in walks for event in walk.events}
    changes = [change for walk in walks for change in pairwise(walk.views)]

    assert actions >= {"Crash", "Join", "Stop", "InstallView", "Resend"}
    assert any(new == (*old[1:], old[0]) for old, new in changes if len(old) > 1)
    lost = [(walk, who) for walk in walks for who, many in walk.world.lost.items() if many]
    assert {who in walk.cut_off for walk, who in lost} == {True, False}


@pytest.mark.parametrize("fault", ["deliver in the next view", "leave a message unread"])
def test_what_breaks_virtual_synchrony_alone_is_seen_by_both(tmp_path: Path, fault: str) -> None:
    broken = 0
    for seed in range(40):
        good = synchronous(seed).files()
        trace = copy(good)
        FAULTS[fault](random.Random(seed), trace)
        if trace == good:
            continue  # no member went on to a view, or none of what was read could be left
        broken += 1
        assert (Direct(trace).verdict, verdict_of(tmp_path, trace).verdict) == (VIOLATED, VIOLATED)

        for records in trace.values():
            records[0].constants = {"VirtualSynchrony": False}
        assert (Direct(trace).verdict, verdict_of(tmp_path, trace).verdict) == (HOLDS, HOLDS)

    assert broken > 25


@pytest.mark.parametrize("undone", [f.name for f in dataclasses.fields(Rules)])
def test_traces_of_any_rules_conform_to_the_header_that_names_them(
    tmp_path: Path, undone: str
) -> None:
    values = {"join_policy": "one", "keep_until": "stable", "delivery": "safe"}
    value = values.get(undone, False)
    rules = dataclasses.replace(Rules(), **{undone: value})
    if undone == "incarnations":
        pytest.skip("addresses without incarnation are not told apart in a trace")
    for seed in range(12):
        trace = Walk(seed, Shape(steps=90, rules=rules)).run().files()

        assert verdict_of(tmp_path, trace).verdict == HOLDS


@pytest.mark.parametrize("undone", ["hold_sends", "own_table", "prune_table"])
def test_a_repair_that_is_undone_in_silence_is_seen(tmp_path: Path, undone: str) -> None:
    rules = dataclasses.replace(Rules(), **{undone: False})
    verdicts = set()
    for seed in range(25):
        trace = Walk(seed, Shape(steps=150, rules=rules)).run().files()
        for records in trace.values():
            records[0].constants = {"VirtualSynchrony": False}
        verdicts.add(verdict_of(tmp_path, trace).verdict)

    assert VIOLATED in verdicts


def test_a_false_guard_is_named_with_its_values(tmp_path: Path) -> None:
    trace = small()
    sends = [r for r in trace[B] if isinstance(r, Event) and r.action == "ReceiveData"]
    sends[-1].args.view = 99
    found = verdict_of(tmp_path, trace).first

    assert found is not None
    assert (found.verdict, found.node, found.index) == (VIOLATED, "b", sends[-1].index)
    [conjunct] = found.conjuncts
    assert conjunct.text == "ViewTag => d.view <= view[n]"
    assert conjunct.values["d.view"] == 99


def test_expected_and_recorded_variables_are_shown(tmp_path: Path) -> None:
    trace = small()
    event = event_of(trace, B, "Send")
    event.changed.seqno = 41
    result = verdict_of(tmp_path, trace)

    assert result.first is not None
    [difference] = result.first.differences
    assert (difference.name, difference.expected, difference.recorded) == ("seqno", 1, 41)
    assert result.conforming["b.0"] == event.index - 1


def test_contents_that_differ_between_the_ends_are_a_violation(tmp_path: Path) -> None:
    trace = small()
    event = event_of(trace, C, "ReceiveData")
    event.args.crc = 1
    found = verdict_of(tmp_path, trace).first

    assert found is not None
    assert (found.part, found.node, found.index) == ("network", "c", event.index)
    assert found.reason == '["DATA","a",0,"c",0,1] was sent with other contents'


def test_a_missing_event_is_inconclusive_and_ends_the_prefix(tmp_path: Path) -> None:
    trace = small()
    lost = [r for r in trace[A] if isinstance(r, Event)][5]
    trace[A].remove(lost)
    result = verdict_of(tmp_path, trace)

    assert result.verdict == INCONCLUSIVE
    assert result.conforming["a.0"] == 5
    assert result.events == sum(isinstance(r, Event) for each in trace.values() for r in each)
    assert any("event 6 is missing" in finding.reason for finding in result.findings)


def test_an_open_end_is_inconclusive_unless_the_crash_is_recorded(tmp_path: Path) -> None:
    trace = Walk(3, Shape(steps=60, crashes=0, leavers=0)).run().files()
    assert isinstance(trace[C].pop(), Footer)
    assert verdict_of(tmp_path, trace).verdict == INCONCLUSIVE

    crash = Crash(run="r1", node="c", incarnation=0)
    (tmp_path / "faults.jsonl").write_bytes(encode_lines([crash]))
    assert check_paths([tmp_path])[0].verdict == HOLDS


def test_what_a_crashed_sender_did_not_record_is_inconclusive(tmp_path: Path) -> None:
    trace = Walk(3, Shape(steps=60, crashes=0, leavers=0)).run().files()
    del trace[A][-3:]
    write_trace(tmp_path, trace, crashed=(A,))
    result = check_paths([tmp_path])[0]

    assert result.verdict in (HOLDS, INCONCLUSIVE)
    del trace[A][2:]
    write_trace(tmp_path, trace, crashed=(A,))
    result = check_paths([tmp_path])[0]
    assert result.verdict == INCONCLUSIVE
    assert any("do not show its sending" in finding.reason for finding in result.findings)


def test_a_missing_file_is_inconclusive(tmp_path: Path) -> None:
    trace = copy(small())
    del trace[C]

    assert verdict_of(tmp_path, trace).verdict == INCONCLUSIVE


def test_a_killed_member_may_have_no_file_if_nobody_had_anything_of_it(tmp_path: Path) -> None:
    trace = Walk(3, Shape(steps=60, crashes=0, leavers=0)).run().files()
    del trace[A]
    write_trace(tmp_path, trace, crashed=(A,))
    assert check_paths([tmp_path])[0].verdict == INCONCLUSIVE

    young = Summary(path="", run="r1", node="a", incarnation=0, end="footer")
    young.views.append(Installed(2, (A, B), 1, 1))
    views = Views({2: (A, B)})
    assert check_members({A: young}, views, [B]) == []
    assert [finding.node for finding in check_members({A: young}, views, [])] == ["b"]


def test_a_member_that_was_lost_and_admitted_again_is_judged_by_its_last_departure() -> None:
    left = Summary(path="", run="r1", node="b", incarnation=0, stopped=True, multicast=7)
    reader = Summary(path="", run="r1", node="a", incarnation=0, end="footer")
    reader.departures.append(Departure(B, 0, 3, 3))
    assert [finding.node for finding in check_drained({A: reader, B: left})] == ["b"]

    reader.views.append(Installed(9, (A, B), 4, 4))
    assert check_drained({A: reader, B: left}) == []
    reader.departures.append(Departure(B, 6, 5, 5))
    assert [finding.node for finding in check_drained({A: reader, B: left})] == ["b"]


def test_nothing_at_all_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    [stray] = check_paths([tmp_path])

    assert stray.verdict == INCONCLUSIVE
    assert "empty" in stray.problems[0].reason


def test_steady_traces_conform_whatever_the_size_of_runs(tmp_path: Path) -> None:
    for members, size in [(2, 1), (3, 5), (5, 2)]:
        folder = tmp_path / f"{members}-{size}"
        write_steady(folder, 500, members, size)
        result = check_paths([folder])[0]

        assert result.verdict == HOLDS, result.first
        assert {promise.verdict for promise in result.promises if not promise.idle} == {HOLDS}


def test_survivors_that_disagree_are_reported_apart_from_conformance(tmp_path: Path) -> None:
    for seed in range(30):
        result = verdict_of(tmp_path, Walk(seed, Shape()).run().files())
        broken = {p.name: p for p in result.promises if p.verdict == VIOLATED}
        if "Agreement" in broken:
            break

    assert result.verdict == HOLDS
    assert len(broken["Agreement"].witness["members"]) == 2
    assert len(broken["Agreement"].witness["messages"]) == 1


def test_a_message_delivered_in_two_views_breaks_virtual_synchrony(tmp_path: Path) -> None:
    for seed in range(60):
        result = verdict_of(tmp_path, Walk(seed, Shape()).run().files())
        broken = {p.name: p for p in result.promises if p.verdict == VIOLATED}
        if "VirtualSynchrony" in broken:
            break

    witness = broken["VirtualSynchrony"].witness
    assert len(witness["members"]) == 2
    first, second = witness["views"]
    assert first != second
    assert not result.synchronous  # the header says that this system promises no such thing


@pytest.mark.parametrize("seed", range(5))
def test_a_log_of_runs_reads_as_one_of_single_messages(seed: int) -> None:
    rng = random.Random(seed)
    runs, singles = Rows(), Rows()
    at = {"a": 1, "b": 1}
    view = 1
    for _ in range(200):
        view += rng.random() < 0.05
        sender, count = rng.choice("ab"), rng.choice((1, 1, 2, 5))
        runs.deliver(view, runs.key_of((sender, 0)) + at[sender], count)
        for seqno in range(at[sender], at[sender] + count):
            singles.deliver(view, singles.key_of((sender, 0)) + seqno, 1)
        at[sender] += count
    read = []
    for rows in (runs, singles):
        summary = Summary(path="", run="r", node="a", incarnation=0, addresses=list(rows.codes))
        summary.view_starts = rows.view_starts
        [log], _ = logs_of({("a", 0): summary}, {("a", 0): rows.delivered})
        read.append((log.keys.tolist(), log.starts))

    assert read[0] == read[1]
    assert len(read[0][0]) == sum(at.values()) - 2
    assert all(word >= 0 or word < -1 for word in runs.delivered)  # a length of at least two


def test_the_rows_of_the_network_do_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    settle = Streams.settle

    def watched(self: Streams) -> int:
        kept.append(settle(self))
        return kept[-1]

    monkeypatch.setattr(Streams, "settle", watched)
    monkeypatch.setattr(run, "SETTLE", 4)
    monkeypatch.setattr(tracefile, "CHUNK", 16 * 1024)
    for events in (4_000, 16_000):
        write_steady(tmp_path / str(events), events)
        assert check_paths([tmp_path / str(events)])[0].verdict == HOLDS
        assert kept.pop() == 0
        assert len(kept) > 4
        assert max(kept) < 400
        kept.clear()


@pytest.mark.parametrize("batch", [600, 4_000])
def test_the_order_of_reading_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    verdicts = []
    for seed in range(12):
        trace = Walk(seed, Shape(steps=120), run=f"r{seed:02}").run().files()
        if seed % 3:
            _, trace = damage(trace, seed)
        write_trace(tmp_path / str(seed), trace)
    for files, size, every in ((200, 64 * 1024, 64), (200, batch, 1), (1, batch, 1), (2, batch, 3)):
        monkeypatch.setattr(run, "OPEN", files)
        monkeypatch.setattr(run, "SETTLE", every)
        monkeypatch.setattr(tracefile, "CHUNK", size)
        verdicts.append(check_paths([tmp_path]))

    assert all(verdict == verdicts[0] for verdict in verdicts)
    assert {verdict.verdict for verdict in verdicts[0]} >= {HOLDS, VIOLATED}
