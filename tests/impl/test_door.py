"""A stranger sends one socket's worth of well-formed datagrams; nothing of it enters the group."""

from random import Random

import pytest

from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Digest, Endpoint, Payloads, View, ViewId
from raincheck.impl.simulation.group import Node, Simulator
from raincheck.impl.stack.config import Admit, StackConfig
from raincheck.impl.stack.cookies import Cookies
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.stack.reports import Outgoing
from raincheck.impl.stack.sequencer_layer import SequencerLayer
from raincheck.impl.stack.stack import Stack
from raincheck.impl.wire.datagrams import Codec, sealed
from raincheck.impl.wire.headers import (
    CONTROL,
    FORWARDS,
    LANES,
    Alive,
    Body,
    DataHeader,
    Fetch,
    Fid,
    ForwardBody,
    JoinHint,
    JoinRefused,
    JoinReq,
    Leaving,
    StartFlush,
    StopFlush,
    UnicastAck,
    UnicastHeader,
)

CODEC = Codec("raincheck", 60_000)
STRANGER = ("6.6.6.6", 666)
A, B, Z = (Address(name, 0) for name in "abz")


def group_of(*names: str) -> Simulator:
    """A group that has delivered something."""
    group = Simulator(1)
    group.start(*names, founders=True)
    group.send("b", [b"x"] * 3)
    group.run(0.2)
    return group


def forward(to: Address, view: int, first: int = 1, seqno: int = 1) -> bytes:
    """A FORWARD of z."""
    body = ForwardBody(first, 1, ViewId(view, A), 1, 1)
    header = UnicastHeader(Z, to, FORWARDS, 1 << 40, seqno, body)
    return CODEC.encode(header, Payloads.pack([b"evil"]))


def goes_on(group: Simulator, *names: str) -> None:
    """The group delivers what its members send, and nothing else."""
    group.send("c", [b"after"])
    group.run(2.0)
    assert group.in_one_view(*names)
    assert [group[name].messages for name in names] == [4] * len(names)
    check(logs(group))
    check_quiet(group)


def test_a_forward_of_a_stranger_is_sequenced_by_nobody() -> None:
    for first in (1, 2):
        group = group_of("a", "b", "c")

        group.inject("a", forward(A, 1, first), STRANGER)

        goes_on(group, "a", "b", "c")
        assert group["a"].stack.counters["not_a_member"] == 1


def test_a_datagram_does_not_make_its_sender_known() -> None:
    group = group_of("a", "b", "c")
    body: Body = StopFlush(Fid(1, Z, 1))
    group.inject("b", CODEC.encode(UnicastHeader(Z, B, CONTROL, 1 << 40, 1, body)), STRANGER)

    data = DataHeader(A, 2, Address("c", 0), 1, 1, ViewId(1, A), 4, 9)
    group.inject("b", CODEC.encode(data, Payloads.pack([b"evil"])), STRANGER)

    assert group["b"].stack.counters["forged"] == 1
    assert Z not in group["b"].stack._outbox.endpoints
    goes_on(group, "a", "b", "c")


def test_a_sign_of_life_of_a_stranger_is_not_answered() -> None:
    group = group_of("a", "b", "c")
    stack = group["b"].stack

    for header in (
        Alive(Z, ViewId(1, A), 1, False, Digest(())),
        Leaving(Z),
        Alive(B, ViewId(1, A), 1, False, Digest(())),
    ):
        stack.receive([(CODEC.encode(header), STRANGER)], group.now)
        assert [out for out in stack.poll_datagrams() if STRANGER in out.to] == []


def test_a_former_member_is_answered_at_its_own_place_only() -> None:
    group = group_of("a", "b", "c")
    group.crash("c")
    group.run_until(lambda: group.in_one_view("a", "b"))
    stack, sign = (
        group["b"].stack,
        CODEC.encode(Alive(Address("c", 0), ViewId(1, A), 0, False, Digest(()))),
    )

    for place, answers in ((STRANGER, 0), (group["c"].endpoint, 1)):
        stack.receive([(sign, place)], group.now)
        assert len([out for out in stack.poll_datagrams() if place in out.to]) == answers


def test_places_are_kept_for_members_and_joiners_only() -> None:
    group = group_of("a", "b", "c")
    for name in "de":
        group.start(name)
        group.run_until(lambda: group.in_one_view(*(n.name for n in group.up)))
    group.leave("c")
    group.run_until(lambda: group.in_one_view("a", "b", "d", "e"))

    for node in (group[name] for name in "abde"):
        places = node.stack._outbox.endpoints
        assert set(places) <= {group[name].address for name in "abde"}
        assert all(places[who] == group[who.node].endpoint for who in places)


