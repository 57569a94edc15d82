"""Assertions over a protocol's record and over traces; a failure prints all that was found."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from raincheck.conformance.bindings.binding import MakeCore, binding_of
from raincheck.conformance.cases.tables import load_cases, select
from raincheck.conformance.errors import UsageError
from raincheck.conformance.field.tally import explained
from raincheck.conformance.replay.replay import PART_STEPS, replay
from raincheck.conformance.replay.replayable import Replayable
from raincheck.conformance.trace.run import check_paths


def replayable(protocol: str, cases: Iterable[str] = ()) -> Replayable:
    """Return the named cases of a protocol, else its quick ones, for replay and lockstep."""
    chosen = select(load_cases(), names=cases, modelled=True)
    return Replayable(binding_of(protocol), [c for c in chosen if c.protocol == protocol])


def assert_replays(
    protocol: str, *, cases: Iterable[str] = (), make: MakeCore | None = None
) -> None:
    """Replay every edge of the model's graphs on the real cores, which must do as the model does.

    The graphs are those of the named cases, else of all quick cases that cores can be made for.
    Raises UsageError if there is none, AssertionError with the shortest known path to a difference.
    """
    replayed = 0
    for prepared in replayable(protocol, cases).prepared():
        done = replay(
            prepared,
            make=make,
            probes=prepared.probes(),
            most_steps=None if prepared.complete else PART_STEPS,
        )
        assert done.mismatch is None, done.mismatch.text()
        assert done.missing == [] or not prepared.complete, "\n".join(done.missing)
        replayed += done.covered
    if not replayed:
        raise UsageError(f"{protocol} has no case whose graph could be replayed.")


def assert_conforms(*traces: str | PathLike[str]) -> None:
    """Check traces, files or folders of them, as `raincheck conform` does.

    A violation fails, and so does a trace that could not be judged: one cut short, or with a record
    that cannot be read. Raises UsageError if there is no trace, AssertionError with the findings.
    """
    verdicts = check_paths(map(Path, traces))
    if not any(verdict.files for verdict in verdicts):
        raise UsageError(f"There is no trace in {', '.join(map(str, traces))}.")
    wrong = [
        f"{verdict.run}, {verdict.protocol}: {verdict.verdict}\n" + "\n".join(explained(verdict))
        for verdict in verdicts
        if verdict.verdict != "holds"
    ]
    assert not wrong, "\n".join(wrong)
