"""One member of a ring: its configuration, its lock, its multicasts, and what it keeps."""

from itertools import pairwise

import pytest

from raincheck.impl.errors import ConfigError, NotMember, WouldBlock
from raincheck.impl.messages import Address, Payloads
from raincheck.impl.raincore.events import ZERO, Call911, EatingTimeout, Eats, StarvingTimeout
from raincheck.impl.ring.bodies import Letter
from raincheck.impl.ring.config import HEADROOM, RingConfig
from raincheck.impl.ring.mailbox import Mailbox
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.reports import Committed, NameTaken, PassedOn, TooLargeForToken
from raincheck.impl.ring.wire import RaincoreCodec
from raincheck.impl.simulation.ring import Link, RingSimulator

A, B = Address("a", 0), Address("b", 0)
HERE, THERE = ("10.0.0.1", 1), ("10.0.0.2", 2)
FOUNDERS = [(A, HERE), (B, THERE)]


def formed(*names, **settings):
    ring = RingSimulator(1, config=RingConfig(**settings), contents=True)
    ring.found(*names)
    ring.run_until(lambda: ring.in_one_view(*names))
    return ring


# ------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hungry": 0.05}, r"hungry \(0.05\) must be above eating \(0.05\)"),
        ({"give_up": 2.0}, r"give_up \(2.0\) must be below hungry \(2.0\)"),
        ({"give_up_again": 0.9}, r"give_up_again \(0.9\) must be at most give_up \(0.8\)"),
        ({"retransmit_after": 0.3}, r"retransmit_after \(0.3\) must be at most retransmit_max"),
        ({"retransmit_after": 0.15}, r"give_up_again \(0.2\) must be at least twice"),
        ({"starving": 0.8}, r"starving \(0.8\) must be above give_up \(0.8\)"),
        ({"eating": 0.0}, r"eating is 0.0; it must be a number of seconds above 0"),
        ({"hungry": float("inf")}, r"hungry is inf; it must be a number of seconds"),
        ({"give_up": float("nan")}, r"give_up is nan; it must be a number of seconds"),
        ({"hello": -1.0}, r"hello is -1.0; it must be a number of seconds"),
        ({"max_members": 1}, r"max_members is 1; it must be a whole number from 2 to 256"),
        (
            {"max_datagram": 70_000},
            r"max_datagram is 70000; it must be a whole number from 32768 to 65507",
        ),
        ({"send_buffer": 1000}, r"send_buffer \(1000\) must hold at least one message"),
        ({"ring": ""}, r"ring is ''; give a text that is not empty"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_sentence(settings, words):
    with pytest.raises(ConfigError, match=words) as caught:
        RingConfig(**settings)
    assert "\n" not in str(caught.value)


def test_more_founders_than_members_are_refused():
    with pytest.raises(ConfigError, match="3 founders are more than max_members"):
        RingNode(A, RingConfig(max_members=2), founders=[*FOUNDERS, (Address("c", 0), HERE)])


# ------------------------------------------------------------------ the token


def test_a_token_with_nothing_to_do_rests_and_one_with_mail_goes_on_at_once():
    ring = formed("a", "b", "c", eating=0.1)

    def passes():
        before = ring.datagrams
        ring.run(1.0)
        return (ring.datagrams - before) / 2

    ring.run(1.0)  # a member that commits a view lets the token go on at once
    assert 8 <= passes() <= 10
    ring.multicast("a", [b"x"])
    assert 8 <= passes() <= 15
    assert all(len(ring[name].delivered) == 1 for name in "abc")
    ring.link = Link(delay=(0.001, 0.001))
    ring.at(ring.now, lambda: ring.multicast("b", [bytes(20_000)] * 100))
    assert passes() > 200


def test_the_lock_is_granted_with_the_token_and_released_at_once():
    ring = formed("a", "b", "c")
    for name in "abcabc":
        ring.lock(name, 0.05)
    ring.run(3.0)

    locks = sorted(ring.locked, key=lambda lock: lock.since)
    assert sorted(lock.member.node for lock in locks) == list("aabbcc")
    assert all(one.until <= other.since for one, other in pairwise(locks))
    assert all((one.epoch, one.seq) < (other.epoch, other.seq) for one, other in pairwise(locks))


def test_a_lock_that_is_held_long_stays_though_the_others_starve():
    ring = formed("a", "b", "c")
    ring.lock("b", 8.0)
    ring.run(6.0)
    assert ring["b"].node.granted is not None
    assert ring["a"].node.token_state == "starving"
    ring.lock("a", 0.1)
    ring.run_until(lambda: len(ring.locked) == 2)

    assert [lock.member.node for lock in ring.locked] == ["b", "a"]


def test_a_lock_is_not_granted_in_chaos():
    ring = RingSimulator(1)
    ring.found("a", "b", "c")
    ring["a"].node.want_token(ring.now)
    assert ring["a"].core.view_state == "chaos"
    assert ring["a"].node.granted is None


def test_who_was_cut_off_with_the_lock_learns_that_it_is_lost():
    ring = formed("a", "b", "c")
    ring.lock("b", 1000.0)
    ring.run_until(lambda: ring["b"].node.granted is not None)
    ring.partition("ac", "b")
    ring.run_until(lambda: ring.in_one_view("a", "c"))
    assert ring["b"].node.granted is not None
    ring.heal()
    ring.run_until(lambda: ring["b"].node.granted is None, 5.0)
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))


