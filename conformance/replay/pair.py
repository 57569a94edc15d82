"""The model and the real cores side by side, moved together and compared after every move.

Unlike a walk through a graph this needs no bounded instance: whatever is enabled may be tried,
runs of messages included. A run is one move of the cores and as many steps of the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from raincheck.model.sequencer import handlers as model
from raincheck.model.sequencer.state import Constants, State
from raincheck.model.sequencer.system import SequencerSystem

from .group import Group, MakeCore
from .moves import Move, move_of
from .probes import Probes
from .replay import Mismatch, differences, perform, plain_core

PLENTY: Final = 1_000_000
"""A bound that no test reaches."""

PROMISED: Final = {
    True: ("TotalOrder", "Agreement", "Integrity", "Fifo", "GapFree", "Fresh", "InView"),
    False: ("Integrity", "Fifo", "GapFree", "InView"),
}
"""The invariants of the repaired protocol, over virtually synchronous views and over others."""


def instance(
    nodes: str = "abcd",
    founders: str = "abc",
    *,
    virtual_synchrony: bool = True,
    rules: model.Rules | None = None,
) -> SequencerSystem:
    """Return an instance in which every node may do everything, as often as it likes."""
    everybody = frozenset(nodes)
    return SequencerSystem(
        Constants(
            nodes=tuple(sorted(nodes)),
            founders=frozenset(founders),
            senders=everybody,
            max_said=PLENTY,
            crashers=everybody,
            max_crashes=len(nodes) - 1,
            leavers=everybody,
            returners=everybody,
            last_demotion=PLENTY,
            fifo_forward=True,
            virtual_synchrony=virtual_synchrony,
            rules=rules or model.Rules(),
        )
    )


class Differs(Exception):
    """The two sides are no longer the same; `mismatch` tells where."""

    def __init__(self, mismatch: Mismatch) -> None:
        super().__init__(mismatch.text())
        self.mismatch = mismatch


class Pair:
    """One instance, twice: as the model has it and as the real cores have it."""

    def __init__(
        self,
        system: SequencerSystem,
        make: MakeCore | None = None,
        *,
        name: str = "lockstep",
        probes: Probes | None = None,
    ) -> None:
        self.system = system
        self.name = name
        self.probes = probes or Probes()
        self.group = Group(system.constants, make or plain_core(system))
        (self.state,) = system.initial()
        self.moves: list[Move] = []
        self.parted: Mismatch | None = None
        self._possible: dict[str, list[Move]] | None = None
        self.actions: Counter[str] = Counter()
        repaired = system.rules == model.Rules()
        self.promised = PROMISED[system.constants.virtual_synchrony] if repaired else ()

    def possible(self, action: str) -> list[Move]:
        """Return the moves of an action ("": of any) that the model allows now.

        What is sent is one message; whoever plays the move may send more.
        """
        if self._possible is None:
            self._possible = {}
            for step in self.system.steps(self.state):
                move = move_of(self.system, self.state, step)
                moves = self._possible.setdefault(move.action, [])
                if move not in moves and self._cuts_no_run(move):
                    moves.append(move)
        if not action:
            return [move for moves in self._possible.values() for move in moves]
        return self._possible.get(action, [])

    def play(self, move: Move) -> int:
        """Make the move on both sides and compare; return of how many single steps it consists.

        Raises Differs where the two sides part, ValueError if the model does not allow the move.
        """
        count = self._size(move)
        target = self.state
        for _ in range(count):
            following = self._model_step(target, move)
            if following is None:
                raise ValueError(f"the model does not allow {move} after {len(self.moves)} moves")
            target = following
        self.moves.append(move)
        problem = perform(self.group, move)
        if problem:
            self._differ(problem)
        self.state, self._possible = target, None
        self.actions[move.action] += count
        self.compare()
        return count

    def compare(self) -> None:
        """Raise Differs unless both sides are the same, and keep what is promised."""
        actual = self.group.state()
        if actual != self.state:
            found = differences(self.system, self.state, actual)
            raise Differs(self._mismatch("the states differ", *found))
        mistake = self.probes.offer(self.group)
        if mistake is not None:
            self._differ(f"then {mistake.node} {mistake.problem}: {mistake.action}")
        for name in self.promised:
            if not self.system.invariants[name](actual):
                self._differ(f"{name} is violated")

    def schedule(self) -> dict[str, Any]:
        """Return what was played as one record of a file of schedules."""
        c = self.system.constants
        return {
            "case": self.name,
            "instance": {
                "nodes": "".join(c.nodes),
                "founders": "".join(sorted(c.founders)),
                "virtual_synchrony": c.virtual_synchrony,
            },
            "steps": [move.as_json() for move in self.moves],
        }

    def _size(self, move: Move) -> int:
        """How many messages the move moves: what arrives is as large as it was sent."""
        if move.action in ("Send", "Resend"):
            return move.count
        if move.action == "ReceiveForward":
            i, j = (self.system.index[name] for name in move.args)
            channel = self.group.forwards[j][i]
            return len(channel[move.place - 1].tagged) if len(channel) >= move.place else 1
        if move.action == "ReceiveData":
            parcel = self.group.unread(*(self.system.index[name] for name in move.args))
            return len(parcel.tagged) if parcel else 1
        return 1

    def _model_step(self, state: State, move: Move) -> State | None:
        for step in self.system.steps(state):
            if step.action == move.action and tuple(map(str, step.args)) == move.args:
                wanted = move_of(self.system, state, step)
                if (wanted.view, wanted.cut) == (move.view, move.cut):
                    return step.target
        return None

    def _cuts_no_run(self, move: Move) -> bool:
        """The cores' streams are made of runs: none of them can be lost by half."""
        if move.cut is None:
            return True
        stream = self.group.streams[self.system.index[self.state.views[-1].members[0].node]]
        return move.cut in {0, *(at + len(parcel.tagged) for at, parcel in stream.items())}

    def _mismatch(self, problem: str, *found: Any) -> Mismatch:
        return Mismatch(self.name, 0, tuple(self.moves), problem, found)

    def _differ(self, problem: str) -> None:
        raise Differs(self._mismatch(problem))


def system_of(record: Mapping[str, Any]) -> SequencerSystem | None:
    """Return the instance that a schedule brings along, None if it names a case instead."""
    given = record.get("instance")
    if given is None:
        return None
    return instance(
        str(given["nodes"]),
        str(given["founders"]),
        virtual_synchrony=bool(given["virtual_synchrony"]),
    )


def shortened(
    system: SequencerSystem, make: MakeCore | None, moves: Sequence[Move], name: str = "lockstep"
) -> Pair | None:
    """Return a pair that has parted after as few of the moves as leaving single ones out gives.

    None if playing the moves does not make the two sides part.
    """
    parted = _parts(system, make, moves, name)
    at = 0
    while parted is not None and at < len(parted.moves):
        fewer = parted.moves[:at] + parted.moves[at + 1 :]
        shorter = _parts(system, make, fewer, name)
        if shorter is None:
            at += 1
        else:
            parted, at = shorter, 0
    return parted


def _parts(
    system: SequencerSystem, make: MakeCore | None, moves: Sequence[Move], name: str
) -> Pair | None:
    pair = Pair(system, make, name=name)
    try:
        for move in moves:
            pair.play(move)
    except Differs as parted:
        pair.parted = parted.mismatch
        return pair
    except ValueError:
        return None
    return None
