"""The faults of a run of a token ring, planned from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from raincheck.conformance.field.faults import LINK, MEMBER, Plan, PlannedFault, plan_of

PROCESS = (
    "holder",
    "crash",
    "pause",
    "partition",
    "restart",
    "forget",
    "joinstorm",
    "leave",
    "close",
    "interrupt",
    "restartall",
)
"""Faults of processes, caused by the harness; a partition and `restartall` affect all of them."""
KINDS = (*PROCESS, *LINK)

HOLDER = "holder"
STOPS = ("crash", "close", "interrupt")
"""The ways in which a process of `restartall` stops: SIGKILL, `Ring.close`, Ctrl-C."""
KEPT, LOST, NEVER = "kept", "lost", "never"
"""How a process comes back: with its state, without, or not at all."""
MOMENTS = ("holding", "locked", "passing", "passed")
"""The moments at which the token's holder is hit: when it takes the token, within the lock, when it
has passed the token on but the message has not left, and when it has left.
"""
MOST = 4
"""The most faults in a run, so that it is over soon; over many runs all kinds have their turn."""
STORM = 3
"""The most members that join at once."""
_SHARES = {
    "loss": (0.01, 0.05, 0.15),
    "delay": (0.05, 0.3),
    "duplicate": (0.05, 0.3),
    "reorder": (0.05, 0.3),
}


@dataclass(frozen=True, slots=True)
class RingFault(PlannedFault):
    """One act of the harness on the token's holder, on any member, or on all of them."""

    moment: str = ""
    """For a holder: one of `MOMENTS`."""
    seconds: float = 0.0
    """The length of a pause or a partition, or the time until a process starts again."""
    back: str = NEVER
    settle: bool = False
    """Whether the ring is left in peace until it has recovered."""
    count: int = 1
    """The number of members that join."""

    @property
    def words(self) -> str:
        """Return the line of a dry run about it."""
        whom = {"joinstorm": f"{self.count} new members"}
        whom |= dict.fromkeys(("partition", "restartall"), "the ring")
        moment = f" {self.moment}" if self.moment else ""
        who = whom.get(self.kind, f"the token's holder{moment}" if self.moment else "a member")
        back = f", {'back with its state' if self.back == KEPT else 'back without its state'}"
        long = f" for {self.seconds:g} s" if self.kind in ("pause", "partition") else ""
        return f"{self.kind}: {who}{long}{back if self.back != NEVER else ''}"


def make_ring_plan(kinds: tuple[str, ...], seed: int, hungry: float) -> Plan[RingFault]:
    """Draw a plan; pauses and partitions last longer than the hungry timeout, or nearly so."""
    draw = Random(f"ring {seed}")
    chosen = [kind for kind in PROCESS if kind in kinds]
    draw.shuffle(chosen)
    # If there are few kinds each comes twice; if many, some of them.
    wanted = (chosen * 2)[: max(2, min(MOST, len(chosen)))] if chosen else []
    drawn = [_fault(draw, kind, hungry) for kind in wanted]
    return plan_of(draw, drawn, kinds, _SHARES)


def _fault(draw: Random, kind: str, hungry: float) -> RingFault:
    settle = draw.random() < 0.4
    soon = round(draw.choice((0.0, draw.uniform(0, hungry), 2 * hungry)), 3)
    long = round(hungry * draw.uniform(0.6, 3.0), 3)
    match kind:
        case "holder":
            back = draw.choice((KEPT, KEPT, LOST, NEVER))
            return RingFault(kind, 0, HOLDER, draw.choice(MOMENTS), soon, back, settle)
        case "pause":
            moment = draw.choice(("", "holding", "locked"))
            target = HOLDER if moment else MEMBER
            return RingFault(kind, 0, target, moment, long, settle=settle)
        case "partition":
            return RingFault(kind, 0, seconds=long, settle=settle)
        case "crash":
            return RingFault(kind, 0, seconds=soon, settle=settle)
        case "joinstorm":
            return RingFault(kind, 0, settle=settle, count=draw.randint(2, STORM))
        case "leave":
            back = draw.choice((LOST, NEVER))
            return RingFault(kind, 0, seconds=soon, back=back, settle=settle)
        case "close" | "interrupt":
            back = draw.choice((KEPT, KEPT, LOST))
            return RingFault(kind, 0, seconds=soon, back=back, settle=settle)
        case "restartall":
            return RingFault(kind, 0, seconds=soon, back=KEPT, settle=True)
    return RingFault(kind, 0, seconds=soon, back=KEPT if kind == "restart" else LOST, settle=settle)