def test_what_is_held_stays_even_without_the_lock():
    ring = formed("a", "b")
    node = ring["a"].node
    node.hold(ring.now)
    ring.run(1.0)
    assert node.token_state == "eating"
    assert node.granted is None
    node.release(ring.now)
    assert node.token_state == "hungry"


def test_reports_tell_when_the_token_comes_and_goes_and_which_view_it_is():
    ring = RingSimulator(1)
    told = []
    ring.on_report = lambda name, report: told.append(report) if name == "a" else None
    ring.found("a", "b")
    ring.run(1.0)

    tokens = [type(report) for report in told if isinstance(report, Eats | PassedOn)]
    assert tokens[:4] == [Eats, PassedOn, Eats, PassedOn]
    assert [report for report in told if isinstance(report, Committed)] == [Committed(1, (A, B))]


# ------------------------------------------------------------------ multicasts


def test_many_messages_become_one_batch_of_each_visit_within_one_datagram():
    ring = formed("a", "b", "c")
    sizes = []
    transmit = ring._transmit
    ring._transmit = lambda member, data, to: (
        sizes.append(len(data)),
        transmit(member, data, to),
    )
    for name in "abc":
        ring.multicast(name, [b"%d" % number + bytes(300) for number in range(2000)])
    ring.run(1.0)

    assert all(len(ring[name].delivered) == 6000 for name in "abc")
    assert ring["a"].delivered == ring["b"].delivered == ring["c"].delivered
    assert 30_000 < max(sizes) <= ring.config.max_datagram
    assert ring["a"].core.said < 200


def test_members_who_have_much_to_say_get_equal_shares():
    ring = formed("a", "b", "c")
    for name in "abc":
        ring.multicast(name, [bytes(1000)] * 1500)
    ring.run(0.05)
    by_member = [sum(origin.node == name for origin, _ in ring["a"].delivered) for name in "abc"]

    assert min(by_member) > 0.7 * max(by_member) > 300


def test_a_large_message_gets_room_however_much_the_others_say():
    ring = formed("a", "b", "c")
    large = bytes(ring.config.max_message)
    for name in "ab":
        ring.multicast(name, [bytes(1000)] * 1500)
    ring.run(0.02)
    ring.multicast("c", [large])
    start = len(ring["c"].delivered)
    ring.run_until(lambda: large in ring["c"].life.contents, 0.05)

    assert len(ring["c"].delivered) > start
    assert any(ring[name].node.pending for name in "ab")


def test_what_is_too_large_or_too_much_is_refused():
    node = RingNode(A, RingConfig(send_buffer=30_000), founders=FOUNDERS)
    with pytest.raises(TooLargeForToken, match=r"raise max_datagram \(60000\)"):
        node.multicast(bytes(node.max_message + 1), 0.0)
    assert node.writable
    node.multicast(bytes(node.max_message), 0.0)
    node.multicast(bytes(node.max_message), 0.0)
    assert not node.writable
    with pytest.raises(WouldBlock, match="2 messages"):
        node.multicast(b"x", 0.0)


