"""The model of `spec/TwoPhaseCommit.tla`: one function per handler, named as the action."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.datagrams import Datagrams, DatagramSystem
from raincheck.model.machine.instance import constants_of
from raincheck.model.machine.machine import Accepted, Refused, Value, refusal


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


class Yes(NamedTuple):
    to: str


class Committed(NamedTuple):
    to: str


class Aborted(NamedTuple):
    to: str


class Prepare(NamedTuple):
    pass


class Refuse(NamedTuple):
    pass


class Commit(NamedTuple):
    pass


class Abort(NamedTuple):
    pass


class ReceiveYes(NamedTuple):
    sender: str


class ReceiveCommitted(NamedTuple):
    sender: str


class ReceiveAborted(NamedTuple):
    sender: str


Answer = Accepted[Local, Any] | Refused


def _is(me: Local, state: str) -> tuple[bool, str, dict[str, Value]]:
    return me.state == state, f'state[n] = "{state}"', {"state": me.state}


def _coordinates(me: Local) -> tuple[bool, str, dict[str, Value]]:
    return me.node == me.coordinator, "n = Coordinator", {"n": me.node}


def prepare(_rules: Rules, me: Local, _event: Prepare) -> Answer:
    refused = refusal(_is(me, "working"))
    return refused or Accepted(me._replace(state="prepared"), (Yes(me.coordinator),))


def refuse(_rules: Rules, me: Local, _event: Refuse) -> Answer:
    return refusal(_is(me, "working")) or Accepted(me._replace(state="aborted"))


def receive_yes(_rules: Rules, me: Local, event: ReceiveYes) -> Answer:
    return refusal(_coordinates(me)) or Accepted(me._replace(votes=me.votes | {event.sender}))


def commit(rules: Rules, me: Local, _event: Commit) -> Answer:
    all_in = not rules.all_votes or me.votes == frozenset(me.nodes)
    heard = (all_in, "AllVotes => votes[n] = Nodes", {"votes": me.votes})
    refused = refusal(_coordinates(me), _is(me, "prepared"), heard)
    told = tuple(Committed(node) for node in me.nodes)
    return refused or Accepted(me._replace(state="committed"), told)


def abort(_rules: Rules, me: Local, _event: Abort) -> Answer:
    refused = refusal(_coordinates(me), _is(me, "prepared"))
    return refused or Accepted(me._replace(state="aborted"), tuple(map(Aborted, me.nodes)))


def receive_committed(_rules: Rules, me: Local, _event: ReceiveCommitted) -> Answer:
    return refusal(_is(me, "prepared")) or Accepted(me._replace(state="committed"))


def receive_aborted(_rules: Rules, me: Local, _event: ReceiveAborted) -> Answer:
    return refusal(_is(me, "prepared")) or Accepted(me._replace(state="aborted"))


KINDS = (Prepare, Refuse, Commit, Abort, ReceiveYes, ReceiveCommitted, ReceiveAborted)
INPUTS = {each.__name__: each for each in KINDS}
HANDLERS = handlers_of(INPUTS, globals())


class System(DatagramSystem):
    name = "two_phase_commit"
    handlers = HANDLERS
    inputs = INPUTS
    fixed = frozenset({"node", "nodes", "coordinator"})

    def __init__(self, constants: Constants) -> None:
        self.constants, self.rules, self.nodes = constants, constants.rules, constants.nodes

    def beginning(self, node: str) -> Local:
        return Local(node, self.nodes, self.constants.coordinator)

    def spontaneous(self, _me: Local) -> Iterator[Any]:
        yield from (Prepare(), Refuse(), Commit(), Abort())

    @property
    def invariants(self) -> Mapping[str, Any]:
        return {"Agreement": agreement, "NobodyGuesses": nobody_guesses}


def machine(constants: Mapping[str, Value]) -> System:
    """Return the instance that a case describes."""
    return System(constants_of(Constants, constants))


def agreement(state: Datagrams) -> bool:
    return not {"committed", "aborted"} <= {each.state for each in state.locals}


def nobody_guesses(state: Datagrams) -> bool:
    waiting = all(each.state == "prepared" for each in state.locals)
    return not waiting or all(isinstance(each.message, Yes) for each in state.sent)