def test_a_joiner_has_its_members_places_from_the_view_that_admits_it() -> None:
    group = group_of("a", "b", "c")
    group.start("z")
    for who in (A, B):
        body = UnicastHeader(who, Z, CONTROL, 1, 9, StopFlush(Fid(1, A, 1)))
        group.inject("z", CODEC.encode(body), STRANGER)
    group.run_until(lambda: group.in_one_view("a", "b", "c", "z"))
    group.run(1.0)

    places = group["z"].stack._outbox.endpoints
    assert all(places[who] == group[who.node].endpoint for who in places)
    assert not group["z"].stack.counters["forged"]


# ------------------------------------------------------------------ what a member cannot have sent


def forwards(group: Simulator, *bodies: ForwardBody) -> int:
    """Let b's FORWARDs come to a, past UNICAST; return how many were taken from it."""
    layer = group["a"].stack._group.find(SequencerLayer)
    payloads = Payloads.pack([b"evil" * 1000])
    waiting = [(UnicastHeader(B, A, FORWARDS, 1, 1, body), payloads) for body in bodies]
    layer._forwards = True
    pull = layer.pull
    layer.pull = lambda *_: waiting.pop(0) if waiting else None  # type: ignore[method-assign]
    while layer._forwards and layer.take_forwards(group.now):
        layer._relayed = 0
    layer.pull = pull  # type: ignore[method-assign]
    return len(bodies) - len(waiting)


def test_a_forward_that_leaves_messages_out_is_refused_and_ends_nobody() -> None:
    group = group_of("a", "b", "c")

    assert forwards(group, ForwardBody(9, 1, ViewId(1, A), 9, 9)) == 1

    assert group["a"].stack.counters["refused"] == 1
    goes_on(group, "a", "b", "c")


def spoil(group: Simulator, *receivers: str) -> None:
    """The coordinator sends these a DATA that cannot be its next."""
    node = group["a"]
    at = node.stack._group.find(NakackLayer).core.sent + 1
    data = DataHeader(A, at, Address("c", 0), 9, 1, ViewId(1, A), 77, 9)
    for name in receivers:
        group.inject(name, CODEC.encode(data, Payloads.pack([b"evil"])), node.endpoint)


def test_a_coordinator_that_sends_all_what_cannot_follow_is_excluded_by_the_others() -> None:
    group = group_of("a", "b", "c")

    spoil(group, "b", "c")

    group.run_until(lambda: group.in_one_view("b", "c"))
    assert [group[name].stack.counters["refused"] for name in "bc"] == [1, 1]
    assert [group[name].left for name in "bc"] == [None, None]
    group.send("c", [b"after"])
    group.run(1.0)
    assert [group[name].messages for name in "bc"] == [4, 4]
    check(logs(group))


@pytest.mark.parametrize("changing", [False, True])
def test_who_alone_was_sent_what_cannot_follow_has_to_join_again(changing: bool) -> None:
    group = group_of("a", "b", "c")
    spoil(group, "c")
    if changing:
        group.start("d")
    group.send("a", [b"x"])
    group.run(StackConfig().flush_timeout + 3)

    left = "c.0 cannot take what a.0 sends, the others do; join again"
    assert group["c"].left == left
    assert group.in_one_view("a", "b", *("d" * changing))
    check(logs(group))


def test_who_cannot_take_what_a_second_coordinator_sends_has_to_join_again() -> None:
    """It is the one that lacks something, and excludes no more than one of the others."""
    group = group_of("a", "b", "c")
    spoil(group, "b", "c")
    group.run_until(lambda: group.in_one_view("b", "c"))
    at = group["b"].stack._group.find(NakackLayer).core.sent + 1
    data = DataHeader(B, at, Address("c", 0), 9, 1, ViewId(2, B), 77, 9)
    group.inject("c", CODEC.encode(data, Payloads.pack([b"evil"])), group["b"].endpoint)
    group.run(3.0)

    assert group["c"].left == "c.0 cannot take what b.0 sends, the others do; join again"
    assert group.in_one_view("b")


def test_a_reconcile_of_a_stream_that_nobody_else_sends_is_refused() -> None:
    group = group_of("a", "b", "c")
    layer = group["b"].stack._group.find(NakackLayer)

    layer.fetch([Fetch(B, 99, A), Fetch(Z, 99, A)], group.now)

    assert group["b"].stack.counters["refused"] == 1
    goes_on(group, "a", "b", "c")


def test_what_a_member_sends_against_the_protocol_is_reported() -> None:
    group = group_of("a", "b", "c")

    forwards(group, ForwardBody(9, 1, ViewId(3, A), 9, 9))
    group.run(0.01)

    (report,) = group["a"].dropped
    assert (report.reason, report.sender) == ("refused", group["b"].endpoint)
    assert report.detail == "b.0 sent FORWARD that cannot be its next"