def test_room_is_reserved_until_it_is_used_and_not_for_who_has_left():
    config = RingConfig()
    box, other = Mailbox(A, config), Mailbox(B, config)
    other.put(bytes(config.max_message))
    assert other.pack(1, [A, B])
    box.letters = dict(other.letters)
    box.put(bytes(config.max_message))
    box.put(b"small")
    assert box.pack(1, [A, B])  # just half of it is left
    more = Mailbox(B, config)
    more.letters = dict(box.letters)
    more.put(bytes(500))
    assert not more.pack(2, [A, B])
    assert more.reserve.member == B

    box.reserve = more.reserve
    box.letters = {}
    box.put(bytes(config.max_message))
    box.put(b"small")
    assert box.pack(2, [A, B])
    assert box.reserve == more.reserve
    box.letters = {}
    box.pack(3, [A])
    assert box.reserve.size == 0


# ------------------------------------------------------------------ leaving and joining


def test_what_was_multicast_is_delivered_before_its_sender_leaves():
    ring = formed("a", "b", "c")
    ring.multicast("b", [b"%d" % number + bytes(1000) for number in range(200)])
    ring.leave("b")
    with pytest.raises(NotMember):
        ring["b"].node.multicast(b"too late", ring.now)
    ring.run_until(lambda: ring["b"].left is not None)
    ring.run_until(lambda: ring.in_one_view("a", "c"))

    assert [len(ring[name].delivered) for name in "abc"] == [200] * 3
    assert ring["b"].left == ""
    assert ring["b"].node.deadline() is None


def test_who_would_be_one_too_many_is_not_let_in():
    ring = formed("a", "b", max_members=2)
    ring.join("c")
    ring.run(5.0)

    assert ring.in_one_view("a", "b")
    assert ring["a"].node.counters["ring_full"] + ring["b"].node.counters["ring_full"] > 0
    assert set(ring["c"].node.missing(ring.now).values()) == {"to let it into the ring"}


def test_a_stranger_with_a_copy_of_the_token_is_no_member_of_a_full_ring():
    """Only who has this member on its list may have a later copy than this one."""
    stranger = Address("z", 0)
    for nodelist, in_ring in (((stranger,), False), ((stranger, A), True)):
        ring = formed("a", "b", max_members=2)
        late = ring["a"].core.last_token.seq + 1000
        call = Call911(A, stranger, stranger, nodelist, ZERO, late, attempt=1)
        assert ring["a"].node._lets_in(call) is in_ring
        assert ring["a"].node.counters["ring_full"] == (0 if in_ring else 1)
        assert not ring["a"].node._lets_in(call._replace(seq=0))


def test_a_joiner_asks_until_somebody_is_there():
    ring = RingSimulator(1)
    ring.found("a")
    ring.crash("a")
    ring.join("b", contacts=["a"])
    ring.run(3.0)
    assert ring["b"].core.up == "new"
    assert ring["b"].node.missing(ring.now) == {"10.0.0.2:7000": "to answer as a member"}
    ring.recover("a")
    ring.run_until(lambda: ring.in_one_view("a", "b"))


def test_a_joiner_can_leave_before_it_was_let_in():
    ring = RingSimulator(1)
    ring.found("a")
    ring.crash("a")
    ring.join("b", contacts=["a"])
    ring.leave("b")

    assert ring["b"].left == ""
    assert ring["b"].node.deadline() is None


def test_a_name_that_is_taken_is_reported_to_who_wants_it_and_its_holder_goes_on():
    ring = formed("a", "b")
    for asked, twin in (("b", "twin"), ("a", "other twin")):
        ring._begin(twin, Address("b", 7), contacts=[ring[asked].endpoint])
        ring._settle(ring[twin])
        ring.run_until(lambda twin=twin: bool(ring[twin].taken), 5.0)
        assert ring[twin].taken[0] == NameTaken(B, ring[asked].endpoint)
        ring.crash(twin)
    ring.run(5.0)

    assert ring["b"].left is None
    assert ring.in_one_view("a", "b")


def test_a_name_whose_holder_is_silent_is_free():
    ring = formed("a", "b", "c")
    ring.crash("b")
    ring._begin("again", Address("b", 7), contacts=[ring["a"].endpoint])
    ring._settle(ring["again"])
    ring.run_until(lambda: ring.in_one_view("a", "c", "again"), 20.0)
    ring.recover("b")
    ring.run_until(lambda: ring["b"].left is not None, 10.0)

    assert ring["b"].left == "another process has taken its name, as b.7"
    assert ring.in_one_view("a", "c", "again")


