"""Runs of groups of processes, and what is said of several of them together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.deliveries.states import State
from raincheck.conformance.evidence.folder import Result
from raincheck.conformance.field.judged import over_all
from raincheck.conformance.field.ring.checks import RingJudged, judge_ring, ring_results
from raincheck.conformance.field.ring.fence import Access, Fence, Resource
from raincheck.conformance.field.stack import checks
from raincheck.conformance.field.stack.checks import ClusterJudged, results
from raincheck.conformance.field.stack.given import given_by
from raincheck.conformance.field.tally import damaged, explained
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.tracegen import write_trace

from .cluster_run import Run, good_run, judged_run
from .planted_ringchecks import ring_record
from .planting import Ask, Complaints, Shown
from .ring_faults import other_number
from .ring_run import traces
from .sequencer_story import trace_of

_SHOWN: Final = (
    *("events", "messages", "runs", "inconclusive", "violated", "first_run", "soonest", "median"),
    *("holes", "broken_runs", "seen_kept", "seen_violated", "seeds_violated", "witness"),
)


def _words(of: Iterable[Result]) -> Complaints:
    """Return results in words: the verdict, the one that is no surprise, figures, and the end of
    the reasons.
    """
    return [
        "; ".join(
            [
                f"{each.name}: {each.verdict}, {each.expected}",
                *(f"{name} {each.figures[name]}" for name in _SHOWN if each.figures.get(name)),
                *each.detail.splitlines()[-1:],
            ]
        )
        for each in of
    ]


# ---------------------------------------------------------------------- one run


def _verdicts(change: Callable[[Run], Any], spoil: Callable[[Path], Any] | None = None) -> Ask:
    """Ask for all verdicts on a changed run, and for what is owed."""

    def ask(folder: Path) -> Complaints:
        run = good_run()
        change(run)
        judged = judged_run(folder, run, spoil)
        return [f"{name}: {verdict}" for name, verdict in judged.verdicts.items()]

    return ask


def _logs_only(run: Run) -> None:
    run.check = False


def _one_survivor(run: Run) -> None:
    run.check = False
    del run.record.survivors[1:]


def _one_crashed(run: Run) -> None:
    run.check = False
    run.record.survivors.remove(run.member("c"))
    run.member("c").ending = "crash"


def _nonsense_of_c(folder: Path) -> None:
    with (folder / "deliveries" / "r1.c.0.jsonl").open("a") as file:
        file.write("nonsense\n")


def _state_of_b(folder: Path) -> None:
    """Let c deliver one message, and take the rest in a state of b's."""
    _log_of_c(
        folder,
        {"view": 1, "position": 1, "sender": "a.0", "message": "1", "event": "deliver"},
        {"view": 1, "position": 1, "sender": "b.0", "after": 4, "event": "state"},
        {"position": 1, "event": "end"},
    )


def _most_in_a_state(folder: Path) -> None:
    """Let c take all messages but the last one in a state of b's, and deliver that one behind."""
    _log_of_c(
        folder,
        {"view": 1, "position": 1, "sender": "b.0", "after": 3, "event": "state"},
        {"view": 1, "position": 2, "sender": "b.0", "message": "2", "event": "deliver"},
        {"position": 2, "event": "end"},
    )


def _log_of_c(folder: Path, *rows: dict[str, object]) -> None:
    text = "".join(json.dumps({"member": "c.0", **row}) + "\n" for row in rows)
    (folder / "deliveries" / "r1.c.0.jsonl").write_text(text)


def _owed(_: Path) -> Complaints:
    """What has to hold where traces are not checked: what was judged all the same does."""
    run = good_run()
    judged = [
        ClusterJudged(run.record, checked=False),
        ClusterJudged(run.record, checked=False, verdicts={"Fifo": VIOLATED, "SameCut": HOLDS}),
        ClusterJudged(run.record),
    ]
    safe = good_run()
    safe.record.safe = True
    judged += [ClusterJudged(safe.record, checked=checked) for checked in (False, True)]
    return [", ".join(each.owed) for each in judged]


def _traces(folder: Path) -> Complaints:
    """What is noted of a run from its traces."""
    judged = judged_run(folder, good_run())
    (result,) = results([judged], {1: "again"})[:1]
    return [*_words([result]), *(f"{name} over {of}" for name, of in judged.judged.items())]


def _ring_traces(folder: Path) -> Complaints:
    """What is noted of a ring of which two members have used one number."""
    (folder / "traces").mkdir()
    traces(folder / "traces", "b.0", other_number)
    judged = judge_ring(ring_record(), folder)
    return [
        *(
            f"{name}, at its witness's time: {at == judged.witnesses[name]['at']}"
            for name, at in judged.soonest.items()
        ),
        *_words([judged.result("again")])[0].split("; ")[::2],
    ]


# ---------------------------------------------------------------------- several runs


