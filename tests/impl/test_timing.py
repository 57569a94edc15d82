"""Nothing waits for a timer that need not, and nothing is sent again while its answer may come."""

from itertools import pairwise

import pytest

from raincheck.impl.simulation.group import Simulator
from raincheck.impl.simulation.parts import Link
from raincheck.impl.stack.timers import Backoff


def test_three_senders_wait_for_nothing_but_the_network():
    waits: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    sent: dict[tuple[str, int], float] = {}

    def arrived(node, batch):
        times = [sent[batch.sender.node, batch.first + k] for k in range(batch.count)]
        waits[node.name] += [group.now - then for then in times]

    group = Simulator(1, link=Link(delay=(0.0001, 0.0001)), on_batch=arrived)
    group.start("a", "b", "c", founders=True)
    for number in range(1, 501):
        for name in ("a", "b", "c"):
            sent[name, number] = group.now
            group.send(name, [b"x" * 100])
            group.run(0.001 / 3)

    assert all(len(times) >= 1498 for times in waits.values())
    assert max(waits["a"]) < 0.00011  # to the coordinator
    assert max(waits["b"] + waits["c"]) < 0.00021  # and back


@pytest.mark.parametrize("names", ["abc", "abcdefghij"])
@pytest.mark.parametrize("what", ["join", "leave", "coordinator leaves"])
def test_a_view_change_under_load_costs_a_few_trips_and_waits_for_no_timer(
    names: str, what: str
) -> None:
    trip = 0.0001
    times: dict[str, list[float]] = {name: [] for name in (*names, "z")}
    group = Simulator(
        1,
        link=Link(delay=(trip, trip)),
        on_batch=lambda node, _: times[node.name].append(group.now),
    )
    group.start(*names, founders=True)

    def say(name: str) -> None:
        if group[name].stack.status == "member":
            group.send(name, [b"x" * 100])

    for step in range(300):
        for rank, name in enumerate(names):
            group.at(0.2 + step * 0.001 + rank * 0.0001, lambda n=name: say(n))  # type: ignore[misc]
    if what == "join":
        group.at(0.35, lambda: group.start("z"))
    else:
        group.at(0.35, lambda: group.leave(names[0] if "coordinator" in what else names[1]))
    group.run(0.49)

    for name in names[2:]:
        assert [view.id.counter for view in group[name].views] == [1, 2]
        pauses = [b - a for a, b in pairwise(times[name]) if a > 0.25]
        assert 0.0002 < max(pauses) < 10 * trip + 0.001


def test_the_first_pause_follows_the_round_trips_within_bounds():
    timer = Backoff(0.05, 0.5)
    timer.start(0.0)
    assert timer.due == 0.05

    for _ in range(50):
        timer.measured(0.2)
    timer.start(0.0)
    assert 0.2 < timer.due < 0.21

    for trip in (0.01, 0.4) * 20:
        timer.measured(trip)
    timer.start(0.0)
    assert timer.due == 0.5

    for _ in range(50):
        timer.measured(0.001)
    timer.start(0.0)
    assert timer.due == 0.05


def test_a_slow_network_is_not_filled_with_what_is_on_its_way():
    group = Simulator(1, link=Link(delay=(0.04, 0.04)))
    group.start("a", "b", founders=True)
    for _ in range(100):
        group.send("b", [b"x"])
        group.run(0.02)

    again = group["b"].stack.counters["unicast_retransmitted"]
    assert again <= 3, "only before the first round trip was measured"
    assert group["a"].messages > 90


def test_who_had_no_share_of_the_machine_reads_before_it_sends_again():
    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.run(0.05)
    stack = group["b"].stack
    stack.send(b"x")
    stack.flush(group.now)
    assert len(stack.poll_datagrams()) == 1

    stack.send(b"y")
    stack.flush(group.now + 0.2)  # the time-out has passed, and the answer may have arrived
    assert stack.counters["unicast_retransmitted"] == 0
    assert len(stack.poll_datagrams()) == 1

    stack.handle_timer(group.now + 0.2)
    assert stack.counters["unicast_retransmitted"] == 1
