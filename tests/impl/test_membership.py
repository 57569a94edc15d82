"""MEMBERSHIP and joining, in scenarios on the simulated network."""

from typing import Any

import pytest

from raincheck.impl.errors import NotMember
from raincheck.impl.flush.events import Suspect
from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.flush_layer import FlushLayer
from raincheck.impl.stack.passing import Mail
from raincheck.impl.stack.reports import Left
from raincheck.impl.stack.stack import Stack
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Fid, JoinReq, StartFlush


def members(node):
    return " ".join(map(str, node.stack.view.members))


def group_of(*names, **how):
    group = Simulator(how.pop("seed", 1), **how)
    group.start(*names, founders=True)
    return group


def settle(group, *names):
    group.run_until(lambda: group.in_one_view(*names), 30)


# ------------------------------------------------------------------ joining


@pytest.mark.parametrize("seed", range(10))
def test_processes_that_start_together_end_up_in_one_group(seed):
    group = Simulator(seed, link=Link(loss=0.2, delay=(0.001, 0.05)))

    group.start("d", "b", "c", "a")

    settle(group, "a", "b", "c", "d")
    assert {node.stack.view.id for node in group.up} == {group["a"].stack.view.id}


def test_joiners_come_last_and_ask_whomever_they_know():
    group = group_of("a", "b")
    group.links = {("c", "a"): Link(loss=1.0), ("a", "c"): Link()}
    group.start("c")
    group.run(1.0)
    assert group["c"].stack.status == "joining"  # b hints at a, whom c does not reach

    group.links = {}
    settle(group, "a", "b", "c")

    assert members(group["a"]) == "a.0 b.0 c.0"
    assert group["a"].stack.view.joiners == (Address("c", 0),)


def test_those_who_ask_at_the_same_time_are_admitted_together():
    group = group_of("a", "b", link=Link(delay=(0.01, 0.01)))

    group.start("c", "d", "e")
    settle(group, "a", "b", "c", "d", "e")

    assert len(group["a"].views) <= 3


def test_a_joiner_hears_only_what_was_sequenced_after_it_joined():
    group = group_of("a", "b")
    group.send("b", [b"before"] * 5)
    group.run(0.1)
    group.start("c")
    settle(group, "a", "b", "c")

    group.send("b", [b"after"] * 3)
    group.run(0.1)

    assert [(run.first, run.size) for run, _ in group["c"].delivered] == [(6, 3)]


def test_one_name_twice_is_refused_with_the_reason():
    codec, first, second = Codec("raincheck", 60_000), ("10.0.0.2", 1), ("10.0.0.3", 1)
    a = Stack(Address("a", 0), StackConfig())
    a.start(0.0)
    cookie = 0
    for _ in range(2):  # the first answer says with what to ask
        asking = JoinReq(Address("b", 0), StackConfig().fingerprint, False, cookie, 0)
        a.receive([(codec.encode(asking), first)], 0.0)
        cookie = codec.decode(a.poll_datagrams()[0].data).header.cookie
    b = Stack(Address("b", 0), StackConfig(initial_hosts=(("10.0.0.1", 1),)))
    b.start(0.0)
    for now in (0.0, 0.2):  # with the cookie of the first answer it asks again
        b.handle_timer(now)
        [request] = b.poll_datagrams()
        a.poll_datagrams()
        a.receive([(request.data, second)], now)
        answer, *_ = [out for out in a.poll_datagrams() if out.to == (second,)]
        b.receive([(answer.data, ("10.0.0.1", 1))], now)

    [left] = b.poll_reports()
    assert left == Left("not admitted: b.0 is a member already, at 10.0.0.2:1; choose another name")


# ------------------------------------------------------------------ leaving and crashing