def _cluster(seed: int, **verdicts: str) -> ClusterJudged:
    run = good_run()
    run.record.run, run.record.seed = f"r{seed}", seed
    judged = ClusterJudged(run.record, verdicts=verdicts)
    for name, verdict in verdicts.items():
        judged.judged[name] = {"members": seed}
        if verdict == VIOLATED:
            judged.violates(name, None, f"in r{seed}")
    return judged


def _clusters(_: Path) -> Complaints:
    runs = [
        _cluster(1, Trace=HOLDS, Agreement=HOLDS, UniformAgreement=HOLDS),
        _cluster(2, Trace=HOLDS, Agreement=INCONCLUSIVE, UniformAgreement=VIOLATED),
        _cluster(3, Trace=VIOLATED, UniformAgreement=VIOLATED),
    ]
    return _words(results(runs, {seed: f"run {seed}" for seed in (1, 2, 3)})[3:])


def _worst(_: Path) -> Complaints:
    runs = [_cluster(1, Trace=HOLDS), _cluster(2, Fifo=HOLDS)]
    runs[1].judged.clear()
    return [str(over_all(runs, name)) for name in ("Trace", "Fifo", "Agreement")]


def _ring(seed: int, as_written: bool, at: float = 0.0, /, **verdicts: str) -> RingJudged:
    record = ring_record(run=f"r{seed}", seed=seed)
    judged = RingJudged(record, verdicts=verdicts, as_written=as_written)
    for name, verdict in verdicts.items():
        if verdict == VIOLATED:
            judged.violates(name, at or None, f"in r{seed}")
    return judged


def _rings(as_written: bool) -> Ask:
    def ask(_: Path) -> Complaints:
        runs = [
            _ring(1, as_written, Trace=HOLDS, OneLock=HOLDS, NoHoles=INCONCLUSIVE),
            _ring(2, as_written, 3.0, Trace=HOLDS, OneLock=VIOLATED, FenceUnique=INCONCLUSIVE),
            _ring(3, as_written, 1.0, Trace=HOLDS, OneLock=VIOLATED, FenceUnique=HOLDS),
            _ring(4, as_written, Trace=HOLDS, Fifo=VIOLATED),
        ]
        return _words(ring_results(runs, {seed: f"run {seed}" for seed in (1, 2, 3, 4)}))

    return ask


def _jumps(_: Path) -> Complaints:
    """Return which messages that were not delivered are in a state that was taken before."""
    given = {State(2, "q", "p", 3, 0): {"a": 3}}
    jumps = [(3, "a", 1, 4), (3, "a", 1, 5), (2, "a", 1, 4), (3, "b", 1, 4), (3, "a", 4, 4)]
    return [str(checks._explained(checks._Jump("q", *each), given)) for each in jumps]


def _given(_: Path) -> Complaints:
    """Return what is in the state of one whose provider was given one itself."""
    rows = {
        "p": [Row("p", number, 1, "a", str(number)) for number in (1, 2)],
        "q": [Row("q", 2, 1, "b", "7")],
    }
    states = [State(1, "q", "p", 2, 1), State(1, "r", "q", 2, 1)]
    found = given_by(states, {"p": 2, "q": 2}, rows)
    return [f"{state.member} {sorted(inside.items())}" for state, inside in found.items()]


def _explained(folder: Path) -> Complaints:
    """What is said of a run of which a line cannot be read, and of what its members have met."""
    write_trace(folder, trace_of(1))
    with (folder / "r1.b.0.jsonl").open("a") as file:
        file.write("nonsense\n")
    (verdict,) = check_paths([folder])
    faults: list[Any] = [
        SimpleNamespace(counters={"transport.fault_lost": count, "transport.sent": 9})
        for count in (2, 3)
    ]
    words = [each.replace(str(folder), "") for each in explained(verdict)]
    return [*words, damaged(faults), damaged([])]


# ---------------------------------------------------------------------- the resource


def _kept_log(_: Path) -> Complaints:
    """A resource keeps a log of what it accepted and refused."""
    first: Fence = (1, "a", 0, 1, 0)
    second: Fence = (1, "a", 0, 2, 0)
    resource = Resource(clock=lambda: 0.5)
    for fence in (second, first):
        resource.write("a.0", fence)
    return [f"{write.who} {write.fence} {write.accepted}" for write in resource.log]