def test_what_others_have_put_onto_the_token_is_counted_with_all_that_it_takes():
    """Many small batches take more room beside their messages than with them."""
    config = RingConfig()
    box = Mailbox(A, config)
    one = Letter(1, Payloads.pack([b"x"]))
    count = config.mail // one.size
    assert count * one.payloads.size < config.mail / 5
    box.letters = {(B, k): one for k in range(count)}
    box.put(b"x" * 100)
    assert not box.pack(1, (A, B))
    assert box.reserve.member == A

    box.letters = {(B, k): one for k in range(count // 2)}
    assert box.pack(1, (A, B))


def test_the_token_is_passed_on_when_it_goes_and_not_before():
    ring = formed("a", "b", "c", eating=0.1)
    here, kept = {}, []

    def told(name, report):
        if isinstance(report, Eats):
            here[name] = ring.now
        elif isinstance(report, PassedOn) and name in here:
            kept.append(ring.now - here.pop(name))

    ring.on_report = told
    ring.run(3.0)

    assert len(kept) >= 25
    assert kept == pytest.approx([0.1] * len(kept))
    assert len(here) <= 1


def test_who_starves_alone_asks_ever_more_seldom_until_it_has_the_token_again():
    ring = formed("a", "b", "c")
    asked = []
    ring.on_event = lambda name, _core, event: (
        asked.append(ring.now) if name == "a" and isinstance(event, StarvingTimeout) else None
    )
    for name in "bc":
        ring.crash(name)
    ring.run(60.0)
    pauses = [later - one for one, later in pairwise(asked)]
    assert len(pauses) >= 4
    assert all(8.0 <= pause <= 13.0 for pause in pauses[1:])  # 2 ** 3 times, and half as much again

    for name in "bc":
        ring.recover(name)
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    ring.run_until(lambda: ring["b"].core.token_state == "eating")
    asked.clear()
    for name in "bc":
        ring.crash(name)
    ring.run(30.0)
    assert asked[1] - asked[0] < 7.0, "it begins anew"


def test_what_a_member_hands_on_for_a_joiner_is_not_foreign():
    """A joiner's call names no member; b hands it on."""
    ring = formed("a", "b")
    joiner, b = Address("z", 0), ring["b"].node
    call = Call911(A, joiner, B, (), ZERO, 0)
    b.manager.send(A, call, b._codec.encode(call), ring.now)
    [(data, to)] = b.poll_datagrams()
    assert to == ring["a"].endpoint
    ring.inject("a", data, ring["b"].endpoint)

    assert ring["a"].node.counters["foreign"] == 0
    assert joiner in ring["a"].core.new_nodes


# ------------------------------------------------------------------ what is kept


def test_a_member_comes_back_exactly_as_it_was_kept():
    ring = formed("a", "b", "c")
    ring.multicast("a", [b"x" * 100] * 50)
    ring.run(0.0003)
    member = ring["b"]
    ring.run_until(lambda: bool(member.core.last_token.mail))
    kept = member.kept
    again = RingNode(B, ring.config, state=kept)
    same = (
        "me view_state token_state global_view global_view_number reserved last_token new_nodes "
        "promised attempt phase wanted heard contacts leaving outbox said last_ordinal"
    )

    assert again.core.up == "down"
    for name in same.split():
        assert getattr(again.core, name) == getattr(member.core, name), name
    assert again.manager.kept() == member.node.manager.kept()
    assert again._mailbox.letters == member.node._mailbox.letters


def test_nothing_is_sent_that_was_not_written_down_before():
    ring = RingSimulator(1, link=Link(loss=0.1, delay=(0.001, 0.02)))
    transmit = ring._transmit
    checked = []

    def spy(member, data, to):
        if member.up and member.kept is not None:
            kept = RingNode(member.node.address, ring.config, state=member.kept).core
            core = member.core
            checked.append((kept.last_token, kept.promised) == (core.last_token, core.promised))
        transmit(member, data, to)

    ring._transmit = spy
    ring.found("a", "b", "c")
    ring.run(1.0)
    ring.multicast("a", [b"x"] * 10)
    ring.crash("b")
    ring.run(3.0)
    ring.recover("b")
    ring.run(2.0)

    assert len(checked) > 200
    assert all(checked)


def test_nothing_new_is_kept_when_nothing_has_changed():
    node = RingNode(A, RingConfig(), founders=FOUNDERS)
    node.start(0.0)
    assert node.kept_state() is not None
    assert node.kept_state() is None
    node.receive([(b"junk", THERE)], 0.0)
    assert node.kept_state() is None


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda _: b"", "it has only 0 bytes"),
        (lambda state: b"xyz" + state[3:], "it begins with"),
        (lambda state: state[:3] + b"\x63" + state[4:], "it has version 99, this is 1"),
        (lambda state: state[:-1], "checksum"),
        (lambda state: state[:20] + b"\x00" + state[21:], "checksum"),
    ],
)
def test_a_state_that_is_damaged_is_refused(damage, words):
    node = RingNode(A, RingConfig(), founders=FOUNDERS)
    node.start(0.0)
    state = node.kept_state()
    RingNode(A, RingConfig(), state=state)
    with pytest.raises(ConfigError, match=words):
        RingNode(A, RingConfig(), state=damage(state))
    with pytest.raises(ConfigError, match=r"it is that of a\.0, not of b\.0"):
        RingNode(B, RingConfig(), state=state)


