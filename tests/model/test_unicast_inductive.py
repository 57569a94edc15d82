"""The proof of UNICAST: it succeeds, fails where a repair is missing, and is about the model."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from raincheck.model.proof.bounded import Search, breaks
from raincheck.model.proof.concrete import Frame
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.unicast.handlers import Receiver, Rules, Sender, address, found
from raincheck.model.unicast.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.unicast.proof.words import SPEC
from raincheck.model.unicast.state import Constants
from raincheck.model.unicast.system import UnicastSystem

WHOLE = theory()
PROPERTIES = {
    *("ReliableFifoUnicast", "NothingStale", "BoundedBuffers", "WindowKept", "KeptUntilArrived"),
}


def unproved(subject, seed=1, transition=None):
    """The open obligations one by one: each costs a solver's time."""
    for each in obligations(subject):
        wanted = transition in (None, each.transition)
        if wanted and not attempt(each, seed, 20_000).proved:
            yield each


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed):
    assert list(unproved(WHOLE, seed)) == []


def test_every_promise_and_every_action_is_spoken_of():
    found_ = obligations(WHOLE)

    assert {o.claim for o in found_ if o.kind == "implied"} == PROPERTIES
    assert {t.action for t in WHOLE.transitions} == {
        *("Send", "Receive", "Consume", "Acknowledge", "ReceiveAck", "Retransmit", "Forget"),
    }


def test_every_transition_can_happen_where_the_invariant_holds():
    search = Search(WHOLE)

    assert [t.name for t in WHOLE.transitions if not search.enabled(t)] == []


@pytest.mark.parametrize(
    ("undone", "transition"),
    [
        ("Incarnations", "Restart: under the old address"),
        ("ConnectionIds", "Send: begins a connection"),
        ("NewerConnections", "Receive: first"),
        ("AckConnection", "ReceiveAck: counts"),
        ("RememberClosed", "Forget: by the receiver"),
        ("ConsumedWindow", "Receive: kept"),
    ],
)
def test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown(undone, transition):
    subject = theory(basis_without([undone]))
    still_open = list(unproved(subject, transition=transition))
    assert still_open

    steps = {each.name: each for each in subject.transitions}
    conjuncts = {each.name: each for each in subject.invariant}
    search = Search(subject)
    failures = [
        found_
        for each in still_open
        if (found_ := search.failure(conjuncts[each.claim], steps[transition])) is not None
    ]

    assert failures
    assert breaks(failures[0], subject.invariant, failures[0].before) == failures[0].after


@pytest.mark.parametrize("undone", ["Duplicates", "AckDuplicates", "Timer", "Probe"])
def test_repairs_that_only_progress_needs_are_not_needed_for_safety(undone):
    assert undone in WITHOUT
    assert list(unproved(theory(basis_without([undone])))) == []


@pytest.mark.parametrize(
    "dropped", ["DataWereSent", "AcksAreTrue", "AckedWithinWindow", "ArrivedIsThere", "HeardRight"]
)
def test_without_a_conjunct_the_others_are_not_inductive(dropped):
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


# ---------------------------------------------------------------------- the theory and the model

A, B = 0, 1  # a sends, b receives
HISTORY = {"data", "ack", "place"}


def system(**changes):
    usual = {
        "nodes": ("a", "b"),
        "senders": frozenset("a"),
        "max_said": 2,
        "forgetters": frozenset("ab"),
        "max_connections": 2,
        "crashers": frozenset(),
        "returners": frozenset(),
        "may_lose": False,
        "may_duplicate": True,
        "may_reorder": True,
        "rules": Rules(window=1),
    }
    return UnicastSystem(Constants(**{**usual, **changes}))


