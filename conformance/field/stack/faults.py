"""The faults of a run of a stack's group, planned from a seed."""

from dataclasses import dataclass
from random import Random

from raincheck.conformance.field.faults import LINK, MEMBER, Plan, PlannedFault, plan_of

CHANGES = ("requester", "participant", "joiner")
"""The victims of a kill during a view change that the harness provokes: the leader (which requests
its flush), another participant, or the joiner.
"""
PROCESS = ("crash", "pause", "leave", "join", *CHANGES, "state")
"""Faults of processes, caused by the harness."""
KINDS = (*PROCESS, *LINK)

COORDINATOR = "coordinator"
SUSPICION = 0.95
"""Seconds of silence after which a view change without the silent member can begin."""
LONG_PAUSE = 2.5
"""Seconds beyond any patience: the group suspects the member, and goes on without it."""
_SHARES = {
    "loss": (0.01, 0.05, 0.2),
    "delay": (0.05, 0.3),
    "duplicate": (0.02, 0.2),
    "reorder": (0.05, 0.3),
}


@dataclass(frozen=True, slots=True)
class Fault(PlannedFault):
    """One act of the harness on the coordinator, or on another member."""

    seconds: float = 0.0
    """The length of a pause, or the time after its crash or leave at which a process restarts."""
    back: bool = True
    """Whether the process comes back, in a new incarnation."""
    settle: bool = True
    """Whether the group is left in peace until it has recovered."""
    provoke: str = ""
    """The begin of the view change in which a process is killed: "join" or "crash"."""
    after: float = 0.0
    """Seconds from there to the kill."""

    @property
    def words(self) -> str:
        """Return the line of a dry run about it."""
        return self.kind if self.kind == "join" else f"{self.kind} of the {self.target}"


def make_plan(kinds: tuple[str, ...], seed: int) -> Plan[Fault]:
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
    if "state" in kinds:
        drawn += [Fault("state", 0, draw.choice((COORDINATOR, MEMBER))) for _ in range(2)]
    draw.shuffle(drawn)
    return plan_of(draw, drawn, kinds, _SHARES)


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