def test_the_history_of_views_is_not_encoded_with_each_pass():
    node = RingNode(A, RingConfig(), founders=FOUNDERS)
    node.start(0.0)
    node.kept_state()
    encoded = node._keeper._encoded
    node.core.handle(EatingTimeout()) if node.core.token_state == "eating" else None
    node._changed = True
    node.kept_state()

    assert node._keeper._encoded is encoded


# ------------------------------------------------------------------ strangers


def test_another_ring_on_the_same_net_is_not_heard_and_named():
    ours = formed("a", "b")
    theirs = RingSimulator(2, config=RingConfig(ring="theirs"))
    ours_before = ours["a"].core.last_token
    theirs._transmit = lambda _member, data, _to: ours.inject("a", data, ("10.0.0.9", 9))
    theirs.found("a", "b")
    theirs.run(0.5)

    [dropped] = ours["a"].dropped
    assert (dropped.reason, dropped.sender) == ("other_ring", ("10.0.0.9", 9))
    assert ours["a"].core.last_token == ours_before
    ours.run(0.5)
    assert ours.in_one_view("a", "b")


def test_a_token_of_a_stranger_is_dropped_and_its_sender_named():
    ring = formed("a", "b")
    evil = RingNode(Address("z", 0), ring.config, founders=[(Address("z", 0), HERE)])
    copy = ring["a"].core.last_token
    token = copy._replace(to=A, current=evil.address, seq=copy.seq + 1000)
    evil.manager.peers.learn(A, ring["a"].endpoint)
    evil.manager.send(A, token, evil._codec.encode(token), 0.0)
    call = Call911(A, B, evil.address, (A, B), ZERO, 0)
    evil.manager.send(A, call, evil._codec.encode(call), 0.0)
    for data, _ in evil.manager.poll_datagrams():
        ring.inject("a", data, ("6.6.6.6", 666))

    [dropped] = ring["a"].dropped
    assert (dropped.reason, dropped.sender) == ("stranger", ("6.6.6.6", 666))
    assert dropped.detail == "a message of z.0"
    assert ring["a"].node.counters["stranger"] == 2
    assert ring["a"].core.last_token.seq < copy.seq + 1000
    ring.run(1.0)
    assert ring.in_one_view("a", "b")


def test_a_ring_of_many_long_names_still_fits_into_a_datagram():
    names = [f"{'x' * 60}{number:03}" for number in range(48)]
    ring = RingSimulator(1, keeps=False)
    ring.found(*names)
    ring.run_until(lambda: ring.in_one_view(*names))

    assert ring[names[0]].node._codec.token_size < HEADROOM


def test_whom_a_member_waits_for_is_reported():
    ring = formed("a", "b", "c")
    ring.crash("b")
    words = "to acknowledge the token"
    ring.run_until(lambda: words in ring["a"].node.missing(ring.now).values(), 5.0)
    ring.crash("c")
    ring.run(20.0)
    waits = ring["a"].node.missing(ring.now)
    assert set(waits) == {"b.0", "c.0"}
    assert set(waits.values()) <= {"to be heard of again", "to acknowledge a 911"}


def test_a_codec_without_places_still_names_members():
    codec = RaincoreCodec(lambda _: None, lambda: 0)
    node = RingNode(A, RingConfig(), founders=FOUNDERS)
    node.start(0.0)

    body = codec.decode(A, B, codec.encode(node.core.last_token), 0)
    assert body.message.nodelist == (A, B)
    assert {named.port for named in body.roster} == {0}
