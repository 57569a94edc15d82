"""Whole groups under faults, over many seeds: what is promised holds, and life goes on after.

Each seed draws a network (loss up to 20 %, duplication, delays that reorder), bundle and window
sizes, a load of every member, and one kind of trouble in the middle of it.
"""

import random
from itertools import combinations

import pytest

from raincheck.impl.messages import Address, Run
from raincheck.impl.sequencer import Repairs
from raincheck.impl.simulator import Link, Simulator
from raincheck.impl.stack_config import StackConfig

TROUBLES = [
    "none",
    "coordinator crashes",
    "two crash",
    "crash and return",
    "leave",
    "join",
    "pause",
]


class Promise(AssertionError):
    """A promise was broken; the text says which."""


def messages(delivered):
    """Deliveries message by message."""
    return [(run.sender, run.first + i) for run, _ in delivered for i in range(run.size)]


def check_each(lives):
    """Integrity and FIFO without gaps, for each life."""
    for address, delivered in lives.items():
        heard = messages(delivered)
        if len(set(heard)) != len(heard):
            raise Promise(f"integrity: {address} delivered a message twice")
        last = {}
        for sender, seqno in heard:
            if sender in last and seqno != last[sender] + 1:
                raise Promise(f"fifo: {address} delivered {sender}'s {seqno} after {last[sender]}")
            last[sender] = seqno


def check_order(lives):
    """Total order, for each pair of lives."""
    heard = {address: messages(delivered) for address, delivered in lives.items()}
    for one, other in combinations(sorted(heard), 2):
        places = {message: i for i, message in enumerate(heard[other])}
        order = [places[message] for message in heard[one] if message in places]
        if order != sorted(order):
            raise Promise(f"total order: {one} and {other} differ")


def check_agreement(lives, views):
    """Members that went on together from a view delivered the same in it."""
    for one, other in combinations(sorted(lives), 2):
        common = set(views[one]) & set(views[other])
        for view in sorted(common):
            if view + 1 not in common:
                continue
            sets = [{r for r in lives[who] if r[1] == view} for who in (one, other)]
            if set(messages(sets[0])) != set(messages(sets[1])):
                raise Promise(f"agreement: {one} and {other} differ in view {view}")


class Story:
    """One seed's group, load and trouble."""

    def __init__(self, seed, trouble):
        self.lots = lots = random.Random(seed)
        self.trouble = trouble
        link = Link(
            loss=lots.choice([0, 0.05, 0.2]),
            duplicate=lots.choice([0, 0.05]),
            delay=(0.0002, lots.choice([0.0005, 0.005, 0.02])),
        )
        config = StackConfig(
            max_bundle=lots.choice([2048, 60_000]),
            unicast_window=lots.choice([8, 64]),
            multicast_window=lots.choice([8, 64]),
        )
        self.group = Simulator(seed, link=link, config=config)
        self.names = "abcde"[: lots.choice([3, 4, 5])]
        self.quiet = set()

    def tell(self):
        group, names, lots = self.group, self.names, self.lots
        group.start(*names, founders=lots.random() < 0.5)
        group.run_until(lambda: group.in_one_view(*names), 30)
        start = group.now
        for step in range(40):
            for name in names:
                group.at(start + (step + lots.random()) * 0.02, lambda n=name: self.say(n))
        group.at(start + 0.2 + lots.random() * 0.5, self.happen)
        group.run(5.0)
        group.run_until(lambda: group.in_one_view(*[node.name for node in group.up]), 60)
        group.run_until(lambda: all(not n.stack.pending and not n.backlog for n in group.up), 60)
        group.run(1.0)

    def say(self, name):
        node = self.group[name]
        if node.up and node.stack.status == "member" and name not in self.quiet:
            self.group.send(name, [b"%s" % name.encode()] * self.lots.choice([1, 1, 3, 20, 200]))

    def coordinator(self):
        return self.group.up[-1].stack.view.coordinator.node

    def crash(self, name):
        if self.group[name].up:
            self.group.crash(name)

    def happen(self):
        group, soon = self.group, self.lots.random()
        match self.trouble:
            case "coordinator crashes":
                self.crash(self.coordinator())
            case "two crash":
                self.crash(self.coordinator())
                if len(self.names) > 3:
                    group.after(soon * 2, lambda: self.crash(self.coordinator()))
            case "crash and return":
                name = self.coordinator()
                self.crash(name)
                group.after(soon * 1.5, lambda: group.restart(name))
            case "leave":
                name = self.lots.choice([self.coordinator(), self.names[-1]])
                self.quiet.add(name)
                group[name].backlog.clear()
                group.leave(name)
            case "join":
                group.start("z")
            case "pause":
                name = self.names[-1]
                group.partition(set(self.names) - {name}, {name})
                group.after(0.5, group.heal)  # too short to be suspected

    def check(self):
        group = self.group
        up = {node.address: node.delivered for node in group.up}
        views = {node.address: [v.id.counter for v in node.views] for node in group.up}
        everybody = dict(up)
        for node in group.nodes.values():
            everybody |= {address: delivered for address, delivered, _ in node.history}
            everybody[node.address] = node.delivered
        check_each(everybody)
        check_order(up)
        check_agreement(up, views)
        assert len({tuple(sorted(n.stack.sequencer.received_table.items())) for n in group.up}) == 1
        assert [node.stack.buffered() for node in group.up] == [0] * len(group.up)
        assert all(node.left == "" for node in group.nodes.values() if node.left is not None)
        assert self.quiet == {node.name for node in group.nodes.values() if node.left == ""}
        assert sum(node.messages for node in group.up) > 0


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("seed", range(4))
def test_promises_hold_and_everything_is_delivered_when_the_trouble_is_over(seed, trouble):
    story = Story(seed * 31 + TROUBLES.index(trouble), trouble)

    story.tell()

    story.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 220))
