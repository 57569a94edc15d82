"""Safe delivery in the stack: whole groups in virtual time (docs/stack.md, "Safe delivery")."""

from typing import Any

import pytest

from raincheck.conformance.campaigns.promises import Broken, check, check_quiet, logs
from raincheck.conformance.campaigns.stories import TROUBLES, campaign
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, ViewId
from raincheck.impl.simulation.application import Application
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.wire.headers import DataHeader, ReceivedUpTo, SafeUpTo

from .losing import CODEC, TRIP, LosingGroup

SAFE = StackConfig(delivery="safe")
A, B, C = (Address(name, 0) for name in "abc")
FIRST = ViewId(1, A)


class Group(LosingGroup):
    """One with safe delivery."""

    def __init__(self, *names: str, config: StackConfig = SAFE, **how: Any) -> None:
        super().__init__(*names, config=config, **how)

    def delivered(self) -> list[int]:
        """How many messages each has delivered."""
        return [node.messages for node in self.nodes.values()]

    def judge(self) -> None:
        """What is promised, and that nothing waits."""
        check(logs(self), uniform=True)
        check_quiet(self)


# ------------------------------------------------------------------ a message


def test_a_message_is_delivered_after_one_more_round_trip_and_waits_for_no_other() -> None:
    def trips(delivery: str) -> list[int]:
        group = Group("a", "b", "c", config=StackConfig(delivery=delivery))
        start = group.now
        group.send("b", [b"x"] * 3)
        times = []
        for node in group.nodes.values():
            group.run_until(lambda node=node: node.messages == 3)  # type: ignore[misc]
            times.append(round((group.now - start) / TRIP))
        return times

    assert (trips("agreed"), trips("safe")) == ([1, 2, 2], [3, 4, 4])


def test_nobody_delivers_what_one_member_lacks() -> None:
    group = Group("a", "b", "c")
    group.loses = lambda _, to, header: to == "c" and isinstance(header, DataHeader)
    group.send("b", [b"x"])
    group.run(0.5)
    assert group.delivered() == [0, 0, 0]
    assert group["a"].stack.missing(group.now) == {C: "to acknowledge multicasts"}
    assert group["b"].stack.missing(group.now) == {A: "to announce what all have received"}

    group.loses = lambda *_: False
    group.run(1.0)
    assert group.delivered() == [1, 1, 1]
    group.judge()


def test_one_acknowledgement_and_one_announcement_stand_for_all_of_a_turn() -> None:
    group = Group("a", "b", "c")
    group.send("a", [b"x"] * 1000)
    group.run(0.5)
    assert group.delivered() == [1000] * 3
    assert group["a"].stack.counters["safe_announced"] <= 2
    assert group["b"].stack.counters["safe_acknowledged"] == 1


@pytest.mark.parametrize("kind", [ReceivedUpTo, SafeUpTo])
def test_what_is_lost_is_said_again_though_nothing_follows(kind: type) -> None:
    group = Group("a", "b", "c")
    lost: list[object] = []

    def first(_source: str, _to: str, header: object) -> bool:
        if isinstance(header, kind) and len(lost) < 3:
            lost.append(header)
            return True
        return False

    group.loses = first
    group.send("b", [b"x"])
    group.run(2.0)
    assert len(lost) == 3
    assert group.delivered() == [1, 1, 1]
    group.run(10.0)
    assert sum(node.stack.counters["safe_asked"] for node in group.nodes.values()) < 10
    group.judge()


def test_a_member_alone_waits_for_nobody() -> None:
    group = Group("a")
    group.send("a", [b"x"] * 3)
    assert group.delivered() == [3]


def test_large_messages_calls_unicasts_and_unordered_messages_go_on_as_ever() -> None:
    config = StackConfig(delivery="safe", max_bundle=2048)
    group = Group("a", "b", "c", config=config)
    number = group["b"].stack.send_large(b"x" * 20_000)
    group["b"].stack.flush(group.now)
    group._settle(group["b"])
    group.on_request = lambda node, asked: node.stack.reply(asked, node.name.encode(), group.now)
    group.call("c", b"who?")
    group.run(1.0)
    assert not group["b"].stack.under_way(number)
    assert group.delivered() == [1, 1, 1]
    [over] = group["c"].calls
    assert sorted(over.replies.answers.values()) == [b"a", b"b", b"c"]

    group.loses = lambda _, __, header: isinstance(header, ReceivedUpTo)
    group.send("a", [b"held"])
    group.send_to("a", "b", b"unicast")
    group.send_unordered("a", b"unordered")
    group.run(0.05)
    assert group.delivered() == [1, 1, 1]
    assert [content for _, _, content in group["b"].unicasts] == [b"unicast"]
    assert [content for _, _, content in group["b"].unordered] == [b"unordered"]


