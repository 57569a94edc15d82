"""Nothing waits for a timer that need not, and nothing is sent again while its answer may come."""

from raincheck.impl.protocol import Backoff
from raincheck.impl.simulated import Link
from raincheck.impl.simulator import Simulator


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