def test_a_stranger_that_is_asked_too_cannot_refuse_a_joiner() -> None:
    group = Simulator(1, config=StackConfig(join_timeout=30.0))
    group.start("a")
    group.partition("a", "z")
    group.start("z")
    wish = JoinReq(Address("e", 0), StackConfig().fingerprint, False, 0, 0)
    group.inject("z", CODEC.encode(wish), STRANGER)
    group.run(31.0)  # by now the answers of those count whom the user has not named
    question = group["z"].stack._ground.cookies.question(STRANGER)
    group.inject("z", CODEC.encode(JoinRefused(Address("e", 0), Z, "no", question)), STRANGER)

    assert group["z"].left is None
    assert group["z"].stack.counters["unasked"] == 1


def test_a_forward_of_a_far_view_is_not_kept() -> None:
    group = group_of("a", "b", "c")

    forwards(group, *(ForwardBody(n, 1, ViewId(3 + n, A), n, n) for n in range(1, 100)))

    assert group["a"].stack.counters["refused"] == 99
    assert group["a"].stack.sequencer.early == []
    goes_on(group, "a", "b", "c")


def test_forwards_of_the_next_view_are_kept_up_to_a_bound_and_then_left_where_they_are() -> None:
    group = group_of("a", "b", "c")
    config = StackConfig()
    most = config.unicast_window * 3
    following = View(ViewId(2, A), (A, B, Address("c", 0)))
    group["a"].stack._membership.held = (following,)

    taken = forwards(
        group, *(ForwardBody(3 + n, 1, following.id, n, n) for n in range(1, 2 * most))
    )

    assert taken == len(group["a"].stack.sequencer.early) == most


# ------------------------------------------------------------------ what a joiner takes from whom


def joining(group: Simulator, hosts: tuple[Endpoint, ...]) -> Stack:
    """A process that asks these hosts, beside the group, at STRANGER's neighbour."""
    stack = Stack(Z, StackConfig(initial_hosts=hosts))
    stack.start(group.now)
    stack.handle_timer(group.now)
    return stack


def hint(stack: Stack, of: Address, at: Endpoint, cookie: int) -> bytes:
    """An answer of somebody who was asked there, with the question that it was asked."""
    for out in stack.poll_datagrams():
        request = CODEC.decode(out.data).header
        if out.to == (at,) and isinstance(request, JoinReq):
            return CODEC.encode(JoinHint(of, "here", 0, cookie, request.question))
    raise AssertionError(f"{at} was not asked")


def test_a_joiner_is_blocked_by_no_stranger_that_speaks_for_the_leader() -> None:
    group = group_of("a", "b", "c")
    group.start("z")
    for lane in LANES:
        body = UnicastHeader(A, Z, lane, 1 << 59, 1, StopFlush(Fid(1, A, 1)))
        group.inject("z", CODEC.encode(body), STRANGER)
        group.inject("z", CODEC.encode(UnicastAck(A, Z, lane, 1, 9, 9, ())), STRANGER)

    group.run_until(lambda: group.in_one_view("a", "b", "c", "z"))

    assert group["z"].stack.counters["unasked"] == len(LANES)


@pytest.mark.parametrize("learnt", [False, True])
def test_a_joiner_takes_hints_and_refusals_of_those_only_that_it_has_asked(learnt: bool) -> None:
    group = group_of("a", "b", "c")
    group.start("z")
    if learnt:  # then the stranger is asked, but counts only while no host answers
        wish = JoinReq(Address("zz", 0), StackConfig().fingerprint, False, 0, 0)
        group.inject("z", CODEC.encode(wish), STRANGER)
    for question in (0, 1, group["z"].stack._ground.cookies.question(STRANGER)):
        for header in (
            JoinHint(A, "here", 0, 99, question),
            JoinHint(A, "6.6.6.6", 667, 0, question),
            JoinRefused(A, Z, "no", question),
        ):
            group.inject("z", CODEC.encode(header), STRANGER)

    hosts = group["z"].stack._group.joining.hosts
    group.run_until(lambda: group.in_one_view("a", "b", "c", "z"))

    assert ("6.6.6.6", 667) not in hosts
    assert group["z"].stack.counters["unasked"] == 9


def test_who_is_asked_because_it_has_sent_something_admits_once_no_host_answers() -> None:
    group = group_of("a", "b", "c")
    stack, now = joining(group, (("10.9.9.9", 1),)), group.now
    flush = StartFlush(Fid(1, A, 1), (A, Z))
    mail = CODEC.encode(UnicastHeader(A, Z, CONTROL, 1, 1, flush))
    stack.receive([(mail, STRANGER)], now)
    stack.handle_timer(now)
    answer = hint(stack, A, STRANGER, 5)

    guessed = CODEC.encode(JoinHint(A, "here", 0, 5, 5))
    for passed, said, counted in ((0.5, answer, 2), (1.5, guessed, 3), (1.5, answer, 3)):
        stack.receive([(said, STRANGER)], now + passed)
        assert stack.counters["unasked"] == counted
    stack.receive([(mail, STRANGER)], now + 1.5)

    assert stack.counters["unasked"] == 3
    assert stack._outbox.endpoints[A] == STRANGER


