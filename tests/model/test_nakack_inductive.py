"""The proof of NAKACK: it succeeds, fails where a repair is missing, and is about the model."""

from dataclasses import replace
from random import Random

import pytest

from raincheck.model.machine.runs import Address
from raincheck.model.nakack.handlers import Rules, Stream, stream_of
from raincheck.model.nakack.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.nakack.proof.words import CRASHED, JOINING, MEMBER, SPEC
from raincheck.model.nakack.state import Constants
from raincheck.model.nakack.system import NakackSystem
from raincheck.model.proof.bounded import Search, breaks
from raincheck.model.proof.concrete import Frame
from raincheck.model.proof.induction import attempt, obligations

WHOLE = theory()
PROPERTIES = {
    *("Contiguous", "OnlyMembers", "SendingView", "NoCreation", "Agreement", "Recoverable"),
    "AcksAreTrue",
}


def unproved(subject, seed=1, transition=None):
    """The open obligations one by one: each costs a solver's time."""
    for each in obligations(subject):
        wanted = transition in (None, each.transition)
        if wanted and not attempt(each, seed, 20_000).proved:
            yield each


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed):
    assert list(unproved(WHOLE, seed)) == []


def test_every_promise_and_every_action_is_spoken_of():
    found = obligations(WHOLE)

    assert {o.claim for o in found if o.kind == "implied"} == PROPERTIES
    assert {t.action for t in WHOLE.transitions} == {
        *("Multicast", "ReceiveData", "ReceiveAlive", "HeardOf", "Deliver", "Acknowledge"),
        *("Purge", "Freeze", "Fetch", "InstallView", "Join", "Crash", "ViewChange"),
    }


def test_every_transition_can_happen_where_the_invariant_holds():
    search = Search(WHOLE)

    assert [t.name for t in WHOLE.transitions if not search.enabled(t)] == []


@pytest.mark.parametrize(
    ("undone", "transition", "claim"),
    [
        ("VirtualSynchrony", "InstallView", "HeardOut"),
        ("ViewTag", "Deliver", "PassedUp"),
        ("MembersOnly", "ReceiveData: of a non-member", "Reads"),
        ("DigestMeans", "Join", "Reads"),
        ("Freezing", "Freeze", "FrozenEnds"),
        ("CutBy", "ViewChange", "FrozenAtTheCut"),
        ("SafePurge", "Purge", "PurgedIsStable"),
    ],
)
def test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown(
    undone, transition, claim
):
    subject = theory(basis_without([undone]))
    assert claim in (each.claim for each in unproved(subject, transition=transition))

    [step] = [each for each in subject.transitions if each.name == transition]
    [conjunct] = [each for each in subject.invariant if each.name == claim]
    failure = Search(subject).failure(conjunct, step)

    assert failure is not None
    assert breaks(failure, subject.invariant, failure.before) == failure.after


def test_who_hears_everybody_need_not_keep_what_it_has_not_delivered():
    assert "KeepUndelivered" in WITHOUT
    assert list(unproved(theory(basis_without(["KeepUndelivered"])))) == []


@pytest.mark.parametrize(
    "dropped",
    ["Cut", "CutsRise", "BehindTheCut", "NoSecondStream", "FrozenIsWhole", "ToldIsTrue"],
)
def test_without_a_conjunct_the_others_are_not_inductive(dropped):
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)
    assert len(left) == len(WHOLE.invariant) - 1

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


# ---------------------------------------------------------------------- the theory and the model

HISTORY = ("data", "acks", "sent", "sent_in", "begin")
COMPARED = [name for name in SPEC if name not in HISTORY]
BY = {
    "ReceiveData": ("ReceiveData", "HeardOf"),
    "ReceiveAlive": ("ReceiveAlive", "HeardOf"),
}
"""Under which names the theory has what an action does to the stream."""
SILENT = {"Announce", "Ask", "ReceiveNak", "Lose"}


def system(**changes):
    usual = {
        "nodes": ("a", "b", "c"),
        "founders": frozenset("ab"),
        "senders": frozenset("a"),
        "max_sent": 1,
        "crashers": frozenset("a"),
        "max_crashes": 1,
        "max_views": 2,
        "announcers": frozenset("abc"),
        "purging": True,
        "max_lost": 0,
        "may_duplicate": True,
        "safe_purge": "delivered",
        "virtual_synchrony": True,
        "prompt": False,
        "cut_by": "arrived",
        "rules": Rules(window=2, retain=3, announcing=False),
    }
    return NakackSystem(Constants(**{**usual, **changes}))


