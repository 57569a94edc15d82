"""The bounded service: the twin of `spec/MCTotalOrder.tla`, which proposes steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from raincheck.model.machine.machine import Step, Value
from raincheck.model.machine.runs import Address

from .handlers import deliver, end, install_view, restart, send, view_change
from .logs import sequence
from .promises import INVARIANTS
from .state import (
    Constants,
    Delivery,
    Message,
    Order,
    Process,
    Rules,
    State,
    View,
    constants_of,
    variables,
)


class System:
    """The service with the bounds of a case."""

    name = "total_order"

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.rules: Rules = constants.rules

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """The promises, by name."""
        return INVARIANTS

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders are in their first view."""
        founders = frozenset(Address(node, 0) for node in self.constants.founders)
        yield State(
            tuple(
                Process(node, "member", view=1)
                if node in self.constants.founders
                else Process(node)
                for node in self.constants.node
            ),
            (View(founders),),
        )

    def steps(self, state: State) -> Iterator[Step[State]]:
        """Yield the proposed steps that the service has."""
        for at, process in enumerate(state.processes):
            for action, may, proposed in (
                ("Send", send, self._sending(state, process)),
                ("Deliver", deliver, self._delivering(state, process)),
                ("InstallView", install_view, self._installing(state, process)),
                ("End", end, self._ending(state, process)),
                ("Restart", restart, self._restarting(state, process)),
            ):
                for after, cut in proposed:
                    there = (*state.processes[:at], after, *state.processes[at + 1 :])
                    target = state._replace(processes=there, cut=cut)
                    if may(self.constants, state, target, at):
                        yield Step(action, (process.node,), target)
        for target in self._view_changes(state):
            if view_change(self.constants, state, target):
                yield Step("ViewChange", (), target)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the spec's variables."""
        return variables(self.constants, state)

    # -------------------------------------------------------------- what is proposed

    def _proposed(self, state: State, view: int) -> Iterator[Message]:
        numbers = range(1, self.constants.max_sent + 1)
        for sender in sorted(state.views[view - 1].members):
            if sender.node in self.constants.senders:
                yield from (Message(sender, k, p) for k in numbers for p in numbers)

    def _longer(
        self, state: State, process: Process, views: Iterable[int]
    ) -> Iterator[tuple[Delivery, ...]]:
        for view in sorted({*views} - {0}):
            for message in self._proposed(state, view):
                yield (*process.delivered, Delivery(message, view))

    def _sending(self, state: State, me: Process) -> Iterator[tuple[Process, tuple[Order, ...]]]:
        if me.node not in self.constants.senders or me.sent >= self.constants.max_sent:
            return
        logs = [me.delivered]
        if self.constants.leaps and me.present:
            logs += self._longer(state, me, [me.view])
        for log in logs:
            yield me._replace(sent=me.sent + 1, delivered=log), state.cut

    def _delivering(self, state: State, me: Process) -> Iterator[tuple[Process, tuple[Order, ...]]]:
        if me.present and len(me.delivered) < self.constants.max_log:
            for log in self._longer(state, me, [me.view]):
                yield me._replace(delivered=log), state.cut

    def _installing(self, state: State, me: Process) -> Iterator[tuple[Process, tuple[Order, ...]]]:
        if me.status == "gone":
            return
        for view in range(me.view + 1, len(state.views) + 1):
            logs = [me.delivered]
            if self.constants.leaps:
                logs += self._longer(state, me, [me.view, view])
            for log in logs:
                after = me._replace(status="member", view=view, delivered=log)
                for cut in {(), state.cut, (sequence(log, me.view),)}:
                    yield after, cut

    def _ending(self, state: State, me: Process) -> Iterator[tuple[Process, tuple[Order, ...]]]:
        gone = sum(p.status == "gone" for p in state.processes)
        if me.present and me.node in self.constants.enders and gone < self.constants.max_ends:
            after = me._replace(status="gone", view=0, past=me.sent)
            for cut in {(), state.cut}:
                yield after, cut

    def _restarting(self, state: State, me: Process) -> Iterator[tuple[Process, tuple[Order, ...]]]:
        if me.node in self.constants.returners and me.life == 0 and me.status == "gone":
            yield me._replace(status="outside", life=1, delivered=()), state.cut

    def _view_changes(self, state: State) -> Iterator[State]:
        if len(state.views) >= self.constants.max_views:
            return
        here = frozenset(p.address for p in state.processes if p.present)
        asking = [p.address for p in state.processes if p.status == "outside"]
        had = {sequence(p.delivered, len(state.views)) for p in state.processes}
        more = [*self._proposed(state, len(state.views))]
        cuts = {(), *((s,) for s in had), *(((*s, m),) for s in had for m in more)}
        for size in range(len(asking) + 1):
            for joiners in map(frozenset, combinations(asking, size)):
                if here and here | joiners != state.views[-1].members:
                    views = (*state.views, View(here | joiners, joiners))
                    yield from (state._replace(views=views, cut=cut) for cut in cuts)


def machine(constants: Mapping[str, Value]) -> System:
    """Return the service with the constants of a case; ValueError if one is wrong."""
    return System(constants_of(constants))
