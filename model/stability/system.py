"""The bounded service: the twin of `spec/MCStability.tla`, which proposes steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, combinations, product

from raincheck.model.machine.machine import Step, Value
from raincheck.model.machine.runs import Address

from .handlers import deliver, end, install_view, multicast, purge, restart, view_change
from .promises import INVARIANTS
from .state import Constants, Process, Rules, State, Told, Vector, View, constants_of, variables


def _plus(vector: Vector, at: int) -> Vector:
    return (*vector[:at], vector[at] + 1, *vector[at + 1 :])


def _subsets(addresses: Iterable[Address]) -> Iterator[frozenset[Address]]:
    these = sorted(addresses)
    return map(
        frozenset, chain.from_iterable(combinations(these, k) for k in range(len(these) + 1))
    )


class System:
    """The service with the bounds of a case."""

    name = "stability"

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.rules: Rules = constants.rules

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """The promises, by name."""
        return INVARIANTS

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders are in their first view."""
        none = (0,) * len(self.constants.node)
        founders = frozenset(Address(node, 0) for node in self.constants.founders)
        outside = [Process(node, none, none, none) for node in self.constants.node]
        yield State(
            tuple(
                p._replace(status="member", view=1) if p.address in founders else p for p in outside
            ),
            (View(founders),),
        )

    def steps(self, state: State) -> Iterator[Step[State]]:
        """Yield the proposed steps that the service has."""
        for at, process in enumerate(state.processes):
            for action, may, proposed in (
                ("Multicast", multicast, self._multicasts(state, at)),
                ("Deliver", deliver, self._delivers(state, at)),
                ("Purge", purge, self._purges(state, at)),
                ("InstallView", install_view, self._installs(state, at)),
                ("End", end, self._ends(state, at)),
                ("Restart", restart, self._restarts(state, at)),
            ):
                for target in proposed:
                    if may(self.constants, state, target, at):
                        yield Step(action, (process.node,), target)
        for target in self._view_changes(state):
            if view_change(self.constants, state, target):
                yield Step("ViewChange", (), target)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the spec's variables."""
        return variables(self.constants, state)

    # -------------------------------------------------------------- what is proposed

    def _with(self, state: State, at: int, after: Process) -> State:
        there = (*state.processes[:at], after, *state.processes[at + 1 :])
        return state._replace(processes=there)

    def _multicasts(self, state: State, at: int) -> Iterator[State]:
        me = state.processes[at]
        if me.node in self.constants.senders and me.sent < self.constants.max_sent:
            after = me._replace(sent=me.sent + 1, delivered=_plus(me.delivered, at))
            yield self._with(state, at, after)

    def _delivers(self, state: State, at: int) -> Iterator[State]:
        me = state.processes[at]
        for sender in range(len(state.processes)):
            yield self._with(state, at, me._replace(delivered=_plus(me.delivered, sender)))

    def _purges(self, state: State, at: int) -> Iterator[State]:
        me = state.processes[at]
        for sender in range(len(state.processes)):
            yield self._with(state, at, me._replace(purged=_plus(me.purged, sender)))

    def _installs(self, state: State, at: int) -> Iterator[State]:
        me = state.processes[at]
        if me.status == "outside" and me.entering:
            view, digest = me.entering[0]
            after = me._replace(status="member", view=view, delivered=digest, began=digest)
            yield self._with(state, at, after._replace(entering=()))
        if not me.present or me.view >= len(state.views):
            return
        onward = self._with(state, at, me._replace(view=me.view + 1))
        joiners = state.views[me.view].joiners
        asking = {
            place
            for place, p in enumerate(state.processes)
            if p.status == "outside" and p.address in joiners
        }
        yield onward
        for digest in product(*(range(had + 1) for had in me.delivered)) if asking else ():
            told = (Told(me.view + 1, digest),)
            yield onward._replace(
                processes=tuple(
                    p._replace(entering=told) if place in asking else p
                    for place, p in enumerate(onward.processes)
                )
            )

    def _ends(self, state: State, at: int) -> Iterator[State]:
        me = state.processes[at]
        if me.present and me.node in self.constants.enders:
            none = (0,) * len(state.processes)
            after = me._replace(status="gone", view=0, delivered=none, began=none, purged=none)
            yield self._with(state, at, after)

    def _restarts(self, state: State, at: int) -> Iterator[State]:
        me = state.processes[at]
        if me.status != "gone" or me.node not in self.constants.returners or me.life:
            return

        def anew(vector: Vector) -> Vector:
            return (*vector[:at], 0, *vector[at + 1 :])

        back = self._with(state, at, me._replace(status="outside", life=1, sent=0))
        yield back._replace(
            processes=tuple(
                p._replace(delivered=anew(p.delivered), began=anew(p.began), purged=anew(p.purged))
                for p in back.processes
            )
        )

    def _view_changes(self, state: State) -> Iterator[State]:
        if len(state.views) >= self.constants.max_views:
            return
        last = state.views[-1].members
        here = {p.address for p in state.processes if p.present} & last
        kept = {address for address in here if address.node not in self.constants.excluded}
        asking = {p.address for p in state.processes if p.status == "outside"}
        for staying, joiners in product(_subsets(here), _subsets(asking)):
            if staying and kept <= staying and staying | joiners != last:
                yield state._replace(views=(*state.views, View(staying | joiners, joiners)))


def machine(constants: Mapping[str, Value]) -> System:
    """Return the service with the constants of a case; ValueError if one is wrong."""
    return System(constants_of(constants))