def tables_of(machine, state, source):
    """The spec's variables of a state, as the theory has them for that member's stream."""
    values = {name: {} for name in SPEC}
    words = {"joining": JOINING, "member": MEMBER, "crashed": CRASHED}
    who = Address(machine.nodes[source], 0)

    def put_in(name, value, *at):
        if value not in (0, False):
            values[name][at] = value

    for p, me in enumerate(state.locals):
        put_in("status", words[me.status], p)
        put_in("view", me.view, p)
        stream = stream_of(me.stream, who)
        put_in("reads", stream is not None, p)
        stream = stream or Stream()
        put_in("delivered", stream.delivered, p)
        put_in("heard", stream.heard, p)
        put_in("frozen", stream.frozen, p)
        for k, view in stream.held:
            put_in("held", True, p, k)
            put_in("tag", view, p, k)
        log = state.log[p][source]
        put_in("passed", len(log), p)
        for i, (seqno, tag, within) in enumerate(log, 1):
            put_in("passed_seqno", seqno, p, i)
            put_in("passed_tag", tag, p, i)
            put_in("passed_in", within, p, i)
    for member, at in state.locals[source].acked:
        put_in("acked", at, machine.index[member.node])
    put_in("decided", len(state.views))
    for v, view in enumerate(state.views, 1):
        put_in("cut", dict(view.cut).get(who, 0), v)
        for member in view.members:
            put_in("in_view", True, v, machine.index[member.node])
    return values


def matters(name, at, s):
    if name in ("delivered", "heard", "frozen", "held"):
        return bool(s.reads(at[0]))
    if name == "tag":
        return bool(s.reads(at[0]) and s.held(*at))
    if name.startswith("passed_"):
        return 1 <= at[1] <= s.passed(at[0])
    if name == "acked":
        return s.status(s.source()) == MEMBER and s.in_view(s.view(s.source()), at[0])
    if name == "view":
        return s.status(at[0]) == MEMBER
    if name in ("cut", "in_view"):
        return 1 <= at[0] <= s.decided()
    return True


def frame_of(machine, source):
    kinds = dict.fromkeys(("number", "seqno", "index", "view"), (0, 1, 2, 3))
    founders = {i for i, name in enumerate(machine.nodes) if name in machine.constants.founders}
    return Frame(
        WHOLE,
        {**kinds, "process": list(range(len(machine.nodes))), "bool": (False, True)},
        {"source": lambda: source, "founder": founders.__contains__},
        matters,
    )


def admitted(frame, move, before, target):
    """The tables after, by a transition that leads there; None: the theory has no such step."""
    s = frame.world(before)
    for transition in WHOLE.transitions:
        if transition.action not in BY.get(move.action, (move.action,)):
            continue
        # What the source counts is the sender's; all else is of who takes the step.
        who = move.event.sender.node if transition.case == "at the source" else move.node
        known = {} if who is None else {"p": ["abc".index(who)]}
        for values in frame.choices(transition, known):
            if transition.guard(s, *values) is not True:
                continue
            after = frame.applied(before, transition.updates(s, *values))
            if frame.differs(after, target, COMPARED) is None:
                return after
    return None


STATES = {0: 3748, 2: 3981}
"""Return the number of states that the model has with that source."""


@pytest.mark.parametrize("source", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_every_edge_of_the_model_is_a_step_of_the_theory_and_damaged_ones_are_not(source):
    machine = system(senders=frozenset("abc"[source]))
    frame = frame_of(machine, source)
    random = Random(1)
    start = next(iter(machine.initial()))
    known = {start: tables_of(machine, start, source)}
    states, steps, damaged, holding = [start], 0, 0, 0
    for state in states:
        before = known[state]
        if random.random() < 0.1:
            s = frame.world(before)
            assert [c.name for c in WHOLE.invariant if c.formula(s) is not True] == []
            holding += 1
        for move in machine.moves(state):
            if move.target in known and random.random() > 0.1:
                continue
            target = tables_of(machine, move.target, source)
            same = frame.differs(before, target, COMPARED) is None
            after = before if same and move.action in SILENT else None
            after = after or admitted(frame, move, before, target) or (before if same else None)
            assert after is not None, (move.action, move.args, state)
            steps += not same
            if move.target not in known:
                history = {name: after.get(name, {}) for name in HISTORY}
                known[move.target] = {**target, **history}
                states.append(move.target)
            wrong = tables_of(machine, random.choice(states), source)
            elsewhere = all(frame.differs(wrong, each, COMPARED) for each in (before, target))
            if elsewhere and random.random() < 0.05:
                damaged += admitted(frame, move, before, wrong) is None
    assert len(known) == len(states) == STATES[source]
    assert steps > 400
    assert damaged > 10
    assert holding > 20
