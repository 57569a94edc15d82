"""Files of UNICAST whose steps are settled together, around the rules of its invariants.

How often each part was evaluated is asked as well: the ends that several steps have changed are
gathered, and what is lost on the way breaks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.trace.invariants.watch import Watch, plan_of
from raincheck.model.machine.runs import Address
from raincheck.model.unicast import events
from raincheck.model.unicast import local as unicast

from .around_invariants import asked
from .planted_invariants import B, Step
from .planting import Complaints, Shown

C: Final = Address("c", 0)


def _watched(*steps: Step) -> Callable[[Path], Complaints]:
    """Ask a file with these steps, settled together: how often each part was evaluated."""

    def ask(_: Path) -> Complaints:
        binding = binding_of("unicast")
        plan = plan_of(binding)
        assert plan is not None
        watch = Watch(plan, binding.rules(), hash)
        watch.take([step.at(index) for index, step in enumerate(steps, 1)])
        return [
            f"{name}: {tested.count}" + (f", broken at {tested.broken}" * (tested.broken >= 0))
            for name, tested in watch.tested.items()
            if tested.count
        ]

    return ask


def _receives(*buffers: int, connection: int = 1) -> list[unicast.Local]:
    """Return the states of a process whose receiver for b keeps so many messages, in turn."""
    return [
        unicast.Local(
            "a",
            receivers=(
                (
                    B,
                    unicast.Receiver(
                        connection=connection,
                        buffer=tuple((place, (0, 0, 1, 1)) for place in range(1, kept + 1)),
                    ),
                ),
            ),
        )
        for kept in buffers
    ]


def _through(states: Sequence[unicast.Local]) -> list[Step]:
    return [Step(before, after) for before, after in pairwise(states)]


_ALONE: Final = unicast.Local("a")


def _closed(connection: int) -> unicast.Local:
    return unicast.Local("a", closed=((B, connection),))


def _closed_receives(*connections: int) -> list[unicast.Local]:
    return [_receives(0, connection=each)[0]._replace(closed=((B, 3),)) for each in connections]


def _sends(count: int) -> unicast.Local:
    sender = unicast.Sender(1, count, 0, count, 0, ((0, 0, 1, 1),) * count)
    return unicast.Local("a", connections=1, senders=((B, sender),))


def _both_receive(*ends: tuple[Address, int]) -> unicast.Local:
    """Return a process with receivers of these connections."""
    return unicast.Local(
        "a", receivers=tuple((who, unicast.Receiver(connection=each)) for who, each in ends)
    )


def _noted(step: Step) -> Callable[[Path], Complaints]:
    """Ask what is noted of a step."""

    def ask(_: Path) -> Complaints:
        binding = binding_of("unicast")
        plan = plan_of(binding)
        assert plan is not None
        watch = Watch(plan, binding.rules(), hash)
        watch.take([step.at(1)])
        return [f"{said.topic}: {said.value}" for said in watch.noted]

    return ask


def _both_ends(acked: int, arrived: int) -> unicast.Local:
    """Return a process with both ends of a connection to b."""
    return unicast.Local(
        "a",
        connections=1,
        senders=((B, unicast.Sender(1, 2, acked, 2, 0, ((0, 0, 1, 1),) * (2 - acked))),),
        receivers=((B, unicast.Receiver(1, arrived)),),
    )


def _consumed(crashed: str) -> Callable[[Path], Complaints]:
    """Let b consume a message more than a's file has, of which one of them has crashed."""
    messages = {"a": {"sent b.0 0 1": [11]}, "b": {"consumed a.0 0 1": [11, 12]}}
    return asked("unicast", (), sequences=messages, crashed=crashed)


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "bindings.unicast.invariants": {
        "ends that change in place": Shown(
            _watched(*_through(_receives(0, 1, 2))),
            ("TypeOK 0: 2", "NothingStale 1: 2", "BoundedBuffers 0: 2"),
        ),
        "a buffer that overflows in place": Shown(
            _watched(*_through(_receives(0, 3, 2))),
            ("TypeOK 0: 2", "NothingStale 1: 2", "BoundedBuffers 0: 2, broken at 1"),
        ),
        "a receiver that is older than the one before": Shown(
            _watched(*_through([*_receives(0, connection=3), *_receives(0, connection=2)])),
            ("TypeOK 0: 1", "NothingStale 1: 1, broken at 1", "BoundedBuffers 0: 1"),
        ),
        "receivers that come, and one that is older than a closed one": Shown(
            _watched(
                *_through([_ALONE, *_receives(0, connection=3)]),
                *_through([_closed(3), *_closed_receives(3, 4)]),
            ),
            ("TypeOK 0: 3", "NothingStale 1: 3, broken at 2", "BoundedBuffers 0: 3"),
        ),
        "senders that come and send": Shown(
            _watched(*_through([_ALONE, *(_sends(count) for count in (0, 1, 2))])),
            ("TypeOK 0: 3", "WindowKept 0: 3"),
        ),
        "a sender with too much out": Shown(
            _watched(*_through([*(_sends(count) for count in (1, 4, 2))])),
            ("TypeOK 0: 2", "WindowKept 0: 2, broken at 1"),
        ),
        "what a killed sender's file lacks may have been consumed": Shown(
            _consumed("a"), ("ReliableFifoUnicast: 2", "NothingStale: 2")
        ),
        "what a killed receiver has consumed was sent": Shown(
            _consumed("b"),
            ("ReliableFifoUnicast: 0, 1 that it sent", "NothingStale: 0, 1 that it sent"),
        ),
        "what was given up, and how far it had come": Shown(
            _noted(
                Step(
                    _both_ends(2, 1), unicast.Local("a", connections=1), "Forget", events.Forget(B)
                )
            ),
            ("acked: ['b.0 0 1', 2, 0]", "arrived: ['b.0 0 1', 1, 0]"),
        ),
        "what is kept is not given up": Shown(
            _noted(Step(_both_ends(2, 1), _both_ends(2, 1), "Forget", events.Forget(B))), ()
        ),
        "a receiver that comes with too much": Shown(
            _watched(*_through([_ALONE, *_receives(3)])),
            ("TypeOK 0: 1", "NothingStale 1: 1", "BoundedBuffers 0: 1, broken at 1"),
        ),
        "receivers that change places, of which one is older then": Shown(
            _watched(Step(_both_receive((B, 3), (C, 5)), _both_receive((C, 4), (B, 6)))),
            ("TypeOK 0: 1", "NothingStale 1: 1, broken at 1", "BoundedBuffers 0: 1"),
        ),
    },
}
