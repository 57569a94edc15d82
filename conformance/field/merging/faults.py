"""The faults of a run of a group that merges, planned from a seed."""

from random import Random

from raincheck.conformance.field.faults import LINK, MEMBER, Plan, plan_of
from raincheck.conformance.field.stack.faults import COORDINATOR, LONG_PAUSE, Fault

CUTS = ("halves", "thirds", "oneway", "flap", "leader", "visitor")
"""Partitions: in two, in three, in one direction, again and again; one after which the merge's
leader is killed; one during which a process joins."""
PROCESS = (*CUTS, "crash", "pause", "leave")
KINDS = (*PROCESS, *LINK)
MOST = 3
"""The most faults in a run, so that it is over soon; over many runs all kinds have their turn."""
_SHARES = {
    "loss": (0.01, 0.05),
    "delay": (0.05, 0.2),
    "duplicate": (0.02, 0.2),
    "reorder": (0.05, 0.2),
}


def make_plan(kinds: tuple[str, ...], seed: int) -> Plan[Fault]:
    """Draw a plan: one or two partitions, and something else."""
    draw = Random(f"merging {seed}")
    cuts = [kind for kind in CUTS if kind in kinds]
    others = [kind for kind in PROCESS if kind in kinds and kind not in CUTS]
    draw.shuffle(cuts)
    chosen = cuts[:2] if cuts else []
    chosen += draw.sample(others, min(len(others), MOST - len(chosen)))
    draw.shuffle(chosen)
    return plan_of(draw, [_fault(draw, kind) for kind in chosen], kinds, _SHARES)


def _fault(draw: Random, kind: str) -> Fault:
    """Draw one; a partition lasts until both sides have gone on, or is over before that."""
    long = round(draw.choice((0.8, draw.uniform(2.0, 5.0), 4.0)), 3)
    if kind in CUTS:
        return Fault(kind, 0, seconds=long, after=round(draw.uniform(0.0, 2.5), 3))
    target = draw.choice((COORDINATOR, MEMBER))
    if kind == "pause":
        return Fault(kind, 0, target, LONG_PAUSE)
    return Fault(kind, 0, target, round(draw.uniform(0, 0.5), 3))
