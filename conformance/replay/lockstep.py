"""Model and real cores in lockstep, driven by Hypothesis: a rule per action, both compared always.

Nothing is bounded but the length: any number of members fail, join, leave and come back, and runs
of several messages travel. A difference is shrunk to a short schedule, printed with the command
that replays it.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from raincheck.model.sequencer.system import SequencerSystem

from .group import MakeCore
from .moves import Move
from .pair import Differs, Pair, instance, shortened
from .replay import Mismatch

LONGEST_RUN = 4
FOUNDERS = ("ab", "abc", "abcd")

run_size = st.integers(1, LONGEST_RUN)
which = st.integers(0, 11)


@dataclass(slots=True)
class Walked:
    """What a run of lockstep came to."""

    seed: int
    examples: int = 0
    steps: int = 0
    """Single steps of the specification."""
    moves: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each conjunct of a guard was false for what was offered."""
    mismatch: Mismatch | None = None
    schedule: dict[str, Any] | None = None
    system: SequencerSystem | None = None
    """The instance in which the mismatch was found."""

    def figures(self) -> dict[str, object]:
        """Return the figures of a result: how far it went, and what it reached."""
        return {
            "seed": self.seed,
            "examples": self.examples,
            "steps": self.steps,
            "moves": self.moves,
            "actions": len(self.actions),
            "refusals": self.refused.total(),
            "steps_by_action": dict(sorted(self.actions.items())),
        }

    def text(self) -> str:
        """Return the shrunk mismatch with its schedule, ready to be saved; "" if there is none."""
        if self.mismatch is None:
            return ""
        lines = [
            f"seed {self.seed}: {self.mismatch.text()}",
            "save the next line as lockstep.jsonl, then:"
            " raincheck generate --schedule lockstep.jsonl",
            json.dumps(self.schedule),
        ]
        return "\n".join(lines)


def able(*actions: str) -> Callable[[Lockstep], bool]:
    """Return the precondition that the model allows one of the actions."""
    return lambda self: any(self.pair.possible(action) for action in actions)


class Lockstep(RuleBasedStateMachine):
    """The rules: each makes one of the moves that the model allows, or several of a kind.

    What is never allowed is offered to the cores by `Probes` after each move.
    """

    virtual_synchrony = True
    make: MakeCore | None = None
    walked = Walked(0)
    pair: Pair

    @initialize(founders=st.sampled_from(FOUNDERS))
    def begin(self, founders: str) -> None:
        """Choose who is there from the start."""
        system = instance(founders=founders, virtual_synchrony=self.virtual_synchrony)
        self.pair = Pair(system, type(self).make)
        self.walked.examples += 1

    @precondition(able("Send"))
    @rule(i=which, k=run_size)
    def send(self, i: int, k: int) -> None:
        """An application multicasts k messages."""
        self._one_of("Send", i, run=k)

    @precondition(able("ReceiveForward"))
    @rule(i=which)
    def receive_forward(self, i: int) -> None:
        """A FORWARD arrives."""
        self._one_of("ReceiveForward", i)

    @precondition(able("ReceiveData"))
    @rule(i=which)
    def receive_data(self, i: int) -> None:
        """A DATA arrives."""
        self._one_of("ReceiveData", i)

    @precondition(able("ReceiveData"))
    @rule(i=which, k=st.integers(1, 12))
    def receive_much(self, i: int, k: int) -> None:
        """Several DATA arrive, as it were at once."""
        for _ in range(k):
            self._one_of("ReceiveData", i)

    @precondition(able("InstallView"))
    @rule(i=which)
    def install_view(self, i: int) -> None:
        """A member installs the next view."""
        self._one_of("InstallView", i)

    @precondition(able("Join"))
    @rule(i=which)
    def join(self, i: int) -> None:
        """JOIN_RSP arrives."""
        self._one_of("Join", i)

    @precondition(able("Resend"))
    @rule(i=which, k=run_size)
    def resend(self, i: int, k: int) -> None:
        """A member resends its next messages."""
        moves = self.pair.possible("Resend")
        core = self.pair.group.cores[self.pair.system.index[moves[i % len(moves)].args[0]]]
        # A core resends run by run, as they were sent.
        self._one_of("Resend", i, run=min(k, core.resend[0].run.size) if core.resend else 1)

    @precondition(able("ViewChange"))
    @rule(i=which)
    def view_change(self, i: int) -> None:
        """The membership decides a view: who is gone leaves, some that ask may join."""
        self._one_of("ViewChange", i)

    @precondition(able("ViewChange", "Demote", "InstallView", "Join"))
    @rule(action=st.sampled_from(["ViewChange", "Demote"]), i=which)
    def new_view(self, action: str, i: int) -> None:
        """A view is decided and installed by all who can, what is under way staying so."""
        self._one_of(action, i)
        for step in ("InstallView", "Join"):
            for _ in self.pair.system.constants.nodes:
                self._one_of(step, 0)

    @precondition(able("ReceiveForward"))
    @rule()
    def receive_forwards(self) -> None:
        """All FORWARDs arrive."""
        for _ in range(8):
            self._one_of("ReceiveForward", 0)

    @precondition(able("Stop"))
    @rule(i=which)
    def stop(self, i: int) -> None:
        """leave() returns."""
        self._one_of("Stop", i)

    @precondition(able("Crash", "Leave", "Restart", "Demote"))
    @rule(action=st.sampled_from(["Demote", "Restart", "Crash", "Leave"]), i=which)
    def disturb(self, action: str, i: int) -> None:
        """A member crashes, leaves, comes back or loses its role."""
        self._one_of(action, i)

    @precondition(lambda self: not self.pair.possible(""))
    @rule()
    def rest(self) -> None:
        """Nothing is possible any more: everybody has gone."""

    def _one_of(self, action: str, i: int, run: int = 1) -> None:
        moves = self.pair.possible(action)
        if moves:
            move = moves[i % len(moves)]
            self._play(move if run == 1 else dataclasses.replace(move, count=run))

    def _play(self, move: Move) -> None:
        try:
            self.walked.steps += self.pair.play(move)
        except Differs as parted:
            # Shrinking comes here again and again; the last time is the shortest.
            self.walked.mismatch = parted.mismatch
            self.walked.schedule = self.pair.schedule()
            self.walked.system = self.pair.system
            raise

    def teardown(self) -> None:
        """Count what the example has done."""
        if hasattr(self, "pair"):
            self.walked.actions.update(self.pair.actions)
            self.walked.moves += len(self.pair.moves)
            self.walked.refused.update(self.pair.probes.refused)


def lockstep(
    *,
    seed_: int,
    examples: int,
    moves: int = 60,
    virtual_synchrony: bool = True,
    make: MakeCore | None = None,
    shrink: bool = True,
) -> Walked:
    """Run so many examples of at most so many rules; the same seed gives the same ones.

    The result carries the mismatch, shrunk unless that is not wanted; nothing is raised for it.
    """
    walked = Walked(seed_)

    class Machine(Lockstep):
        pass

    Machine.virtual_synchrony = virtual_synchrony
    Machine.make = None if make is None else staticmethod(make)
    Machine.walked = walked
    chosen = settings(
        max_examples=examples,
        stateful_step_count=moves,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seed(seed_)(Machine), settings=chosen)
    except Differs as parted:
        walked.mismatch = parted.mismatch
    if shrink and walked.mismatch is not None and walked.system is not None:
        # Hypothesis leaves out rules, and some rules make several moves.
        pair = shortened(walked.system, make, walked.mismatch.moves)
        if pair is not None:
            walked.mismatch, walked.schedule = pair.parted, pair.schedule()
    return walked
