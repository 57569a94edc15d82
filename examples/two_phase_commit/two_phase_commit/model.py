"""The model of `spec/TwoPhaseCommit.tla`: one function per handler, named as the action."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.datagrams import Datagrams, DatagramSystem
from raincheck.model.machine.instance import constants_of
from raincheck.model.machine.machine import Accepted, Refused, Value, refusal

from .messages import INPUTS, Decide, Outcome, Prepare, ReceiveOutcome, ReceiveYes, Refuse, Yes


@dataclass(frozen=True)
class Rules:
    all_votes: bool = True


@dataclass(frozen=True)
class Constants:
    nodes: tuple[str, ...]
    coordinator: str
    rules: Rules


class Local(NamedTuple):
    node: str
    nodes: tuple[str, ...]
    coordinator: str
    state: str = "working"
    votes: frozenset[str] = frozenset()


Answer = Accepted[Local, Any] | Refused
Guard = tuple[bool, str, dict[str, Value]]


def working(me: Local) -> Guard:
    return me.state == "working", 'state[n] = "working"', {"state": me.state}


def prepared(me: Local) -> Guard:
    return me.state == "prepared", 'state[n] = "prepared"', {"state": me.state}


def coordinates(me: Local) -> Guard:
    return me.node == me.coordinator, "n = Coordinator", {"n": me.node}


def prepare(_rules: Rules, me: Local, _event: Prepare) -> Answer:
    done = Accepted(me._replace(state="prepared"), (Yes(me.coordinator),))
    return refusal(working(me)) or done


def refuse(_rules: Rules, me: Local, _event: Refuse) -> Answer:
    return refusal(working(me)) or Accepted(me._replace(state="aborted"))


def receive_yes(_rules: Rules, me: Local, event: ReceiveYes) -> Answer:
    return refusal(coordinates(me)) or Accepted(me._replace(votes=me.votes | {event.sender}))


def decide(rules: Rules, me: Local, event: Decide) -> Answer:
    all_in = me.votes == frozenset(me.nodes) or not rules.all_votes
    heard = (event.outcome == "aborted" or all_in, "votes[n] = Nodes", {"votes": me.votes})
    outcomes = tuple(Outcome(node, event.outcome) for node in me.nodes)
    done = Accepted(me._replace(state=event.outcome), outcomes)
    return refusal(coordinates(me), prepared(me), heard) or done


def receive_outcome(_rules: Rules, me: Local, event: ReceiveOutcome) -> Answer:
    return refusal(prepared(me)) or Accepted(me._replace(state=event.outcome))


class System(DatagramSystem):
    name = "two_phase_commit"
    inputs = INPUTS
    handlers = handlers_of(INPUTS, globals())
    fixed = frozenset({"node", "nodes", "coordinator"})

    def __init__(self, constants: Constants) -> None:
        self.constants, self.rules, self.nodes = constants, constants.rules, constants.nodes

    def beginning(self, node: str) -> Local:
        return Local(node, self.nodes, self.constants.coordinator)

    def spontaneous(self, _me: Local) -> Iterator[Any]:
        yield from (Prepare(), Refuse(), Decide("committed"), Decide("aborted"))

    @property
    def invariants(self) -> Mapping[str, Any]:
        return {"Agreement": agreement, "NobodyGuesses": nobody_guesses}


def machine(constants: Mapping[str, Value]) -> System:
    return System(constants_of(Constants, constants))


def agreement(state: Datagrams) -> bool:
    return not {"committed", "aborted"} <= {each.state for each in state.locals}


def nobody_guesses(state: Datagrams) -> bool:
    waiting = all(each.state == "prepared" for each in state.locals)
    return not waiting or all(each.kind == "Yes" for each in state.sent)
