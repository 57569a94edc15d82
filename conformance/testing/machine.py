"""Model and real cores in lockstep as a Hypothesis state machine, made from a protocol's record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from raincheck.conformance.bindings.binding import MakeCore, binding_of
from raincheck.conformance.errors import UsageError
from raincheck.conformance.replay.cores import Cores, Problem, probe
from raincheck.conformance.replay.lockstep import Instance
from raincheck.conformance.replay.probes import refuses
from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Refused

from .asserts import replayable


def instances_of(protocol: str, cases: Iterable[str] = ()) -> list[Instance]:
    """Return lockstep's instances: those of the named cases, else of the largest quick ones."""
    found = replayable(protocol, cases).instances()
    instances = [each for group in found.values() for each in group]
    if not instances:
        raise UsageError(f"{protocol} has no case that holds with all rules as implemented.")
    return instances


def lockstep_machine(
    protocol: str, *, cases: Iterable[str] = (), make: MakeCore | None = None
) -> type[RuleBasedStateMachine]:
    """Return a state machine whose `TestCase` goes into a test module.

        TestLockstep = lockstep_machine("two_phase_commit").TestCase

    A rule makes one of the model's moves on the real cores, and what they do must be the model's.
    Another offers a node an input that the model refuses there: the core must refuse it, and stay
    as it is. `make` makes other cores than the binding does. Hypothesis chooses, shortens what
    fails and prints it. Raises UsageError if there is no such protocol or case.
    """
    binding = binding_of(protocol)
    instances = instances_of(protocol, cases)

    class Lockstep(RuleBasedStateMachine):
        """One instance of the protocol, with a core for each of its nodes."""

        def __init__(self) -> None:
            super().__init__()
            self.cores: Cores
            self.state: Any = None
            self.moves: list[Move[Any]] = []

        @initialize(data=st.data())
        def begin(self, data: st.DataObject) -> None:
            self.instance = data.draw(st.sampled_from(instances), "instance")
            system = self.instance.system
            self.state = data.draw(st.sampled_from(list(system.initial())), "initial state")
            self.cores = Cores(binding, system, make)
            self._checked(lambda: self.cores.begin(self.state))
            self._look()

        @precondition(lambda self: self.moves)
        @rule(data=st.data())
        def move(self, data: st.DataObject) -> None:
            """A move that the model has now, drawn by its action first."""
            action = data.draw(st.sampled_from(sorted({each.action for each in self.moves})))
            choice = [each for each in self.moves if each.action == action]
            move = data.draw(st.sampled_from(choice), "move")
            self._checked(lambda: self.cores.perform(move))
            self.state = move.target
            if move.node is not None:
                node, probes = move.node, self.instance.probes.afresh()
                self._checked(lambda: probe(self.cores, probes, self.state, (node,)))
            self._look()

        @precondition(lambda self: self.state is not None and self.instance.probes.by_action)
        @rule(data=st.data())
        def refused(self, data: st.DataObject) -> None:
            """Offer a node an input: where the model refuses it, the core must refuse it too."""
            node = data.draw(st.sampled_from(self.instance.system.nodes), "node")
            known = self.instance.probes.by_action
            action = data.draw(st.sampled_from(sorted(known)), "input")
            event = data.draw(st.sampled_from(list(known[action])), "event")
            local, core = self.cores.locals[node], self.cores.cores[node]
            if not binding.assumes(self.instance.system.rules, local, event):
                return
            if isinstance(self.instance.probes.answer(local, event), Refused):
                mistake = refuses(binding, core, local, event)
                assert not mistake, f"{node} {mistake}: {event!r}"

        def _look(self) -> None:
            self.moves = list(self.instance.system.moves(self.state))
            for name, holds in self.instance.promised.items():
                assert holds(self.state), f"{name} is violated"

        def _checked(self, step: Callable[[], None]) -> None:
            try:
                step()
            except Problem as problem:
                lines = [problem.problem, *map(str, problem.differences)]
                raise AssertionError("\n".join(lines)) from problem

    Lockstep.__name__ = Lockstep.__qualname__ = f"Lockstep_{protocol}"
    # To vary each draw of the shortest run takes Hypothesis half a minute, and explains nothing.
    case = Lockstep.TestCase
    phases = [each for each in case.settings.phases if each is not Phase.explain]
    case.settings = settings(case.settings, phases=phases)
    return Lockstep