@pytest.mark.parametrize("leaver", ["a", "b"])
def test_who_leaves_has_delivered_all_and_the_others_need_not_suspect_it(leaver):
    group = group_of("a", "b", "c", link=Link(loss=0.1))
    group.send(leaver, [b"x"] * 100)

    group.leave(leaver)
    group.run_until(lambda: group[leaver].left == "")
    settle(group, *sorted({"a", "b", "c"} - {leaver}))

    assert group[leaver].messages == 100
    assert all(node.messages == 100 for node in group.up)
    assert all(node.suspected == [] for node in group.up)
    assert group.now < 1.0


def test_a_coordinator_leaves_under_load_and_nothing_is_lost():
    group = group_of("a", "b", "c")
    for step in range(50):
        for name in "bc":
            group.at(step * 0.01, lambda n=name: group.send(n, [b"x"] * 10))
    group.at(0.2, lambda: group.leave("a"))

    group.run_until(lambda: all(node.messages == 1000 for node in group.up))

    assert group["a"].left == ""
    assert group["b"].delivered == group["c"].delivered


@pytest.mark.parametrize("seed", range(8))
def test_everybody_may_leave_at_once(seed):
    group = group_of("a", "b", "c", seed=seed, link=Link(loss=0.1))
    for name in "abc":
        group.send(name, [b"x"] * 30)
        group.leave(name)

    group.run_until(lambda: not group.up)

    assert {node.left for node in group.nodes.values()} == {""}


def test_a_silent_member_is_suspected_and_taken_out():
    group = group_of("a", "b", "c", config=StackConfig(heartbeat=0.1, suspect_after=0.8))

    group.crash("c")
    group.run(0.7)
    assert members(group["a"]) == "a.0 b.0 c.0"
    assert group["a"].stack.missing(group.now)[Address("c", 0)].startswith("silent for 0.")
    settle(group, "a", "b")

    assert group.now < 1.2
    assert group["a"].suspected == [Address("c", 0)]


def test_the_first_survivor_takes_over_from_coordinators_that_crash():
    group = group_of("a", "b", "c", "d")

    group.crash("a")
    group.crash("b")
    settle(group, "c", "d")

    assert group["d"].stack.view.coordinator == Address("c", 0)
    assert [view.id.counter for view in group["d"].views] == [1, 2]


def test_what_the_old_coordinator_gave_to_one_survivor_reaches_all():
    group = group_of("a", "b", "c")
    group.links = {("a", "b"): Link(loss=1.0)}  # b, who takes over, hears nothing more of a

    group.send("c", [b"x"] * 10)
    group.run(0.05)
    assert (group["b"].messages, group["c"].messages) == (0, 10)
    group.crash("a")
    settle(group, "b", "c")

    assert group["b"].delivered == group["c"].delivered
    assert {view for _, view in group["b"].delivered} == {1}


def test_the_one_who_takes_over_may_crash_too():
    group = group_of("a", "b", "c", "d", "e", link=Link(loss=0.1))
    group.send("e", [b"x"] * 10)
    group.crash("a")
    group.run_until(lambda: Address("a", 0) in group["b"].suspected)

    group.crash("b")
    settle(group, "c", "d", "e")
    group.run_until(lambda: all(node.messages == 10 for node in group.up))

    assert group["c"].delivered == group["d"].delivered == group["e"].delivered


def test_a_process_that_comes_back_is_somebody_else_and_need_not_wait_for_suspicion():
    group = group_of("a", "b", "c")
    group.send("c", [b"first life"] * 3)
    group.run(0.1)

    group.crash("c")
    group.restart("c")
    settle(group, "a", "b", "c")
    assert group.now < 0.9
    group.send("c", [b"second life"])
    group.run(0.1)

    assert members(group["a"]) == "a.0 b.0 c.1"
    tags = [(run.sender, run.first, run.size) for run, _ in group["a"].delivered]
    assert tags == [(Address("c", 0), 1, 3), (Address("c", 1), 1, 1)]