# ------------------------------------------------------------------ views


def crashed_half_heard(delivery: str) -> Group:
    """The coordinator crashes when it alone has what it has sequenced."""
    group = Group("a", "b", "c", config=StackConfig(delivery=delivery))
    group.loses = lambda source, _, header: source == "a" and isinstance(header, DataHeader)
    group.send("a", [b"x"])
    group.run(0.01)
    group.crash("a")
    group.send("b", [b"y"])
    group.run(5.0)
    return group


def test_what_a_crashed_member_has_delivered_all_others_deliver() -> None:
    agreed, safe = crashed_half_heard("agreed"), crashed_half_heard("safe")
    assert (agreed.delivered(), safe.delivered()) == ([1, 1, 1], [0, 1, 1])
    with pytest.raises(Broken, match=r"^uniform agreement: in view 1 a.0 delivered a.0's 1, and b"):
        agreed.judge()
    safe.judge()


def test_what_is_held_is_delivered_in_the_old_view_and_before_the_next() -> None:
    group = Group("a", "b", "c")
    group.loses = lambda _, to, header: to == "a" and isinstance(header, ReceivedUpTo)
    group.send("b", [b"x"] * 3)
    group.run(0.05)
    assert group.delivered() == [0, 0, 0]
    group.crash("a")
    group.run(5.0)
    assert group.delivered() == [0, 3, 3]
    assert {view for name in "bc" for _, view in group[name].delivered} == {1}
    group.judge()


@pytest.mark.parametrize("leaver", ["a", "b"])
def test_a_leaver_delivers_its_own_messages_and_the_others_theirs(leaver: str) -> None:
    group = Group("a", "b", "c")
    for name in "abc":
        group.send(name, [b"x"] * 100)
    group.leave(leaver)
    group.run(5.0)
    assert group[leaver].left == ""
    assert group[leaver].messages >= 100
    assert {group[name].messages for name in "abc" if name != leaver} == {300}
    group.judge()


def test_a_state_is_of_a_cut_that_the_requester_has_too() -> None:
    """The announcements to the provider are late, so it holds what the requester has delivered."""
    group = Group("a", "b", "c", with_state=True)
    group.loses = lambda _, to, header: to == "b" and isinstance(header, SafeUpTo)
    group["b"].app.padding = 200_000
    for _ in range(5):
        group.send("a", [b"x"] * 10)
        group.run(0.005)
    assert group["b"].messages < group["c"].messages
    group.want_state("c")
    group.run(0.03)
    group.loses = lambda *_: False
    group.run(5.0)
    assert group["c"].app.transferred is True
    assert group["c"].stack.counters["state_chunk_of_another_cut"] == 0
    group.judge()


def test_a_joiner_gets_the_state_amid_messages() -> None:
    group = Group("a", "b", with_state=True)
    group.application = lambda: Application(padding=200_000)
    for step in range(40):
        group.at(group.now + 0.01 * step, lambda: group.send("b", [b"x"] * 5))
    group.run(0.1)
    group.start("c")
    group.run(5.0)
    assert group["c"].app.transferred is True
    group.judge()


@pytest.mark.parametrize("on_merge", ["callback", "state"])
def test_parts_that_merge_have_delivered_what_they_hold(on_merge: str) -> None:
    config = StackConfig(delivery="safe", on_merge=on_merge)
    group = Group("a", "b", "c", "d", config=config, with_state=on_merge == "state")
    group.partition("ab", "cd")
    group.run_until(lambda: group.in_one_view("a", "b") and group.in_one_view("c", "d"))
    group.heal()
    for step in range(60):
        group.at(group.now + 0.05 * step, lambda: group.send("b", [b"x"] * 3))
        group.at(group.now + 0.05 * step, lambda: group.send("c", [b"y"] * 3))
    group.run_until(lambda: group.in_one_view(*"abcd"), 20.0)
    group.run(5.0)
    heard = {name: [run for run, _ in group[name].delivered][-20:] for name in "abcd"}
    assert heard["a"] == heard["b"] == heard["c"] == heard["d"]
    assert group["a"].messages > 180
    for each in group.nodes.values():
        numbers = [view for _, view in each.delivered]
        assert numbers == sorted(numbers), "each message in the view it was held in"