def test_strangers_do_not_keep_a_process_from_founding_for_ever() -> None:
    group = group_of("a", "b", "c")
    stack, now = joining(group, (("10.9.9.9", 1),)), group.now
    request = CODEC.encode(JoinReq(A, StackConfig().fingerprint, False, 0, 0))
    for n in range(1000):
        stack.receive([(request, ("6.6.6.6", 600 + n))], now)
        now += 0.1
        stack.handle_timer(now)
        if stack.status == "member":
            break

    assert 9 < now - group.now < 12
    assert len(stack._group.joining.hosts) == 65


def test_nobody_is_asked_for_an_answer_before_it_has_proved_where_it_is() -> None:
    asked: list[Endpoint] = []

    def admit(_who: Address, endpoint: Endpoint) -> bool:
        asked.append(endpoint)
        return False

    group = Simulator(1, config=StackConfig(admit=admit))
    group.start("a", founders=True)
    for stack in ("another stack", StackConfig().fingerprint):
        group.inject("a", CODEC.encode(JoinReq(Z, stack, False, 7, 0)), STRANGER)

    assert asked == []
    assert group["a"].stack.counters["join_refused"] == 0
    assert Cookies(b"1" * 32, 0).cookie(Z, STRANGER, None) != Cookies(b"2" * 32, 0).cookie(
        Z, STRANGER, None
    )


# ------------------------------------------------------------------ who may join, and how often


def refusals(admit: Admit) -> list[str]:
    """What a joiner from 10.0.0.2 is answered by a group that admits only some."""
    group = Simulator(1, config=StackConfig(admit=admit))
    group.start("a", founders=True)
    group.start("z")
    group.run(3.0)
    return [str(node.left) for node in group.nodes.values() if node.left is not None]


def test_who_may_join_is_decided_by_networks_or_a_function() -> None:
    refused = ["not admitted: 10.0.0.2 is not among those that this group admits"]

    assert refusals(["10.0.0.0/24"]) == refusals(lambda _, place: place[1] == 7000) == []
    assert refusals(["10.0.1.0/24", "127.0.0.1"]) == refused
    assert refusals(lambda who, _: who.node != "z") == refused
    assert refusals(lambda _, place: bool(1 // (place[1] - 7000))) == refused


def test_networks_that_are_none_are_refused() -> None:
    for admit in ("10.0.0.0/8", ["10.0.0.1/8"], ["example.org"]):
        with pytest.raises(ConfigError, match="admit"):
            StackConfig(admit=admit)


def test_one_endpoint_makes_only_so_many_views_a_minute() -> None:
    group = Simulator(1, config=StackConfig(joins_per_minute=5))
    group.start("a", "b", founders=True)
    group.start("z")
    for _ in range(20):
        group.run(1.0)
        group.crash("z")
        group.restart("z")
    asked = group.now

    delayed = [report for report in group["a"].dropped if report.reason == "join_delayed"]
    assert len({view.id for view in group["a"].views if view.joiners}) == 5
    assert delayed[-1].sender == group["z"].endpoint
    group.run_until(lambda: group.in_one_view("a", "b", "z"), 60)
    assert group.now > asked + 30


def test_captured_datagrams_that_a_stranger_changes_and_seals_anew_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[bytes] = []
    transmit = Simulator._transmit

    def record(group: Simulator, node: Node, out: Outgoing) -> None:
        heard.append(out.data)
        transmit(group, node, out)

    monkeypatch.setattr(Simulator, "_transmit", record)
    group = group_of("a", "b", "c")
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    captured, lots = heard.copy(), Random(5)
    before = [len(node.views) for node in group.up]

    for _ in range(2000):
        damaged = bytearray(lots.choice(captured))
        damaged[lots.randrange(20, len(damaged))] = lots.randrange(256)
        group.inject(lots.choice("abcd"), sealed(bytes(damaged)), STRANGER)
        group.inject(lots.choice("abcd"), lots.choice(captured), STRANGER)
    group.send("c", [b"after"])
    group.run(3.0)

    assert [node.left for node in group.nodes.values()] == [None] * 4
    assert [len(node.views) for node in group.up] == before
    assert [group[name].messages for name in "abcd"] == [4, 4, 4, 1]
    check(logs(group))
    check_quiet(group)