def tables_of(machine, state):
    """The spec's variables of a state, as the theory has them; what was ever sent is left out."""
    a, b = state.locals
    values: dict[str, dict] = {name: {} for name in SPEC}

    def put_in(name, value, *at):
        if value not in (0, False):
            values[name][at] = value

    put_in("connections", a.connections)
    sender = found(a.senders, address(machine.rules, b))
    put_in("sending", sender is not None)
    for name, field in {"confirmed": "consumed"}.items() | {
        (each, each) for each in ("connection", "seqno", "acked", "out")
    }:
        put_in(name, getattr(sender or Sender(0), field))
    receiver = found(b.receivers, address(machine.rules, a))
    put_in("receiving", receiver is not None)
    receiver = receiver or Receiver(0)
    put_in("from_here", receiver.connection)
    put_in("arrived", receiver.arrived)
    put_in("consumed", receiver.consumed)
    for k, content in receiver.buffer:
        put_in("buffered", True, k)
        put_in("buffer_talk", content[2], k)
        put_in("buffer_number", content[3], k)
    put_in("closed", found(b.closed, address(machine.rules, a)) or 0)
    put_in("heard", len(state.delivered[B]))
    for i, (_, content) in enumerate(state.delivered[B], 1):
        put_in("heard_talk", content[2], i)
        put_in("heard_number", content[3], i)
    return values


def matters(name, at, s):
    if name in ("connection", "seqno", "acked", "out", "confirmed"):
        return bool(s.sending())
    if name in ("from_here", "arrived", "consumed", "buffered"):
        return bool(s.receiving())
    if name.startswith("buffer_"):
        return bool(s.receiving() and s.buffered(*at))
    return not name.startswith("heard_") or 1 <= at[0] <= s.heard()


def frame_of(machine):
    numbers = list(range(4))
    kinds = dict.fromkeys(("number", "seqno", "index"), numbers)
    window = machine.rules.window
    return Frame(WHOLE, {**kinds, "bool": (False, True)}, {"window": lambda: window}, matters)


def parameters_of(move) -> Mapping[str, list[int]]:
    match move.action:
        case "Receive":
            life, _, talk, number = move.event.content
            return {
                "c": [move.event.connection],
                "k": [move.event.seqno],
                "life": [life],
                "talk": [talk],
                "number": [number],
            }
        case "ReceiveAck":
            _, c, a, b, _ = move.event
            return {"c": [c], "a": [a], "b": [b]}
    return {}


def admitted(frame, move, before, target):
    """The tables after, by the transition that leads there; None: the theory has no such step."""
    if move.action == "Lose":
        return before if frame.differs(before, target, compared()) is None else None
    s = frame.world(before)
    by_sender = move.action == "Forget" and move.node == "a"
    for transition in WHOLE.transitions:
        if transition.action != move.action:
            continue
        if move.action == "Forget" and (transition.case == "by the sender") != by_sender:
            continue
        for values in frame.choices(transition, parameters_of(move)):
            if transition.guard(s, *values) is not True:
                continue
            after = frame.applied(before, transition.updates(s, *values))
            if frame.differs(after, target, compared()) is None:
                return after
    return None


def compared():
    return [name for name in SPEC if name not in HISTORY]


def test_every_edge_of_the_model_is_a_step_of_the_theory_and_damaged_ones_are_not():
    machine = system()
    frame = frame_of(machine)
    random = Random(1)
    start = next(iter(machine.initial()))
    known = {start: {**tables_of(machine, start), "place": {}}}
    states, edges, damaged, holding = [start], 0, 0, 0
    for state in states:
        before = known[state]
        if random.random() < 0.1:
            s = frame.world(before)
            assert [c.name for c in WHOLE.invariant if c.formula(s) is not True] == []
            holding += 1
        for move in machine.moves(state):
            if move.target in known and random.random() > 0.1:
                continue
            target = tables_of(machine, move.target)
            after = admitted(frame, move, before, target)
            assert after is not None, (move.action, move.args, state)
            edges += 1
            if move.target not in known:
                known[move.target] = {**target, **{name: after.get(name, {}) for name in HISTORY}}
                states.append(move.target)
            wrong = tables_of(machine, random.choice(states))
            if frame.differs(wrong, target, compared()) is not None and random.random() < 0.1:
                assert admitted(frame, move, before, wrong) is None
                damaged += 1
    assert len(known) == len(states) == 3258  # those of the model
    assert edges > 1000
    assert damaged > 50
    assert holding > 50
