"""The faults of a run of a real cluster, planned from a seed.

The law of this file: a plan depends on the seed and the settings alone. It names targets by role
("coordinator", "member"), because the member in that role is known only when the fault is due.
"""

from dataclasses import dataclass, replace
from random import Random

from raincheck.conformance.errors import UsageError

CHANGES = ("requester", "participant", "joiner")
"""The victims of a kill during a view change that the harness provokes: the leader (which requests
its flush), another participant, or the joiner.
"""
PROCESS = ("crash", "pause", "leave", "join", *CHANGES)
"""Faults of processes, caused by the harness."""
LINK = ("loss", "delay", "duplicate", "reorder")
"""Faults of datagrams inside each member (`impl/transport/faulty.py`)."""
KINDS = (*PROCESS, *LINK)

COORDINATOR = "coordinator"
MEMBER = "member"
SUSPICION = 0.95
"""Seconds of silence after which a view change without the silent member can begin."""
LONG_PAUSE = 2.5
"""Seconds beyond any patience: the group suspects the member, and goes on without it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One act of the harness on a process."""

    kind: str
    at: float
    """When it is due: the part of the load that is over, from 0 to 1."""
    target: str = MEMBER
    """The target: the coordinator, or another member."""
    seconds: float = 0.0
    """How long a pause lasts; how long after its crash or leave a process starts again."""
    back: bool = True
    """Whether the process comes back, in a new incarnation."""
    settle: bool = True
    """Whether the group is left in peace until it has recovered."""
    provoke: str = ""
    """The begin of the view change in which a process is killed: "join" or "crash"."""
    after: float = 0.0
    """Seconds from there to the kill."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All faults of one run."""

    faults: tuple[Fault, ...]
    damage: dict[str, float]
    """The shares of datagrams that are lost, duplicated, and so on."""


def parse_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds in `crash,loss,...`; "none" and "" are no faults, "all" is every kind."""
    return kinds_of(text, KINDS)


def kinds_of(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return a list of kinds, in the order of the known ones."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == ["all"]:
        return known
    if words == ["none"]:
        return ()
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UsageError(
            f"--faults does not know {unknown[0]}: choose from {', '.join(known)}, all, none."
        )
    return tuple(kind for kind in known if kind in words)


def make_plan(kinds: tuple[str, ...], seed: int) -> Plan:
    """Draw a plan: two crashes, the coordinator's first; one or two of each other kind."""
    draw = Random(f"plan {seed}")
    drawn: list[Fault] = []
    if "crash" in kinds:
        drawn += [_crash(draw, COORDINATOR), _crash(draw, draw.choice((COORDINATOR, MEMBER)))]
    if "pause" in kinds:
        target = draw.choice((COORDINATOR, MEMBER))
        drawn.append(Fault("pause", 0, target, round(draw.uniform(0.05, 0.4), 3)))
        if draw.random() < 0.5:
            drawn.append(Fault("pause", 0, draw.choice((COORDINATOR, MEMBER)), LONG_PAUSE))
    if "leave" in kinds:
        target = draw.choice((COORDINATOR, MEMBER))
        back, settle = draw.random() < 0.7, draw.random() < 0.6
        drawn.append(Fault("leave", 0, target, round(draw.uniform(0, 0.5), 3), back, settle))
    if "join" in kinds:
        drawn.append(Fault("join", 0, settle=draw.random() < 0.6))
    drawn += [_change(draw, kind) for kind in CHANGES if kind in kinds]
    draw.shuffle(drawn)
    faults = tuple(
        replace(f, at=round((place + draw.uniform(0.2, 0.8)) / (len(drawn) + 1), 3))
        for place, f in enumerate(drawn)
    )
    damage = {
        "loss": draw.choice((0.01, 0.05, 0.2)),
        "delay": draw.choice((0.05, 0.3)),
        "duplicate": draw.choice((0.02, 0.2)),
        "reorder": draw.choice((0.05, 0.3)),
    }
    return Plan(faults, {kind: share for kind, share in damage.items() if kind in kinds})


def _crash(draw: Random, target: str) -> Fault:
    return Fault(
        "crash", 0, target, round(draw.choice((0.0, draw.uniform(0, 0.3), 1.5)), 3),
        settle=draw.random() < 0.6,
    )  # fmt: skip


def _change(draw: Random, kind: str) -> Fault:
    """Draw a kill during a view change, at any moment from its beginning to its end."""
    back = round(draw.choice((0.0, draw.uniform(0, 0.3), 1.5)), 3)
    settle = draw.random() < 0.6
    if kind == "joiner":
        return Fault(kind, 0, seconds=back, settle=settle, after=round(draw.uniform(0.1, 0.5), 3))
    provoke = draw.choice(("join", "crash"))
    # A joiner has to start up; a crash has to be noticed.
    earliest, latest = (0.15, 0.5) if provoke == "join" else (SUSPICION, SUSPICION + 0.3)
    after = round(draw.uniform(earliest, latest), 4)
    return Fault(kind, 0, seconds=back, settle=settle, provoke=provoke, after=after)
