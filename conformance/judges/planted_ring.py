"""Faults planted for the rules of `trace/ring`: views, witnesses and promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.following.files import check_file
from raincheck.conformance.trace.ring.generator import RecordedRing
from raincheck.conformance.trace.ring.promises import ring_promises
from raincheck.conformance.trace.ring.seen import RingSeen

from . import ring_faults as faults
from .planting import Complaints, Plant, Planted
from .ring_faults import path_of
from .ring_run import RUN, Fault, broken, good, sentence, traces, unkept

_HISTORY: Final = "the view that b has is not in the others' histories either"
_NUMBERS: Final = "numbers are not in order either"


def _plant(words: str, member: str, fault: Fault, **more: Any) -> Plant:
    """Plant a fault in the records of one member that breaks a promise."""

    def bad(folder: Path) -> Complaints:
        traces(folder, member, fault)
        return broken(folder)

    return Plant(good=good, bad=bad, words=words, **more)


def _unread(folder: Path) -> Complaints:
    traces(folder, "b.0", faults.reserves_too_much)
    return unkept(folder)


def _one_message(folder: Path) -> Complaints:
    """There is one multicast, so none that another could have overtaken."""
    ring = RecordedRing(folder, RUN)
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    ring.multicast("a", [b"one"])
    ring.run(0.5)
    ring.close()
    return unkept(folder)


def _in_circles(folder: Path) -> Complaints:
    """Two members are recorded as having heard of each other before either."""
    traces(folder)
    seen: dict[tuple[str, int], RingSeen] = {}
    for member in ("a.0", "b.0", "c.0", "c.1", "d.0"):
        checked = check_file(path_of(folder, member), lambda _: None)
        assert checked is not None
        report, _ = checked
        assert report.seen is not None
        seen[member[0], int(member[2])] = report.seen
    a, b = ("a", 0), ("b", 0)
    circle = HappensBefore({(a, 1): [(b, 1)], (b, 1): [(a, 1)]})
    found = ring_promises(seen, circle, [("c", 0)], complete=True)
    return [sentence(each) for each in found if each.verdict != HOLDS]


PLANTED: Final[dict[str, Planted]] = {
    "trace.ring.views": {
        "consistent_history: yield Witness(later(one.at, other.at), facts)": _plant(
            "ConsistentHistory: violated: {'index': 1, 'members': [['c', 0], ['b', 0]]",
            "b.0",
            faults.other_view,
            then="NoHoles: violated",
            why=_HISTORY,
        ),
        "held_by_all: yield Witness(commit.at, facts)": _plant(
            "HeldByAll: violated: {'index': 4", "d.0", faults.never_eats
        ),
        "_hole: yield Witness(later(changes[-1].at, commit.at), facts)": _plant(
            "NoHoles: violated: {'index': 3", "a.0", faults.has_a_hole
        ),
        "_lacking: yield Witness(agreed.at if agreed is not None else None, facts)": _plant(
            "NoHoles: violated: {'index': 7", "d.0", faults.loses_the_last
        ),
    },
    "trace.ring.witnesses": {
        "fence_unique: yield Witness(later(at, each.at), facts)": _plant(
            "FenceUnique: violated: {'fence': [0, '', 0, 10]", "b.0", faults.other_number
        ),
        "one_lock: yield _two_locks(one, two)": _plant(
            "OneLock: violated: {'fences': [[0, '', 0, 14], [0, '', 0, 15]]",
            "b.0",
            faults.lets_go_late,
        ),
        "one_lock: yield _two_locks(*sorted((other, dead), key=lambda each: each[1].first))": (
            _plant("OneLock: violated: {'fences'", "b.0", faults.dies_with_the_lock)
        ),
        "seven_states: yield Witness(state.at, facts)": _plant(
            "SevenStates: violated: {'members': [['b', 0]]", "b.0", faults.agrees_while_it_starves
        ),
        "agreed_order: yield Witness(later(theirs[two].at, mine[one].at), facts)": _plant(
            "AgreedOrder: violated: {'members': [['b', 0], ['a', 0]]",
            "b.0",
            faults.delivers_backwards,
        ),
        "integrity: yield Witness(each.at, facts | {'twice': True})": _plant(
            "Integrity: violated: {'members': [['b', 0]], 'messages': [['c', 0, 1]], 'twice'",
            "b.0",
            faults.delivers_again,
            then="Fifo: violated",
            why=_NUMBERS,
        ),
        "integrity: yield Witness(each.at, facts | {wrong: True})": _plant(
            "'before_it_was_sent': True", "a.0", faults.delivers_too_soon
        ),
        "_unsent: return 'never_sent' if run.whole else None": _plant(
            "'never_sent': True",
            "b.0",
            faults.delivers_nothing_real,
            breaks=IndexError,
            why="what was never sent was sent at no event",
        ),
        "_unsent: return 'before_it_was_sent' if run.ordered and (not sent) else None": _plant(
            "'before_it_was_sent': True", "a.0", faults.delivers_too_soon
        ),
        "fifo: yield Witness(each.at, {'members': [list(who)], 'messages': pair})": _plant(
            "Fifo: violated: {'members': [['a', 0]]",
            "a.0",
            faults.reverses_one_sender,
            then="AgreedOrder: violated",
            why="the others delivered the two as they were sent",
        ),
    },
    "trace.ring.promises": {
        "_judged: return Promise(name, VIOLATED, witness.facts | at, judged=asked)": _plant(
            "FenceUnique: violated", "b.0", faults.other_number
        ),
        "_judged: return Promise(name, INCONCLUSIVE, reason=reason, judged=asked)": Plant(
            good=good,
            bad=_unread,
            words="Fifo: inconclusive: not every record was checked",
            then="TypeOK: inconclusive: not every record was checked",
            why="the invariants are judged over the same records",
        ),
        "_undecided: return judge.nothing": Plant(
            good=good,
            bad=_one_message,
            words="Fifo: inconclusive: nobody delivered two messages of one sender",
        ),
        "_undecided: not every record was checked": Plant(
            good=good,
            bad=_unread,
            words="Fifo: inconclusive: not every record was checked",
            then="TypeOK: inconclusive: not every record was checked",
            why="the invariants are judged over the same records",
        ),
        "_undecided: no order of the events is possible": Plant(
            good=good,
            bad=_in_circles,
            words="OneLock: inconclusive: no order of the events is possible",
        ),
    },
}