@pytest.mark.parametrize("trouble", ["next leader crashes", "churn", "join and leave", "halves"])
def test_promises_hold_amid_trouble(trouble: str) -> None:
    assert campaign(range(1, 3), trouble, delivery="safe") == {}


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
def test_promises_hold_over_many_seeds(trouble: str) -> None:
    assert campaign(range(100, 120), trouble, delivery="safe") == {}


def test_delivery_at_once_is_noticed_in_a_group_that_is_to_be_safe() -> None:
    """The planted fault of these campaigns: members deliver what they have received."""
    broken = campaign(
        range(1, 40), "coordinator crashes half heard", hasty, delivery="safe", enough=1
    )
    assert [each.split(":")[0] for each in broken.values()] == ["uniform agreement"]


def hasty(story: Any) -> None:
    """Let the story's group deliver at once, though it is judged as a safe one."""
    story.group._config = StackConfig(max_bundle=story.group._config.max_bundle, delivery="agreed")


# ------------------------------------------------------------------ bounds


@pytest.mark.parametrize(
    "bound", [{"retain_window": 8}, {"retain_bytes": 16_384, "max_bundle": 2048}]
)
def test_what_is_held_for_want_of_announcements_is_bounded(bound: dict[str, int]) -> None:
    config = StackConfig(delivery="safe", **{"max_bundle": 2048} | bound)  # type: ignore[arg-type]
    group = Group("a", "b", "c", config=config)
    group.loses = lambda _, to, header: to == "c" and isinstance(header, SafeUpTo)
    most = [0, 0]
    group.send("a", [b"x" * 1000] * 200)
    for _ in range(200):
        group.run(0.005)
        held = group["c"].stack.sequencer.held
        most = [max(most[0], len(held)), max(most[1], held.size)]
    assert most[0] <= bound.get("retain_window", 512)
    assert most[1] <= bound.get("retain_bytes", 1 << 20) + 2048
    assert most[0] >= 5
    assert max(group.delivered()) < 200

    group.loses = lambda *_: False
    group.run(10.0)
    assert group.delivered() == [200] * 3
    group.judge()


def test_a_view_change_does_not_wait_for_what_is_held_beyond_the_bound() -> None:
    config = StackConfig(delivery="safe", max_bundle=2048, retain_window=4)
    group = Group("a", "b", "c", config=config)
    group.loses = lambda source, _, header: source == "a" and isinstance(header, SafeUpTo)
    group.send("b", [b"x" * 1000] * 50)
    group.run(0.2)
    assert "sequencer" in group["c"].stack._ground.holding
    group.crash("a")
    group.run(5.0)
    assert group.delivered()[1:] == [50, 50]
    group.judge()


def test_own_messages_that_are_held_count_for_credit() -> None:
    config = StackConfig(delivery="safe", max_bundle=2048, credit=4096, credit_messages=5)
    group = Group("a", "b", config=config)
    group.loses = lambda _, __, header: isinstance(header, ReceivedUpTo)
    group.send("a", [b"x"] * 20)
    group.send("b", [b"x" * 1000] * 20)
    group.run(0.3)
    assert group["a"].stack.sequencer.in_flight == 5
    assert group["b"].stack.sequencer.bytes_in_flight <= 4096 + 2048
    assert group.delivered() == [0, 0]
    group.loses = lambda *_: False
    group.run(5.0)
    assert group.delivered() == [40, 40]


def test_an_application_that_takes_nothing_is_given_nothing() -> None:
    group = Group("a", "b", "c")
    group.loses = lambda _, to, header: to == "c" and isinstance(header, SafeUpTo)
    group.send("a", [b"x"] * 3)
    group.run(0.01)
    group["c"].stack.hold(group.now)
    group.loses = lambda *_: False
    group.run(1.0)
    assert group.delivered() == [3, 3, 0]
    group.release("c")
    assert group.delivered() == [3, 3, 3]


# ------------------------------------------------------------------ what nobody can have sent


