"""The summary of verdicts: the worst one counts, findings in words, runs counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.judged import RunVerdict

_SHOWN = 3  # findings in a detail
_ORDER = (HOLDS, INCONCLUSIVE, VIOLATED)


class Counting(Protocol):
    """An object that counts its actions, by name."""

    @property
    def counters(self) -> Mapping[str, int]:
        """Return the counts."""


def add(verdicts: dict[str, str], name: str, verdict: str) -> None:
    """Add a verdict; the worst one counts."""
    before = verdicts.get(name, HOLDS)
    verdicts[name] = max(before, verdict, key=_ORDER.index)


def counted(runs: Iterable[Mapping[str, str]], name: str) -> dict[str, int]:
    """Return how often that property got each verdict."""
    counts: dict[str, int] = {}
    for verdicts in runs:
        if name in verdicts:
            counts[verdicts[name]] = counts.get(verdicts[name], 0) + 1
    return counts


def summed(runs: Iterable[Mapping[str, str]], name: str) -> tuple[str, dict[str, object]] | None:
    """Return the worst verdict on that property and how many runs had which, None if none."""
    counts = counted(runs, name)
    if not counts:
        return None
    figures: dict[str, object] = {"runs": sum(counts.values())}
    figures |= {word: count for word, count in counts.items() if word != HOLDS}
    return max(counts, key=_ORDER.index), figures


def judged_sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of members, views and messages over which a property was judged."""
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def explained(verdict: RunVerdict) -> list[str]:
    """Return the first findings of a run's traces, in words."""
    found = [
        f"{f.verdict}: {f.reason} ({f.node}.{f.incarnation}, event {f.index} {f.action})"
        + "".join(f"\n  false: {c.text} {c.values}" for c in f.conjuncts)
        + "".join(f"\n  {d.name}: {d.recorded}, not {d.expected}" for d in f.differences)
        for f in verdict.findings[:_SHOWN]
    ]
    found += [f"{p.path} line {p.line}: {p.reason}" for p in verdict.problems[:_SHOWN]]
    more = len(verdict.findings) + len(verdict.problems) - len(found)
    return [*found, f"and {more} more: raincheck conform"] if more > 0 else found


def damaged(lives: Iterable[Counting]) -> str:
    """Return how many datagrams were damaged, as far as members lived to report it."""
    totals: dict[str, int] = {}
    for member in lives:
        for name, count in member.counters.items():
            if name.startswith("transport.fault_"):
                kind = name.removeprefix("transport.fault_")
                totals[kind] = totals.get(kind, 0) + count
    return ", ".join(f"{kind} {count}" for kind, count in sorted(totals.items())) or "none"
