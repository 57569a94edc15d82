"""Which of the recorded runs is shown."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.located import located
from raincheck.conformance.trace.run import Processes, check_run, sorted_out
from raincheck.conformance.trace.tracefile import trace_files


class Chosen(NamedTuple):
    """One protocol of one run."""

    run: str
    protocol: str
    verdict: RunVerdict
    binding: Binding
    processes: Processes
    others: tuple[str, ...]


def chosen_of(paths: Iterable[Path], only: str) -> Chosen:
    """Return the first that `only` matches and that does not conform, or else the first.

    Raise UsageError if there is none.
    """
    found = sorted_out(trace_files(paths))
    names = {f"{run}: {protocol}": (run, protocol) for run, protocol in sorted(found.runs)}
    wanted = {
        name: of
        for name, of in names.items()
        if not only or any(fnmatch.fnmatchcase(word, only) for word in (name, *of))
    }
    if not wanted:
        have = f"there is {', '.join(names)}" if names else "no file begins with a header"
        raise UsageError(f"No run is {only or 'there'}: {have}.")
    first: Chosen | None = None
    for name, (run, protocol) in wanted.items():
        processes = found.runs[run, protocol]
        verdict = located(check_run(run, protocol, processes, found.crashed.get(run, set())))
        others = tuple(other for other in names if other != name)
        here = Chosen(run, protocol, verdict, binding_of(protocol), processes, others)
        if verdict.findings:
            return here
        first = first or here
    assert first is not None
    return first
