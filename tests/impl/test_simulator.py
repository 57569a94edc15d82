"""The simulated network does what it is told, and the same again for the same seed."""

import pytest

from raincheck.impl.messages import Address
from raincheck.impl.simulation.group import Link, Simulator


def busy(seed, **how):
    group = Simulator(seed, **how)
    group.start("a", "b", "c")
    for step in range(30):
        for name in "abc":
            group.at(1.0 + step * 0.01, lambda n=name: group.send(n, [b"x"] * 3))
    group.at(1.1, lambda: group.crash("a"))
    group.run(4.0)
    return group


def outcome(group):
    return [(n.delivered, n.views, n.stack.counters) for n in group.nodes.values()], group.datagrams


def test_the_same_seed_gives_the_same_run_and_another_gives_another():
    link = Link(loss=0.2, duplicate=0.1, delay=(0.001, 0.02))

    assert outcome(busy(1, link=link)) == outcome(busy(1, link=link))
    assert outcome(busy(1, link=link)) != outcome(busy(2, link=link))


def test_losses_duplicates_and_reordering_really_happen():
    quiet = busy(1, link=Link(delay=(0.001, 0.001)))
    rough = busy(1, link=Link(loss=0.2, duplicate=0.1, delay=(0.001, 0.02)))

    def counted(group, *reasons):
        return sum(n.stack.counters[r] for n in group.nodes.values() for r in reasons)

    assert counted(quiet, "multicast_duplicate", "naks") < 10
    assert counted(rough, "multicast_duplicate") > 20
    assert counted(rough, "naks") > 20


def test_a_partition_lets_nothing_pass_until_it_heals():
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.partition("a", "b")

    group.send("b", [b"x"])
    group.run(0.5)
    assert group["b"].messages == 0
    group.heal()
    group.run(0.6)

    assert group["a"].messages == group["b"].messages == 1


def test_a_crashed_node_does_nothing_more():
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.crash("b")

    group.send("a", [b"x"])
    group.run(5.0)

    assert (group["b"].messages, len(group["b"].views)) == (0, 1)
    assert [node.name for node in group.up] == ["a"]


def test_by_hand_every_datagram_waits_for_its_turn_and_may_be_lost():
    group = Simulator(1, manual=True)
    group.start("a", "b", founders=True)
    for flight in list(group.in_flight):
        group.deliver(flight)

    group.send("b", [b"x"])
    [forward] = group.in_flight
    group.drop(forward)
    group.advance(0.06)
    again = next(flight for flight in group.in_flight if flight.data == forward.data)
    group.deliver(again)
    assert group["a"].messages == 1
    assert group["b"].messages == 0
    for flight in list(group.in_flight):
        group.deliver(flight)

    assert group["b"].messages == 1


def test_who_waits_in_vain_learns_for_whom():
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.links = {("b", "a"): Link(loss=1.0)}
    group.send("b", [b"x"])

    with pytest.raises(TimeoutError, match=r"0\.5 s.*'b': \{'a\.0': \"to sequence"):
        group.run_until(lambda: group["b"].messages == 1, timeout=0.5)


def test_a_restart_begins_a_new_life_and_keeps_the_record_of_the_old_one():
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.send("b", [b"x"])
    group.run(0.1)
    group.crash("b")

    group.restart("b")
    group.run_until(lambda: group.in_one_view("a", "b"))

    assert group["b"].address == Address("b", 1)
    [(address, delivered, views)] = group["b"].history
    assert (address, len(delivered), len(views)) == (Address("b", 0), 1, 1)