def _closed(_: Path) -> Complaints:
    """A connection that was never opened can be closed."""
    Access("a.0", "127.0.0.1:1").close()
    return []


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "field.judged": {
        "what the traces of a run say": Shown(
            _traces,
            (
                "r1: holds, holds; events 13; messages 12",
                "TotalOrder over {'members': 3, 'views': 1, 'messages': 4}",
                "UniformTotalOrder over {'members': 3, 'views': 1, 'messages': 4}",
                "Agreement over {'members': 3, 'views': 1, 'messages': 4}",
                "UniformAgreement over {'members': 3, 'views': 1, 'messages': 4}",
                "Integrity over {'members': 3, 'views': 1, 'messages': 12}",
                "Fifo over {'members': 3, 'views': 1, 'messages': 12}",
                "InView over {'members': 3, 'views': 1, 'messages': 12}",
                "VirtualSynchrony over {'members': 3, 'views': 1, 'messages': 4}",
                "sequencer.GapFree over {'members': 3, 'views': 1, 'messages': 12}",
                "sequencer.Fresh over {'members': 0, 'views': 0, 'messages': 0}",
            ),
        ),
        "when a ring broke a promise": Shown(
            _ring_traces,
            (
                "FenceUnique, at its witness's time: True",
                "sim-1: violated, holds",
                "Again: again",
            ),
        ),
        "the worst verdict over all runs": Shown(
            _worst,
            (
                "('holds', {'runs': 1, 'judged': {'members': 1}})",
                "('holds', {'runs': 1})",
                "None",
            ),
        ),
    },
    "field.tally": {
        "what is told of a run": Shown(
            _explained,
            (
                "/r1.b.0.jsonl line 6: not JSON: JSON is malformed: invalid character (byte 4)",
                "lost 5",
                "none",
            ),
        ),
    },
    "field.stack.given": {
        "a state that was made of another one": Shown(
            _given, ("q [('a', 2)]", "r [('a', 2), ('b', 7)]")
        ),
    },
    "field.stack.checks": {
        "what has to hold": Shown(
            _owed,
            (
                "GapFree, Validity",
                "Fifo, GapFree, Validity, SameCut",
                "Trace, TotalOrder, Agreement, VirtualSynchrony, Integrity, Fifo, InView, "
                "GapFree, Validity, Logs, Unordered",
                "GapFree, Validity",
                "Trace, TotalOrder, Agreement, VirtualSynchrony, Integrity, Fifo, InView, "
                "GapFree, Validity, Logs, Unordered, UniformTotalOrder, UniformAgreement",
            ),
        ),
        "what a state explains": Shown(_jumps, ("True", "False", "False", "False", "False")),
        "members that end alike": Shown(
            _verdicts(_logs_only),
            (
                "GapFree: holds",
                "Validity: holds",
                "SameCut: holds",
            ),
        ),
        "a member that ends alone": Shown(
            _verdicts(_one_survivor),
            (
                "GapFree: holds",
                "Validity: holds",
            ),
        ),
        "what a member has in the state that it took": Shown(
            _verdicts(_logs_only, _state_of_b),
            ("GapFree: holds", "Validity: holds", "SameCut: holds"),
        ),
        "what a member delivers behind the state that it took": Shown(
            _verdicts(_logs_only, _most_in_a_state),
            ("GapFree: holds", "Validity: holds", "SameCut: holds"),
        ),
        "the log of a member that crashed is cut": Shown(
            _verdicts(_one_crashed, _nonsense_of_c),
            (
                "GapFree: holds",
                "Validity: holds",
                "SameCut: holds",
            ),
        ),
        "several runs of the stack": Shown(
            _clusters,
            (
                "Trace: violated, holds; runs 3; violated 1",
                "Agreement: inconclusive, holds; runs 2; inconclusive 1",
                "UniformAgreement: not promised, not promised; seen_kept 1; seen_violated "
                "2; seeds_violated [2, 3]; witness in r2",
            ),
        ),
    },
    "field.ring.checks": {
        "several runs of a ring": Shown(
            _rings(False),
            (
                "r1: inconclusive, holds; Again: run 1",
                "r2: violated, holds; Again: run 2",
                "r3: violated, holds; Again: run 3",
                "r4: violated, holds; Again: run 4",
                "Trace: holds, holds; runs 4",
                "FenceUnique: inconclusive, holds; runs 2; inconclusive 1",
                "OneLock: violated, holds; runs 3; violated 2; first_run 2; soonest 1.0; "
                "median 2.0; witness in r2",
                "NoHoles: inconclusive, holds; runs 1; inconclusive 1",
                "Fifo: violated, holds; runs 1; violated 1; first_run 4; witness in r4",
            ),
        ),
        "several runs of a ring as written": Shown(
            _rings(True),
            (
                "r1: holds, holds; holes none",
                "r2: violated, violated; holes OneLock",
                "r3: violated, violated; holes OneLock",
                "r4: violated, violated; holes Fifo",
                "Trace: holds, holds; runs 4",
                "FenceUnique: holds, holds; runs 2; inconclusive 1",
                "OneLock: violated, violated; runs 3; violated 2; first_run 2; soonest "
                "1.0; median 2.0; witness in r2",
                "NoHoles: not judged, not judged; runs 1; inconclusive 1",
                "Fifo: violated, violated; runs 1; violated 1; first_run 4; witness in r4",
                "the protocol as written: violated, violated; runs 4; holes OneLock, Fifo; "
                "broken_runs 3",
            ),
        ),
    },
    "field.ring.fence": {
        "a log of writes": Shown(
            _kept_log,
            (
                "a.0 (1, 'a', 0, 2, 0) True",
                "a.0 (1, 'a', 0, 1, 0) False",
            ),
        ),
        "a connection that is closed before it was opened": Shown(_closed, ()),
    },
}