def test_promises_hold_over_many_more_seeds(seed):
    story = Story(seed, TROUBLES[seed % len(TROUBLES)])

    story.tell()

    story.check()


def test_nothing_is_lost_where_nobody_crashes():
    group = Simulator(3, link=Link(loss=0.2, duplicate=0.1, delay=(0.0005, 0.01)))
    group.start("a", "b", "c", founders=True)

    for _ in range(20):
        for name in "abc":
            group.send(name, [b"x"] * 50)
        group.run(0.01)
    group.run_until(lambda: all(node.messages == 3000 for node in group.up))

    assert group["a"].delivered == group["b"].delivered == group["c"].delivered
    assert next(r.first for r, _ in group["a"].delivered if r.sender.node == "b") == 1


@pytest.mark.parametrize("messages_each", [50_000])
def test_memory_stays_flat_over_many_messages(messages_each):
    got = dict.fromkeys("abc", 0)

    def count(node, batch):
        got[node.name] += batch.count
        highest[0] = max(highest[0], node.stack.buffered())

    highest = [0]
    group = Simulator(5, record=False, link=Link(loss=0.01), on_batch=count)
    group.start("a", "b", "c", founders=True)
    for name in "abc":
        group.send(name, [b"x" * 20] * messages_each)
    group.run_until(lambda: set(got.values()) == {3 * messages_each}, 600)
    group.run(1.0)

    config = StackConfig()
    assert highest[0] <= 3 * config.multicast_window + 6 * config.unicast_window
    for node in group.up:
        sequencer = node.stack.sequencer
        assert node.stack.buffered() == 0
        assert (len(sequencer.forward_table), sequencer.pending_bytes) == (0, 0)
        assert len(sequencer.received_table) == 3


@pytest.mark.slow
def test_memory_stays_flat_over_a_million_messages():
    test_memory_stays_flat_over_many_messages(350_000)


# ------------------------------------------------------------------ the checks are checked


def test_the_checks_find_planted_faults():
    a, b, p, q = (Address(name, 0) for name in "abpq")
    run = [(Run(a, 1, 1), 1), (Run(b, 1, 1), 1)]

    check_each({p: run})
    with pytest.raises(Promise, match="integrity"):
        check_each({p: [*run, run[0]]})
    with pytest.raises(Promise, match="fifo"):
        check_each({p: [*run, (Run(a, 3, 1), 1)]})
    with pytest.raises(Promise, match="total order"):
        check_order({p: run, q: run[::-1]})
    with pytest.raises(Promise, match="agreement"):
        check_agreement({p: run, q: run[:1]}, {p: [1, 2], q: [1, 2]})


def first_to_break(repairs, trouble, seeds):
    """Tell stories with a repair undone until something breaks."""
    for seed in seeds:
        story = Story(seed, trouble)
        story.group.repairs = repairs
        try:
            story.tell()
            story.check()
        except (AssertionError, TimeoutError) as problem:
            return problem
    return None


@pytest.mark.parametrize(
    ("undone", "trouble"),
    [
        (Repairs(resend_always=False), "crash and return"),
        (Repairs(join_policy="one"), "join"),
        (Repairs(join_policy="any"), "crash and return"),
    ],
)
def test_an_undone_repair_is_noticed(undone, trouble):
    assert first_to_break(undone, trouble, range(12)) is not None