def holding() -> Group:
    """Three members that hold one message, whose acknowledgements are lost."""
    group = Group("a", "b", "c")
    group.loses = lambda _, __, header: isinstance(header, ReceivedUpTo)
    group.send("b", [b"x"])
    group.run(0.01)
    group.loses = lambda _, __, header: isinstance(header, ReceivedUpTo | SafeUpTo)
    return group


@pytest.mark.parametrize(
    ("to", "source", "header", "said"),
    [
        ("a", "b", ReceivedUpTo(B, FIRST, 2, 9), "an acknowledgement of 2 of 1"),
        ("b", "c", ReceivedUpTo(C, FIRST, 1, 9), "an acknowledgement that is for the coordinator"),
        ("b", "c", SafeUpTo(C, FIRST, 1, 9), "an announcement that only the coordinator makes"),
        ("b", "a", SafeUpTo(A, FIRST, 2, 9), "that all have received 2, of 1 here"),
        ("a", "b", ReceivedUpTo(B, ViewId(2, A), 1, 9), None),
        ("b", "a", SafeUpTo(A, ViewId(1, B), 1, 9), None),
        ("b", "a", SafeUpTo(B, FIRST, 1, 9), None),
        ("a", "x", ReceivedUpTo(Address("x", 0), FIRST, 1, 9), None),
    ],
)
def test_what_nobody_can_have_sent_is_counted_and_changes_nothing(
    to: str, source: str, header: ReceivedUpTo | SafeUpTo, said: str | None
) -> None:
    group = holding()
    node = group[to]
    before = sum(node.stack.counters.values())
    state = (dict(node.stack.sequencer.heard), node.stack.sequencer.announced)
    place = group[source].endpoint if source in group.nodes else ("6.6.6.6", 666)
    group.inject(to, CODEC.encode(header), place)
    group.run(0.001)

    assert sum(node.stack.counters.values()) > before
    assert (dict(node.stack.sequencer.heard), node.stack.sequencer.announced) == state
    assert group.delivered() == [0, 0, 0]
    if said is not None:
        assert [each.detail for each in node.dropped][-1] == f"{source}.0 sent {said}"
    group.loses = lambda *_: False
    group.run(2.0)
    assert group.delivered() == [1, 1, 1]


def test_an_announcement_of_an_earlier_view_counts_no_more() -> None:
    group = Group("a", "b", "c")
    group.send("b", [b"x"])
    group.run(0.1)
    group.crash("c")
    group.run_until(lambda: group.in_one_view("a", "b"))
    group.loses = lambda _, __, header: isinstance(header, ReceivedUpTo)
    group.send("b", [b"y"])
    group.run(0.01)
    for late in (ReceivedUpTo(B, FIRST, 2, 9), SafeUpTo(A, FIRST, 2, 9)):
        to, source = ("a", "b") if isinstance(late, ReceivedUpTo) else ("b", "a")
        group.inject(to, CODEC.encode(late), group[source].endpoint)
    assert group.delivered()[:2] == [1, 1]


# ------------------------------------------------------------------ who differs


def test_a_process_with_another_delivery_is_refused_with_a_sentence_on_both_sides() -> None:
    group = Group("a", "b")
    group._config = StackConfig()
    group.start("c")
    group.run(3.0)
    assert "delivery=agreed" in str(group["c"].left)
    assert "delivery=safe" in str(group["c"].left)
    [said] = {each.detail for each in group["a"].dropped if each.reason == "join_refused"}
    assert said.startswith("c.0: its stack is")
    assert "delivery=agreed" in said


def test_groups_with_different_deliveries_do_not_merge() -> None:
    group = Simulator(1, config=StackConfig(delivery="safe", on_merge="callback"))
    group.partition("ab", "c")
    group.start("a", "b", founders=True)
    group._config = StackConfig(on_merge="callback")
    group.start("c")
    group.run_until(lambda: group.in_one_view("c"))
    group.heal()
    group.run(10.0)
    assert group.in_one_view("a", "b")
    said = {each.detail for each in group["c"].dropped}
    assert any(
        "has on_merge='callback' delivery=safe, this group has 'callback'; give all" in one
        for one in said
    )


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigError, match="delivery is 'soon'; choose one of 'agreed', 'safe'"):
        StackConfig(delivery="soon")
    with pytest.raises(ConfigError, match="safe delivery rests on virtual synchrony"):
        StackConfig(delivery="safe", open_latch_after=1.0)
