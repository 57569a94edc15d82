"""What goes wrong in a run of a token ring, planned from a seed.

Law of this file: a plan depends on the seed and the settings alone. Whom a fault meets is known
only when it is due, so it names a role: the holder of the token, or any member.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from raincheck.conformance.field.stack.faults import LINK, kinds_of

PROCESS = (
    "holder",
    "crash",
    "pause",
    "partition",
    "restart",
    "forget",
    "joinstorm",
    "leave",
)
"""Done to processes by the harness; a partition is done to all of them."""
KINDS = (*PROCESS, *LINK)

HOLDER = "holder"
MEMBER = "member"
KEPT, LOST, NEVER = "kept", "lost", "never"
"""How a process comes back: with its state, without, or not at all."""
MOMENTS = ("holding", "locked", "passing", "passed")
"""When the token's holder is met: as it takes the token, within the lock, when it has passed the
token on but the message has not left, and when it has."""
MOST = 4
"""So many faults in a run, so that it is over soon; over many runs all kinds have their turn."""
STORM = 3
"""So many members at most join at once."""


@dataclass(frozen=True, slots=True)
class RingFault:
    """One thing that the harness does."""

    kind: str
    at: float
    """When: which part of the time is over, from 0 to 1."""
    target: str = MEMBER
    moment: str = ""
    """Of a holder: at which of `MOMENTS`."""
    seconds: float = 0.0
    """How long a pause or a partition is; how long after its end a process starts again."""
    back: str = NEVER
    settle: bool = False
    """Whether the ring is left in peace until it has got over it."""
    count: int = 1
    """How many join."""

    @property
    def words(self) -> str:
        """What a dry run says of it."""
        whom = {"partition": "the ring", "joinstorm": f"{self.count} new members"}
        moment = f" {self.moment}" if self.moment else ""
        who = whom.get(self.kind, f"the token's holder{moment}" if self.moment else "a member")
        back = f", {'back with its state' if self.back == KEPT else 'back without its state'}"
        long = f" for {self.seconds:g} s" if self.kind in ("pause", "partition") else ""
        return f"{self.kind}: {who}{long}{back if self.back != NEVER else ''}"


@dataclass(frozen=True, slots=True)
class RingPlan:
    """All that goes wrong in one run."""

    faults: tuple[RingFault, ...]
    damage: dict[str, float]
    """The shares of datagrams that are lost, duplicated, ..."""


def parse_ring_kinds(text: str) -> tuple[str, ...]:
    """Read `holder,loss,...`; "none" and "" are no faults, "all" is every kind."""
    return kinds_of(text, KINDS)


def make_ring_plan(kinds: tuple[str, ...], seed: int, hungry: float) -> RingPlan:
    """Draw a plan; pauses and partitions last longer than the hungry timeout, or nearly so."""
    draw = Random(f"ring {seed}")
    chosen = [kind for kind in PROCESS if kind in kinds]
    draw.shuffle(chosen)
    # With few kinds each comes twice; with many some of them.
    wanted = (chosen * 2)[: max(2, min(MOST, len(chosen)))] if chosen else []
    drawn = [_fault(draw, kind, hungry) for kind in wanted]
    faults = tuple(
        replace(each, at=round((place + draw.uniform(0.2, 0.8)) / (len(drawn) + 1), 3))
        for place, each in enumerate(drawn)
    )
    shares = {
        "loss": draw.choice((0.01, 0.05, 0.15)),
        "delay": draw.choice((0.05, 0.3)),
        "duplicate": draw.choice((0.05, 0.3)),
        "reorder": draw.choice((0.05, 0.3)),
    }
    return RingPlan(faults, {kind: share for kind, share in shares.items() if kind in kinds})


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
    return RingFault(kind, 0, seconds=soon, back=KEPT if kind == "restart" else LOST, settle=settle)
