"""Whole runs, of which both engines say what is in their files: how many events, and which."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.field.stack.layer_traces import SEQUENCER
from raincheck.conformance.spark import pipeline
from raincheck.conformance.trace.findings import HOLDS, VIOLATED, Promise
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.layers.judged import LAYERS
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.broken import BROKEN
from raincheck.conformance.trace.sequencer.tracegen import write_trace

from . import pingpong_talk, ring_run
from .plan import plan
from .planting import Ask, Complaints, Shown, sentences
from .sequencer_story import trace_of

_LAYERS: Final = (SEQUENCER, "unicast", "nakack", "stable", "gms", "flush", "state_transfer")
Engine: TypeAlias = Callable[[Iterable[Path]], list[RunVerdict]]


def on_plan(paths: Iterable[Path]) -> list[RunVerdict]:
    """Check with the functions that Spark's workers run."""
    return pipeline.check_paths(plan(), paths)


ENGINES: Final[dict[str, Engine]] = {"local": check_paths, "Spark's functions": on_plan}


@cache
def _group() -> dict[str, bytes]:
    """Return the files of a group of all layers with a joiner, a crash and a leaver."""
    with TemporaryDirectory() as name:
        group = TracedGroup(Path(name), _LAYERS, seed=1, with_state=True)
        group.start("a", "b", "c")
        group.run_until(lambda: group.in_one_view("a", "b", "c"))
        for who in "abc":
            group.send(who, [bytes(700)] * 4)
        group.at(0.3, lambda: group.start("d"))
        group.at(1.0, lambda: group.crash("b"))
        group.at(3.0, lambda: group.send("d", [bytes(700)] * 4))
        group.at(3.5, lambda: group.want_state("d"))
        group.at(4.0, lambda: group.leave("c"))
        group.run(6.0)
        group.end()
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def write_group(folder: Path) -> None:
    """Write the files of the group."""
    for name, content in _group().items():
        (folder / name).write_bytes(content)


def miscounted(verdicts: Iterable[RunVerdict], folder: Path) -> Complaints:
    """Return in what the verdicts differ from the records in the folder's files."""
    files: Counter[str] = Counter()
    actions: dict[str, Counter[str]] = {}
    events: dict[str, dict[str, int]] = {}
    for path in sorted(folder.iterdir()):
        head, *records = map(json.loads, path.read_text().splitlines())
        if head["kind"] != "header":
            continue
        protocol, who = head["protocol"], f"{head['node']}.{head['incarnation']}"
        taken = [each["action"] for each in records if each["kind"] == "event"]
        files[protocol] += 1
        actions.setdefault(protocol, Counter()).update(taken)
        events.setdefault(protocol, {})[who] = len(taken)
    told = []
    for verdict in verdicts:
        of = verdict.protocol
        if not of:  # it is about the folder
            continue
        if of == LAYERS:
            pairs: list[tuple[str, Any, Any]] = [("files", verdict.files, files.total())]
        else:
            pairs = [
                ("files", verdict.files, files[of]),
                ("events", verdict.events, sum(events[of].values())),
                ("conforming", verdict.conforming, events[of]),
                ("actions", verdict.actions, dict(actions[of])),
            ]
        told += [f"{of}: {name}: {got}, not {want}" for name, got, want in pairs if got != want]
    return told


def _run(write: Callable[[Path], None], engine: Engine, over: bool) -> Ask:
    """Ask for what does not hold of a run, and over whom each promise was judged."""

    def ask(folder: Path) -> Complaints:
        write(folder)
        with pingpong_talk.known():
            verdicts = engine(sorted(folder.iterdir()))
        promises = [promise for each in verdicts for promise in each.promises]
        return [
            *sentences(verdicts),
            *miscounted(verdicts, folder),
            *(f"{each.name}: {each.verdict}" for each in promises if each.verdict != HOLDS),
            *(f"not compared: {each}" for verdict in verdicts for each in verdict.not_compared),
            *(f"{each.name} over {_numbers(each)}" for each in promises if over),
        ]

    return ask


def _numbers(promise: Promise) -> str:
    return ", ".join(f"{count} {what}" for what, count in promise.judged.items())


def _in_each_way(
    what: str, write: Callable[[Path], None], *said: str, over: bool = False
) -> Iterator[tuple[str, Shown]]:
    for name, engine in ENGINES.items():
        yield f"{what}, by {name}", Shown(_run(write, engine, over), said)


def _broken(folder: Path) -> Complaints:
    """Return which promises are broken in runs that break some, by both evaluations."""
    for name, make in BROKEN.items():
        made = make(name)
        write_trace(folder / name, made.trace, made.killed)
    verdicts = {verdict.run: verdict for verdict in on_plan([folder])}
    told = []
    for name, make in BROKEN.items():
        wrong = {each.name: each.verdict for each in verdicts[name].promises}
        found = {each for each, verdict in wrong.items() if verdict == VIOLATED}
        if found != set(make(name).promises):
            told.append(f"{name}: {sorted(found)}")
        told += [f.reason for f in verdicts[name].findings if "two evaluations" in f.reason]
    return told


def _story(folder: Path) -> None:
    write_trace(folder, trace_of(4))


def _talk(folder: Path) -> None:
    pingpong_talk.write(folder, pingpong_talk.talk())


def _real_talk(folder: Path) -> None:
    pingpong_talk.write(folder, pingpong_talk.talk(real=True))


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "trace.run": dict(
        (
            *_in_each_way(
                "a run of SEQUENCER",
                _story,
                "Agreement: violated",
                "UniformAgreement: violated",
                "VirtualSynchrony: violated",
                "TotalOrder over 4 members, 4 views, 9 messages",
                "UniformTotalOrder over 4 members, 4 views, 9 messages",
                "Agreement over 3 members, 1 views, 5 messages",
                "UniformAgreement over 3 members, 1 views, 5 messages",
                "Integrity over 5 members, 4 views, 29 messages",
                "Fifo over 4 members, 4 views, 25 messages",
                "InView over 5 members, 4 views, 29 messages",
                "VirtualSynchrony over 2 members, 2 views, 7 messages",
                "sequencer.GapFree over 4 members, 4 views, 25 messages",
                "sequencer.Fresh over 5 members, 2 views, 25 messages",
                over=True,
            ),
            *_in_each_way("a protocol of a stranger", _talk),
            *_in_each_way("its real nodes", _real_talk),
            *_in_each_way("a ring", ring_run.traces),
            *_in_each_way(
                "all layers of a group",
                write_group,
                "HeardOfIsHeard: inconclusive",
                "FetchedIsReconciled: inconclusive",
            ),
        )
    ),
    "spark.recount": {
        "runs that break promises": Shown(_broken, ()),
    },
}
