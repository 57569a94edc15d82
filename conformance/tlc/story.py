"""From a counterexample of TLC to a story that can be drawn (`report.sequence`).

The part that is the same for all protocols: which variables change at each step, and which member's
entries they are. A protocol's own `story` (its record names the module) knows what a step means.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol, cast

from raincheck.conformance.cases.bare import BareCase
from raincheck.conformance.cases.case import HOLDS, Case
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.report.sequence import Change, Diagram, Event
from raincheck.model.machine.tlavalue import Fcn, ModelValue, Value, format

from .dotgraph import plain_action
from .spec import comment_above
from .tlc import TlcResult

State = Mapping[str, Value]


class Teller(Protocol):
    """The interface of the module that a record names as `story`."""

    def members(self, states: list[State]) -> tuple[str, ...]:
        """Return the members in the order in which they are drawn."""

    def absent(self, state: State, /) -> frozenset[str]:
        """Return the members that are absent in a state."""

    def tell(self, steps: list[tuple[str, State, State]]) -> list[Event]:
        """Return an event per step (action, state before, state after); changes are added later."""

    def witness(self, name: str, states: list[State], /) -> str:
        """Return a sentence on what shows that the property is violated, or nothing."""


def diagram_of(case: Case, result: TlcResult) -> Diagram:
    """Return the story of a case's counterexample."""
    states: list[State] = [state.variables for state in result.trace]
    steps = [
        (plain_action(state.action), before, after)
        for state, before, after in zip(result.trace[1:], states, states[1:], strict=False)
    ]
    teller = AnyProtocol() if isinstance(case, BareCase) else teller_of(case.protocol)
    events = teller.tell(steps)
    sentences = tuple(
        replace(event, number=number, changes=tuple(changes(before, after)))
        for number, (event, (_, before, after)) in enumerate(zip(events, steps, strict=True), 1)
    )
    violated = result.violated or " or ".join(result.candidates)
    witness = teller.witness(violated, states)
    return Diagram(
        title=f"{case.name}: {_title(violated, result)}",
        members=teller.members(states),
        events=sentences,
        absent=teller.absent(states[0]) if states else frozenset(),
        facts=tuple(_facts(case, violated)),
        ending=tuple(_ending(result, witness)),
    )


def _title(violated: str, result: TlcResult) -> str:
    if result.error:
        return "TLC cannot go on"
    return "an Assert fails" if result.assertion else f"{violated} is violated"


def changes(before: State, after: State) -> Iterable[Change]:
    """Return what changed, entry by entry where a variable has an entry per member."""
    for name, new in after.items():
        old = before.get(name)
        if old == new or old is None:
            continue
        if isinstance(old, Fcn) and isinstance(new, Fcn) and old.keys() == new.keys():
            for key in old:
                if old[key] != new[key]:
                    yield from _deeper(f"{name}[{_bare(key)}]", old[key], new[key])
        else:
            yield Change(name, format(old), format(new))


def _deeper(name: str, old: Value, new: Value) -> Iterable[Change]:
    if isinstance(old, Fcn) and isinstance(new, Fcn) and old.keys() == new.keys():
        for key in old:
            if old[key] != new[key]:
                yield Change(f"{name}[{_bare(key)}]", format(old[key]), format(new[key]))
    else:
        yield Change(name, format(old), format(new))


def _bare(key: Value) -> str:
    return key if isinstance(key, str) else format(key)


def _facts(case: Case, violated: str) -> Iterable[str]:
    promise = comment_above(case.module, violated)
    if promise:
        yield f"{violated} promises: {promise}"
    if case.words:
        yield f"The case: {case.words}."
    if case.note:
        yield case.note
    speaks = f"rule {case.rule}" + (f", flaw {case.flaw}" if case.flaw else "")
    wanted = (
        "the catalog expects this violation"
        if case.expected == violated
        else "this should hold"
        if case.expected == HOLDS
        else f"expected was {case.expected}"
    )
    if case.rule:
        yield f"It speaks to {speaks} of the seed's text; {wanted}."
    if switches := [f"{k} = {format(v)}" for k, v in case.constants.items() if isinstance(v, bool)]:
        yield f"With {', '.join(switches)}."


def _ending(result: TlcResult, witness: str) -> Iterable[str]:
    if len(result.trace) == 1:  # no step shows it
        begins = result.trace[0].variables.items()
        state = ", ".join(f"{name} = {format(value)}" for name, value in begins)
        yield f"It is so in an initial state, without any step: {state}."
    if result.stuttering:
        yield "And then nothing happens any more: nobody is obliged to do anything else."
    elif result.back_to is not None:
        yield (
            f"The next step leads back to where step {result.back_to} began, "
            "and so it goes round for ever."
        )
    if witness:
        yield witness


def teller_of(protocol: str) -> Teller:
    """Return the protocol's own teller, or one that knows no protocol."""
    record = protocols().get(protocol)
    if record is None or not record.offers("story"):
        return AnyProtocol()
    return cast("Teller", record.module("story"))


class AnyProtocol:
    """Finds the acting member from the entries that change, and knows nothing more."""

    def members(self, states: list[State]) -> tuple[str, ...]:
        """Return all keys of the variables that have an entry per key, if they are names."""
        found: dict[str, None] = {}
        for value in states[0].values() if states else ():
            if isinstance(value, Fcn):
                found |= {name: None for key in value if (name := name_of(key))}
        return tuple(found)

    def absent(self, _state: State, /) -> frozenset[str]:
        """Return nobody: absence cannot be seen in the states."""
        return frozenset()

    def tell(self, steps: list[tuple[str, State, State]]) -> list[Event]:
        """Return one event per step, without messages."""
        who = [actor(before, after) for _, before, after in steps]
        return [
            Event(0, node, f"{action or '?'}({node})" if node else action or "?")
            for node, (action, _, _) in zip(who, steps, strict=True)
        ]

    def witness(self, _name: str, _states: list[State], /) -> str:
        """Return nothing: that would need knowledge of the protocol."""
        return ""


def name_of(key: Value) -> str:
    """Return the key as a name, or nothing if it is no name."""
    return key.name if isinstance(key, ModelValue) else key if isinstance(key, str) else ""


def actor(before: State, after: State) -> str:
    """Return the one member whose entries change, or "" if there is not exactly one."""
    changed: set[str] = set()
    for name, new in after.items():
        old = before.get(name)
        if isinstance(old, Fcn) and isinstance(new, Fcn):
            changed |= {name for k in new if (name := name_of(k)) and old.get(k) != new[k]}
    return changed.pop() if len(changed) == 1 else ""