def test_a_joiner_whose_answer_died_with_the_coordinator_is_admitted_by_the_next():
    group = group_of("a", "b")
    group.start("c")
    group.run_until(lambda: group["c"].stack._group.joining._cookies)
    group.links = {("a", "c"): Link(loss=1.0)}  # the answer never arrives
    group.run_until(lambda: len(group["b"].stack.view.members) == 3)

    group.crash("a")
    settle(group, "b", "c")

    assert group["c"].stack.status == "member"


# ------------------------------------------------------------------ what is not promised


def test_a_member_that_was_cut_off_learns_that_it_is_out():
    group = group_of("a", "b", "c", "d")

    group.partition("abc", "d")
    group.run(3.0)
    group.heal()
    group.run(2.0)

    assert members(group["a"]) == "a.0 b.0 c.0"
    assert members(group["d"]) == "d.0"  # sides do not merge: it goes on alone


def test_a_coordinator_that_only_seemed_dead_leaves_when_it_hears_of_the_later_view():
    group = group_of("a", "b", "c")
    group.links = {("a", "b"): Link(loss=1.0), ("a", "c"): Link(loss=1.0)}

    group.run_until(lambda: group.in_one_view("b", "c"))
    group.links = {}
    group.run_until(lambda: group["a"].left is not None)

    assert "excluded" in group["a"].left
    assert "view 2" in group["a"].left
    assert group.in_one_view("b", "c")
    with pytest.raises(NotMember, match="excluded from the group"):
        group["a"].stack.send(b"late")


def test_a_process_that_overslept_does_not_suspect_the_others():
    group = group_of("a", "b", "c")
    group.run(1.0)
    group.crash("b")  # which is asleep, not dead: its timers and datagrams wait
    group.run(0.8)

    group["b"].up = True
    group["b"].stack.handle_timer(group.now)
    group.run(1.0)

    assert group["b"].suspected == []
    assert group.in_one_view("a", "b", "c")


@pytest.mark.parametrize("after", [0.01, 0.5, 3.0])
def test_a_process_that_comes_back_with_its_old_incarnation_is_refused_at_once(after):
    group = group_of("a", "b", "c")
    group.send("c", [b"x"] * 5)
    group.run(0.3)
    group.crash("c")
    group.run(after)
    group._add("c", 0)
    group["c"].stack.start(group.now)
    group._settle(group["c"])
    group.run(0.2)

    assert group["c"].left == (
        "not admitted: c.0 has been a member already; each life needs a higher incarnation"
    )
    settle(group, "a", "b")
    group.restart("c")
    settle(group, "a", "b", "c")


def test_the_layers_above_learn_at_once_that_a_member_has_been_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone: list[Any] = []
    up = FlushLayer.up

    def noting(self: FlushLayer, event: Any, now: float) -> None:
        if isinstance(event, Suspect):
            gone.append((self.me.node, str(event.member), now))
        up(self, event, now)

    monkeypatch.setattr(FlushLayer, "up", noting)
    group = group_of("a", "b", "c", "d")
    group.crash("c")
    group.leave("d")
    group.run(0.05)  # the flush for d's leave waits for c
    assert group["a"].stack._group.gms.core.phase == "flushing"
    stack = group["a"].stack
    stack._group.gms.request(Address("c", 1), group["c"].endpoint, False, group.now)
    assert ("a", "c.0", group.now) in gone


def test_a_flush_behind_the_news_of_being_excluded_leaves_its_reason():
    """One datagram may have both; the second is for nobody any more."""
    group = group_of("a", "b", "c")
    a, b, c = group["a"].stack.view.members
    gms = group["c"].stack._group.gms
    gms.out(a, View(ViewId(9, a), (a, b)), group.now)

    gms.up(Mail(a, StartFlush(Fid(9, a, 1), (a, b, c))), group.now)
    group.run(1.0)

    assert group["c"].left == "excluded from the group: a.0 decided view 9 [a.0 b.0]"
    assert gms.counters["not_a_member_any_more"] == 1
