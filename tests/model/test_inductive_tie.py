"""The proof's transitions are the model's: they admit its edges and nothing else of a sample."""

from collections import Counter
from random import Random

import pytest

from raincheck.model.machine.explore import explore
from raincheck.model.sequencer.handlers import Rules
from raincheck.model.sequencer.proof.model import SPEC_NAMES, Tie
from raincheck.model.sequencer.state import Constants
from raincheck.model.sequencer.system import SequencerSystem

BOUNDED = {"Send", "Leave", "Crash", "Restart", "Demote", "Forge"}
"""Actions that the instance allows less often than the spec."""

LOOSE = {"forwards", "early", "coordinator"}
"""What the theory leaves more open than the spec does; sequencer.py says how."""


def instance(**values) -> Constants:
    usual = {
        "nodes": ("a", "b", "c"),
        "founders": frozenset("ab"),
        "senders": frozenset("b"),
        "max_said": 1,
        "crashers": frozenset("a"),
        "max_crashes": 1,
        "leavers": frozenset(),
        "returners": frozenset(),
        "last_demotion": 0,
        "fifo_forward": True,
        "virtual_synchrony": True,
        "rules": Rules(),
    }
    return Constants(**{**usual, **values})


INSTANCES = {
    "join": instance(max_said=2),
    "crash": instance(founders=frozenset("abc"), senders=frozenset("bc")),
    "return": instance(
        nodes=("a", "b"),
        senders=frozenset("ab"),
        returners=frozenset("a"),
        leavers=frozenset("b"),
        last_demotion=2,
    ),
    "weak views": instance(
        nodes=("a", "b"), senders=frozenset("ab"), last_demotion=2, virtual_synchrony=False
    ),
    "seed's rules": instance(
        rules=Rules(
            view_tag=False,
            hold_sends=False,
            resend_always=False,
            own_table=False,
            exact_next=False,
            join_policy="any",
            drain_on_leave=False,
            from_members=False,
        )
    ),
    "stranger": instance(strangers=frozenset("c"), max_forged=1),
    "safe": instance(founders=frozenset("abc"), rules=Rules(delivery="safe")),
    "safe join": instance(max_said=2, rules=Rules(delivery="safe")),
}
STATES = 400


@pytest.fixture(scope="module", params=INSTANCES)
def tie(request):
    constants = INSTANCES[request.param]
    found = Tie(constants, explore(SequencerSystem(constants), limit=STATES, invariants={}))
    return found, {number: tables for _, _, number, tables in found.histories()}


@pytest.mark.slow
def test_every_edge_of_the_model_is_admitted(tie):
    tied, tables = tie
    edges = list(tied.graph.edges())

    refused = [
        (source, label, target)
        for source, label, target in edges
        if tied.admitted(label, tables[source], tables[target]) is None
    ]

    assert len(edges) > 200
    assert refused == []


@pytest.mark.slow
def test_every_state_satisfies_the_invariant_and_the_properties(tie):
    tied, tables = tie
    if not tied.constants.virtual_synchrony or not tied.constants.rules.exact_next:
        pytest.skip("the proof is not about this instance")
    subject = tied.frame.theory

    false = Counter()
    for number in list(tables)[::3]:
        s = tied.frame.world(tables[number])
        false.update(c.name for c in subject.invariant if c.formula(s) is not True)
        if number % 10 == 0:
            false.update(g.name for g in subject.properties if g.formula(s) is not True)

    assert not false


@pytest.mark.slow
def test_no_sampled_non_edge_is_admitted(tie):
    tied, tables = tie
    random = Random(1)
    edges = list(tied.graph.edges())
    targets = {}
    for source, label, target in edges:
        targets.setdefault((source, label), []).append(target)
    sampled = Counter()

    for source, label, target in random.sample(edges, 200):
        damaged = damage(tied, tables[target], random)
        if any(same(damaged, tables[t]) for t in targets[source, label]):
            continue  # another edge of the same name
        sampled["damaged target"] += 1
        assert tied.admitted(label, tables[source], damaged) is None, (source, label)

        other = random.choice(tied.graph.labels)
        if target not in targets.get((source, other), ()) and source != target:
            sampled["wrong name"] += 1
            assert tied.admitted(other, tables[source], tables[target]) is None, (source, other)

        loose = other.action in BOUNDED or may_overtake(tied, source, other)
        if (source, other) not in targets and not loose:
            sampled["disabled action"] += 1
            assert not tied.enabled(other, tables[source]), (source, other)

    assert sampled["damaged target"] > 100
    assert sampled["wrong name"] > 100
    assert sampled["disabled action"] > 30


def damage(tied, tables, random):
    """The state with one value of one variable changed."""
    while True:
        name = random.choice([n for n in SPEC_NAMES if n not in LOOSE and tables[n]])
        values = random.choice(sorted(tables[name], key=str))
        if not tied.frame.matters(name, values, tied.frame.world(tables)):
            continue
        _, result = tied.frame.theory.symbols[name]
        table = dict(tables[name])
        value = table.pop(values)
        if result == "process":
            others = [p for p in tied.frame.domain["process"] if p != value]
            table[values] = random.choice(others)
        elif result == "number":
            table[values] = value + 1
        damaged = {**tables, name: table}
        if tied.frame.matters(name, values, tied.frame.world(damaged)):
            return damaged


def may_overtake(tied, source, label):
    """A FORWARD that the model keeps behind a blocked one: the theory has no order there."""
    if label.action != "ReceiveForward":
        return False
    to, sender = (tied.constants.nodes.index(name) for name in label.args)
    return len(tied.graph.states[source].forwards[sender][to]) > 1


def same(one, other):
    return all(one[name] == other[name] for name in SPEC_NAMES)
