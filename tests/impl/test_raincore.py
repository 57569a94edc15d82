"""Raincore's core: the text's figures, what each repair is for, and bad input."""

from collections.abc import Iterable
from copy import copy
from dataclasses import fields, replace

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.raincore import events as ev
from raincheck.impl.raincore.core import Raincore, Repairs
from raincheck.impl.raincore.events import (
    LIMIT,
    NO_TOKEN,
    ZERO,
    Call911,
    Epoch,
    Mail,
    Settled,
    Token,
)
from raincheck.impl.raincore.lists import acked, quorum, with_entry

A, B, C, D = (Address(name, 0) for name in "abcd")
FOUR = (A, B, C, D)
AS_WRITTEN = Repairs(**{repair.name: False for repair in fields(Repairs)})


def words(nodelist: Iterable[Address]) -> str:
    return "".join(member.node for member in nodelist)


class Ring:
    """Cores, and what is under way between them, which is carried only when told to."""

    def __init__(self, founders: tuple[Address, ...] = FOUR, *, repairs: Repairs | None = None):
        """A ring as it is some time after its beginning: the first founder eats at 11."""
        self.repairs = repairs
        self.sent: list[ev.Message] = []
        self.labels: list[tuple[str, str, str, int]] = []  # as in the figures
        self.told: list[tuple[Address, ev.Effect]] = []
        self.cores = {member: Raincore(member, repairs=repairs) for member in founders}
        acks = tuple((member, 0) for member in founders)
        for place, (member, core) in enumerate(self.cores.items()):
            core.up, core.view_state = "up", "agreement"
            core.token_state = "hungry" if place else "eating"
            core.global_view, core.global_view_number = (founders,), 1
            seq = 6 + place + 1 if place else 6 + len(founders) + 1
            core.last_token = Token(
                member, member, ZERO, seq, founders, 1, Settled(1, founders),
                Settled(0, founders), (), frozenset(founders), (), acks,
            )  # fmt: skip

    def do(self, member: Address, event: ev.Event) -> list[ev.Effect]:
        effects = self.cores[member].handle(event)
        for effect in effects:
            if isinstance(effect, Token | Call911):
                self.sent.append(effect)
            else:
                self.told.append((member, effect))
            if isinstance(effect, ev.Eats):
                self.label(member)
        return effects

    def label(self, member: Address) -> None:
        core, token = self.cores[member], self.cores[member].last_token
        self.labels.append((member.node, words(token.nodelist), core.view_state[0], token.seq))

    def carry(self) -> None:
        """Deliver what is under way, or report that it cannot be, until there is nothing."""
        while self.sent:
            message = self.sent.pop(0)
            if self.cores[message.to].up == "up":
                self.do(message.to, ev.arrival(message))
            elif self.cores[message.current].up == "up":
                self.do(message.current, ev.failure(message))

    @property
    def eaters(self) -> list[Address]:
        cores = self.cores.items()
        return [m for m, core in cores if core.up == "up" and core.token_state == "eating"]

    def turn(self, times: int = 1) -> None:
        """Let the token go on so many times."""
        for _ in range(times):
            (eater,) = self.eaters
            self.do(eater, ev.EatingTimeout())
            self.carry()

    def crash(self, *members: Address) -> None:
        for member in members:
            self.cores[member].up = "down"

    def join(self, member: Address, contact: Address) -> None:
        self.cores[member] = Raincore(member, repairs=self.repairs)
        self.do(member, ev.Initialise("joiner", (), (contact,)))
        self.carry()

    def lose_token(self) -> None:
        """The holder sends it, and it never arrives; nobody is told."""
        (eater,) = self.eaters
        self.do(eater, ev.EatingTimeout())
        self.sent.clear()

    def views(self, member: Address) -> list[str]:
        return [words(view) for view in self.cores[member].global_view]

    def all_indications(self, kind: type) -> list[tuple[str, ev.Effect]]:
        return [(member.node, effect) for member, effect in self.told if isinstance(effect, kind)]


def state_of(core: Raincore) -> dict[str, object]:
    return {name: copy(value) for name, value in vars(core).items() if name != "_handlers"}


def call_of(effects: list[ev.Effect]) -> Call911:
    """The 911 that is first among the effects."""
    assert isinstance(effects[0], Call911)
    return effects[0]


def ignored(core: Raincore, event: ev.Event) -> bool:
    """Whether the event is accepted and nothing comes of it."""
    before = state_of(core)
    return core.handle(event) == [] and state_of(core) == before


# ---------------------------------------------------------------------- the figures


@pytest.mark.parametrize("repairs", [AS_WRITTEN, Repairs()], ids=["as written", "repaired"])
def test_figures_12_to_14(repairs: Repairs) -> None:
    ring = Ring(repairs=repairs)
    ring.label(A)
    ring.turn(4)
    assert ring.labels == [
        ("a", "abcd", "a", 11),
        ("b", "abcd", "a", 12),
        ("c", "abcd", "a", 13),
        ("d", "abcd", "a", 14),
        ("a", "abcd", "a", 15),
    ]

    # Figure 13. What was left of B is the copy that it sent, with number 13.
    ring.labels.clear()
    ring.crash(B)
    ring.turn(11 if repairs == Repairs() else 10)
    if repairs == AS_WRITTEN:
        ring.labels.insert(0, ("a", "acd", "c", 16))  # A makes that token and sends it on at once
    assert ring.labels == [
        ("a", "acd", "c", 16),
        ("c", "acd", "c", 17),
        ("d", "acd", "c", 18),
        ("a", "acd", "r", 19),
        ("c", "acd", "r", 20),
        ("d", "acd", "r", 21),
        ("a", "acd", "a", 22),
        ("c", "acd", "a", 23),
        ("d", "acd", "a", 24),
        ("a", "acd", "a", 25),
        ("c", "acd", "a", 26),
    ]
    assert [ring.views(member) for member in (A, C, D)] == [["abcd", "acd"]] * 3

    # Figure 14.
    ring.labels.clear()
    assert ring.cores[B].last_token.seq == 13
    (call, timer) = ring.do(B, ev.Recover())
    assert isinstance(call, Call911)
    assert (call.to, call.seq, timer) == (C, 13, ev.Timer("starving"))
    assert ring.cores[B].view_state == "chaos"
    ring.carry()
    ring.turn(11)
    assert ring.labels == [
        ("b", "acbd", "c", 28),
        ("d", "acbd", "c", 29),
        ("a", "acbd", "c", 30),
        ("c", "acbd", "r", 31),
        ("b", "acbd", "r", 32),
        ("d", "acbd", "r", 33),
        ("a", "acbd", "r", 34),
        ("c", "acbd", "a", 35),
        ("b", "acbd", "a", 36),
        ("d", "acbd", "a", 37),
        ("a", "acbd", "a", 38),
    ]
    assert [ring.views(member) for member in (A, C, D)] == [["abcd", "acd", "acbd"]] * 3
    assert ring.views(B) == ["abcd", "", "acbd"]


# ---------------------------------------------------------------------- beginning


def founders(*members: Address, repairs: Repairs | None = None) -> Ring:
    ring = Ring((), repairs=repairs)
    for member in members:
        ring.cores[member] = Raincore(member, repairs=repairs)
        ring.do(member, ev.Initialise("founder", members, ()))
    return ring


def test_one_founder_makes_the_token_and_all_commit_their_list_first() -> None:
    ring = founders(A, B, C)
    assert ring.eaters == [A]
    assert ring.cores[B].token_state == "hungry"
    ring.turn(9)
    assert [ring.views(member) for member in (A, B, C)] == [["abc"]] * 3
    assert {core.view_state for core in ring.cores.values()} == {"agreement"}
    every = [effect for _, effect in ring.all_indications(ev.Committed)]
    assert every == [ev.Committed(1, (A, B, C))] * 3


def test_as_written_every_founder_makes_a_token() -> None:
    assert founders(A, B, repairs=AS_WRITTEN).eaters == [A, B]


def test_a_ring_of_one_commits_alone_round_by_round() -> None:
    ring = founders(A)
    core = ring.cores[A]
    states = []
    for _ in range(3):
        states.append((core.view_state, core.locked))
        ring.turn()
    assert states == [("chaos", False), ("reserve", True), ("agreement", True)]
    assert ring.views(A) == ["a"]
    assert core.last_token.seq == 1
    assert core.last_token.settled == Settled(1, (A,))


def test_one_after_another_joins() -> None:
    ring = founders(A)
    ring.turn(2)
    ring.join(B, A)
    ring.join(C, A)
    assert ring.cores[A].new_nodes == (B, C)
    ring.turn(9)
    assert ring.views(A) == ["a", "abc"]
    assert ring.views(C) == ["", "abc"]
    assert ring.views(B) == ["", "abc"]


def test_a_joiner_asks_its_contacts_in_turn() -> None:
    core = Raincore(D)
    first, timer = core.handle(ev.Initialise("joiner", (), (A, B)))
    assert isinstance(first, Call911)
    assert (first.to, first.nodelist, timer) == (A, (), ev.Timer("starving"))
    second = call_of(core.handle(ev.Undelivered911(first)))
    assert second.to == B
    third = call_of(core.handle(ev.StarvingTimeout()))
    assert (third.to, third.attempt) == (A, 2)


def test_a_joiner_makes_no_token_of_nothing() -> None:
    core = Raincore(D)
    call = call_of(core.handle(ev.Initialise("joiner", (), (A,))))
    assert ignored(core, ev.Receive911(call._replace(to=D)))


def test_without_incarnations_the_next_life_has_the_same_name() -> None:
    later = Address("a", 7)
    assert Raincore(later).me == later
    assert Raincore(later, repairs=Repairs(incarnations=False)).me == A


# ---------------------------------------------------------------------- the token is lost


def test_the_newest_copy_makes_the_token_anew_in_a_new_epoch() -> None:
    ring = Ring()
    ring.turn()
    ring.lose_token()
    assert ring.eaters == []
    ring.do(A, ev.HungryTimeout())
    ring.carry()
    assert ring.eaters == [], "B has sent the token with 13, A's copy is 12"
    assert ring.cores[A].phase == "ask"
    ring.do(B, ev.HungryTimeout())
    ring.carry()
    assert ring.eaters == [B]
    token = ring.cores[B].last_token
    assert (token.epoch, token.seq, words(token.nodelist)) == (Epoch(1, B), 13, "abcd")
    assert {core.promised for core in ring.cores.values()} == {Epoch(1, B)}
    ring.turn(12)
    assert all(ring.views(member) == ["abcd"] for member in FOUR)
    assert all(core.view_state == "agreement" for core in ring.cores.values())


def test_who_does_not_answer_is_not_on_the_new_list() -> None:
    ring = Ring()
    ring.turn()
    ring.lose_token()
    ring.crash(C)
    ring.do(B, ev.HungryTimeout())
    ring.carry()
    token = ring.cores[B].last_token
    assert words(token.nodelist) == "abd"
    assert token.global_view_number == 2
    assert token.pending == ((A, B, D),)
    assert C in dict(token.acks)  # it may still be needed, and come back
    ring.turn(2)
    token = ring.cores[A].last_token
    assert token.settled == Settled(2, (A, B, D))
    assert C not in dict(token.acks)


@pytest.mark.parametrize("asks_all", [True, False])
def test_who_was_left_out_is_asked_as_long_as_a_majority_may_need_it(asks_all: bool) -> None:
    ring = Ring(repairs=Repairs(asks_all=asks_all))
    ring.turn()
    ring.crash(D)
    ring.lose_token()
    ring.do(B, ev.HungryTimeout())
    ring.carry()
    ring.do(B, ev.Multicast())
    ring.turn()
    assert ring.eaters == [C]
    assert words(ring.cores[C].last_token.nodelist) == "abc"
    ring.crash(A)
    ring.cores[D].up = "up"  # it was cut off only
    ring.turn()
    if not asks_all:  # b and c are half of abcd, without its head
        assert ring.eaters == []
        return
    assert ring.eaters == [C]
    assert words(ring.cores[C].last_token.nodelist) == "bcd"
    ring.turn(9)
    assert [ring.views(member)[-1] for member in (B, C, D)] == ["bcd"] * 3
    readers = [member for member, _ in ring.all_indications(ev.Deliver)]
    assert sorted(readers) == ["b", "c", "d"]


def test_a_minority_makes_no_token() -> None:
    ring = Ring()
    ring.crash(B, C, D)
    ring.turn()  # it cannot be delivered to anybody
    core = ring.cores[A]
    assert (core.token_state, core.phase, core.wanted) == ("starving", "none", ZERO)
    ring.do(A, ev.StarvingTimeout())
    ring.carry()
    assert ring.eaters == []

    alone = Ring(repairs=Repairs(majority=False))
    alone.crash(B, C, D)
    alone.turn()
    assert alone.eaters == [A]
    alone.turn(2)
    assert alone.views(A) == ["abcd", "a"]


def test_of_two_the_lower_one_goes_on() -> None:
    for left, gone, eaters in ((A, B, [A]), (B, A, [])):
        ring = Ring((A, B))
        ring.turn(2 if left == A else 1)
        ring.crash(gone)
        ring.turn()
        assert ring.eaters == eaters


def test_a_token_of_an_epoch_that_was_given_up_is_dropped() -> None:
    ring = Ring()
    ring.do(A, ev.EatingTimeout())
    (late,) = ring.sent
    ring.sent.clear()
    ring.do(A, ev.HungryTimeout())
    ring.carry()
    assert ring.eaters == [A]
    assert ignored(ring.cores[B], ev.arrival(late))

    written = Ring(repairs=AS_WRITTEN)
    written.do(A, ev.EatingTimeout())
    late = written.sent.pop()
    written.do(A, ev.HungryTimeout())
    written.carry()
    written.do(B, ev.arrival(late))
    assert written.eaters == [A, B], "RAI-F2"


def test_who_eats_says_no() -> None:
    call = call_of(Ring().do(D, ev.HungryTimeout()))
    call = call._replace(to=A, seq=11)
    no = call_of(Ring().do(A, ev.Receive911(call)))
    assert (no.status, no.to, no.current) == ("no", D, A)
    passed = call_of(Ring(repairs=AS_WRITTEN).do(A, ev.Receive911(call)))
    assert (passed.status, passed.to, passed.current) == ("yes", B, A), "RAI-F1"


def test_the_higher_of_two_equal_copies_says_no() -> None:
    ring = Ring()
    for member, other, status in ((B, C, "yes"), (C, B, "no")):
        call = ring.do(other, ev.HungryTimeout())[0]
        assert isinstance(call, Call911)
        seq = ring.cores[member].last_token.seq
        (answer,) = ring.do(member, ev.Receive911(call._replace(to=member, seq=seq)))
        assert isinstance(answer, Call911)
        assert answer.status == status


def test_an_answer_to_an_earlier_attempt_does_not_count() -> None:
    def starved(repairs: Repairs) -> tuple[Raincore, Call911]:
        core = Ring(repairs=repairs).cores[B]
        call, _ = core.handle(ev.HungryTimeout())
        core.handle(ev.StarvingTimeout())
        assert isinstance(call, Call911)
        return core, call._replace(to=B, current=A)

    core, stale = starved(Repairs())
    assert ignored(core, ev.Receive911(stale))
    core, stale = starved(AS_WRITTEN)
    core.handle(ev.Receive911(stale))
    assert core.token_state == "eating", "RAI-F3"


def test_a_claim_whose_maker_has_promised_more_since_does_not_count() -> None:
    ring = Ring()
    ring.lose_token()
    ask = call_of(ring.do(A, ev.HungryTimeout()))
    claim = call_of(ring.do(A, ev.Receive911(ask._replace(to=A))))
    other = claim._replace(orig=D, to=A, claim=Epoch(1, D), granted=frozenset({D}), seq=20)
    ring.do(A, ev.Receive911(other))
    assert ring.cores[A].promised == Epoch(1, D)
    back = claim._replace(to=A, granted=frozenset(FOUR))
    assert ignored(ring.cores[A], ev.Receive911(back))


def test_a_claim_that_is_not_above_the_promise_is_refused_with_it() -> None:
    core = Ring().cores[B]
    core.promised = Epoch(5, C)
    call = Call911(
        B, A, A, FOUR, ZERO, 40, phase="claim", claim=Epoch(5, B), granted=frozenset({A})
    )
    no = call_of(core.handle(ev.Receive911(call)))
    assert (no.status, no.promised) == ("no", Epoch(5, C))

    asker = Ring().cores[A]
    asker.token_state = "starving"
    asker.handle(ev.Receive911(no))
    assert asker.heard == 5
    later = call_of(asker.handle(ev.StarvingTimeout()))
    claim = call_of(asker.handle(ev.Receive911(later)))
    assert claim.claim == Epoch(6, A)


def test_a_failure_that_was_false_makes_no_second_token() -> None:
    for repairs, eaters in ((Repairs(), [B]), (AS_WRITTEN, [B, C])):
        ring = Ring(repairs=repairs)
        ring.do(A, ev.EatingTimeout())
        (token,) = ring.sent
        ring.carry()
        assert ring.eaters == [B]
        ring.do(A, ev.failure(token))
        ring.carry()
        assert ring.eaters == eaters, "RAI-F5"


def test_a_failure_report_of_an_older_token_is_ignored() -> None:
    ring = Ring()
    ring.do(A, ev.EatingTimeout())
    (token,) = ring.sent
    ring.carry()
    assert ignored(ring.cores[C], ev.failure(token))
    ring.turn(4)
    assert ignored(ring.cores[A], ev.failure(token))


# ---------------------------------------------------------------------- views


def test_nobody_reserves_before_all_have_held_the_list() -> None:
    core = Raincore(B)
    held = Token(
        B,
        A,
        ZERO,
        5,
        (A, B, C),
        2,
        Settled(1, (A, B)),
        Settled(0, (A, B)),
        ((A, B, C),),
        frozenset({A}),
    )
    core.up = "up"
    core.handle(ev.ReceiveToken(held))
    again = held._replace(seq=8, seen=frozenset({A, B}))
    core.token_state = "hungry"
    core.handle(ev.ReceiveToken(again))
    assert core.view_state == "chaos", "C has not held it"
    core.token_state = "hungry"
    core.handle(ev.ReceiveToken(again._replace(seq=11, seen=frozenset({A, B, C}))))
    assert (core.view_state, core.reserved) == ("reserve", 2)
    assert core.last_token.settled == Settled(2, (A, B, C))
    assert core.last_token.pending == ()


def test_who_starved_trusts_the_list_one_visit_later() -> None:
    """RAI-F16: the token may be one that all others have given up while this member was down."""
    for repairs, states in ((Repairs(), ["chaos", "reserve"]), (AS_WRITTEN, ["reserve"])):
        core = Ring(repairs=repairs).cores[B]
        core.handle(ev.HungryTimeout())
        token, found = core.last_token._replace(to=B), []
        for seq in (30, 34)[: len(states)]:
            core.handle(ev.ReceiveToken(token._replace(seq=seq)))
            found.append(core.view_state)
            core.handle(ev.EatingTimeout())
        assert found == states


def test_another_list_while_it_reserves_leaves_a_hole_that_is_filled() -> None:
    """RAI-F8: once the next list is settled, all on it know that the one before was."""

    def missed(repairs: Repairs) -> Raincore:
        core = Ring(repairs=repairs).cores[B]
        core.view_state, core.reserved, core.global_view_number = "reserve", 2, 2
        core.last_token = core.last_token._replace(nodelist=(A, B, C), global_view_number=2)
        later = core.last_token._replace(
            seq=30, nodelist=(A, B), global_view_number=3, settled=Settled(2, (A, B, C)),
            before=Settled(1, FOUR), pending=((A, B),), seen=frozenset(),
        )  # fmt: skip
        assert ev.Committed(2, (A, B, C)) not in core.handle(ev.ReceiveToken(later))
        assert (core.view_state, core.reserved, core.global_view) == ("chaos", 0, (FOUR, ()))
        core.token_state = "hungry"
        told = core.handle(ev.ReceiveToken(later._replace(seq=32, seen=frozenset({A}))))
        assert (ev.Committed(2, (A, B, C)) in told) == repairs.fills_holes
        assert core.last_token.settled == Settled(3, (A, B))
        assert core.last_token.before == Settled(2, (A, B, C))
        return core

    assert missed(Repairs()).global_view == (FOUR, (A, B, C))
    assert missed(replace(Repairs(), fills_holes=False)).global_view == (FOUR, ())


def test_what_only_its_own_copy_calls_settled_is_not_filled() -> None:
    """RAI-F15: B was the last to see the founders' list, and was lost; A went on without it."""
    ring = founders(A, B)
    ring.turn()
    assert ring.cores[B].last_token.settled == Settled(1, (A, B))
    ring.crash(B)
    ring.do(A, ev.HungryTimeout())
    ring.carry()
    ring.turn(3)
    assert ring.views(A) == ["", "a"]
    ring.do(B, ev.Recover())
    ring.carry()
    ring.turn(8)
    assert ring.views(A) == ["", "a", "ab"]
    assert ring.views(B) == ["", "", "ab"]


def test_who_was_out_in_between_fills_nothing() -> None:
    """It has missed what came before as well, and would have a hole there."""
    core = Ring().cores[B]
    token = core.last_token._replace(
        seq=30, nodelist=(A, C, B), global_view_number=4, settled=Settled(3, (A, C)),
        before=Settled(2, (A, B, C)), pending=((A, C, B),), seen=frozenset({A}),
    )  # fmt: skip
    core.handle(ev.ReceiveToken(token))
    assert core.global_view == (FOUR,)


def test_who_reserves_waits_until_all_have_seen_the_list_again() -> None:
    core = Ring().cores[B]
    core.view_state, core.reserved = "reserve", 1
    core.global_view = ()
    again = core.last_token._replace(epoch=Epoch(1, A), seq=30, seen=frozenset({A}))
    core.handle(ev.ReceiveToken(again))
    assert (core.view_state, core.reserved, core.global_view) == ("reserve", 1, ())
    core.token_state = "hungry"
    core.handle(ev.ReceiveToken(again._replace(seq=34, seen=frozenset(FOUR))))
    assert (core.view_state, core.reserved) == ("agreement", 0)
    assert [words(view) for view in vars(core)["global_view"]] == ["abcd"]


def test_null_takes_no_views_place() -> None:
    core = Ring().cores[B]
    core.view_state, core.reserved = "reserve", 1
    other = core.last_token._replace(seq=30, nodelist=(A, B), global_view_number=2)
    core.handle(ev.ReceiveToken(other))
    assert core.global_view == (FOUR,)


def test_the_index_is_that_of_the_change() -> None:
    """RAI-F7: who starved for a moment commits the same view again, at the same index."""
    for repairs, views in ((Repairs(), ["abcd"]), (AS_WRITTEN, ["abcd", "abcd"])):
        ring = Ring(repairs=repairs)
        ring.do(C, ev.HungryTimeout())
        ring.sent.clear()
        ring.turn(12)
        assert ring.views(C) == views
        assert ring.views(A) == ["abcd"]


# ---------------------------------------------------------------------- mail


def test_all_deliver_the_same_multicasts_in_the_same_order() -> None:
    ring = Ring()
    for member in (C, B, C):
        ring.do(member, ev.Multicast())
    ring.turn(8)
    order: dict[str, list[tuple[str, int]]] = {}
    for name, effect in ring.all_indications(ev.Deliver):
        assert isinstance(effect, ev.Deliver)
        order.setdefault(name, []).append((effect.origin.node, effect.k))
    assert set(order) == set("abcd")
    assert all(each == [("b", 1), ("c", 1), ("c", 2)] for each in order.values())
    (eater,) = ring.eaters
    token = ring.cores[eater].last_token
    assert (token.mail, token.top) == ((), 3), "all have had it"
    assert ring.cores[C].said == 2


def test_a_newcomer_reads_what_is_said_from_now_on() -> None:
    ring = Ring((A, B))
    ring.do(A, ev.Multicast())
    ring.turn(1)
    ring.join(C, B)
    ring.cores[C].last_ordinal = 9  # of a token that was lost, in an earlier time on the ring
    ring.turn(1)
    assert ring.cores[C].last_ordinal == 1
    ring.do(B, ev.Multicast())
    ring.turn(6)
    delivered = [effect for name, effect in ring.all_indications(ev.Deliver) if name == "c"]
    assert delivered == [ev.Deliver(B, 1)]


def test_who_is_off_the_list_holds_no_mail_back() -> None:
    mail = (Mail(4, A, 1), Mail(5, B, 1))
    token = NO_TOKEN._replace(nodelist=(A, B), mail=mail, acks=((A, 3), (B, 4)), top=5)
    assert acked(token, A, 5).mail == mail[1:]
    assert acked(token._replace(acks=()), A, 5).mail == ()


# ---------------------------------------------------------------------- leaving


def test_a_leaver_hands_the_token_on_and_is_gone() -> None:
    ring = Ring()
    ring.do(B, ev.Leave())
    ring.turn(2)
    core = ring.cores[B]
    assert (core.up, core.token_state) == ("up", "hungry")
    assert words(core.last_token.nodelist) == "acd"
    with pytest.raises(NotEnabled):
        core.handle(ev.HungryTimeout())
    core.handle(ev.TokenDelivered())
    assert core.up == "left"
    ring.turn(9)
    assert [ring.views(member) for member in (A, C, D)] == [["abcd", "acd"]] * 3


def test_a_leaver_whose_last_token_does_not_arrive_sees_to_it() -> None:
    ring = Ring()
    ring.do(A, ev.Leave())
    ring.crash(B)
    ring.turn()
    assert ring.eaters == [A]
    assert words(ring.cores[A].last_token.nodelist) == "cda"  # its promise counts as well
    ring.turn()
    assert ring.eaters == [C]
    assert words(ring.cores[C].last_token.nodelist) == "cd"
    ring.do(A, ev.TokenDelivered())
    ring.turn(6)
    assert ring.cores[C].view_state == "agreement"
    assert words(ring.cores[C].global_view[-1]) == "cd"


def test_the_last_one_leaves_at_once() -> None:
    ring = founders(A)
    ring.do(A, ev.Leave())
    ring.do(A, ev.EatingTimeout())
    assert ring.cores[A].up == "left"
    assert ring.sent == []


def test_who_makes_a_token_for_nobody_is_gone() -> None:
    """Without a majority a leaver that came back may find that all on its last list are dead."""
    ring = Ring((A, B), repairs=Repairs(majority=False, asks_all=False))
    ring.do(A, ev.Leave())
    ring.crash(B)
    ring.do(A, ev.EatingTimeout())
    ring.crash(A)
    ring.sent.clear()
    ring.do(A, ev.Recover())
    ring.carry()
    assert ring.cores[A].last_token.nodelist == ()
    ring.do(A, ev.EatingTimeout())
    assert ring.cores[A].up == "left"


def test_a_list_changes_only_with_a_quorum() -> None:
    ring = Ring((A, B))
    core = ring.cores[A]
    core.last_token = core.last_token._replace(pending=((B, C, D), (A, B)), global_view_number=3)
    core.new_nodes = (C,)
    ring.do(A, ev.EatingTimeout())
    assert core.last_token.nodelist == (A, C, B), "B and C are a majority of the one list"
    core.last_token = core.last_token._replace(nodelist=(A, B))
    core.token_state, core.new_nodes, core.leaving = "eating", (Address("e", 0),), True
    ring.do(A, ev.EatingTimeout())
    assert core.last_token.nodelist == (A, B)
    assert core.new_nodes == (Address("e", 0),), "they wait"


# ---------------------------------------------------------------------- lists


def test_a_quorum_is_a_majority_of_every_list_or_half_with_its_head() -> None:
    def decides(members: str, settled: str, *pending: str) -> bool:
        def listed(names: str) -> tuple[Address, ...]:
            return tuple(Address(name, 0) for name in names)

        token = NO_TOKEN._replace(
            settled=Settled(1, listed(settled)), pending=tuple(map(listed, pending))
        )
        return quorum(listed(members), token)

    assert decides("ac", "abc")
    assert decides("ad", "abcd")
    assert decides("ca", "cabd"), "the head, whatever its address"
    assert not decides("bc", "abcd")
    assert not decides("a", "abc")
    assert not decides("ab", "abc", "cde")
    assert not decides("", ""), "of nothing"


def test_what_is_left_out_of_a_history_is_null() -> None:
    assert with_entry((), 3, (A,)) == ((), (), (A,))
    assert with_entry(((B,), (), (C,)), 2, (A,)) == ((B,), (A,), (C,))


# ---------------------------------------------------------------------- guards


@pytest.mark.parametrize(
    ("up", "token_state", "event"),
    [
        ("up", "hungry", ev.Initialise("founder", FOUR, ())),
        ("new", "starving", ev.Initialise("founder", (B, C), ())),
        ("new", "starving", ev.Initialise("founder", (A, B, B), ())),
        ("new", "starving", ev.Initialise("joiner", (), ())),
        ("down", "hungry", ev.ReceiveToken(NO_TOKEN)),
        ("left", "hungry", ev.Receive911(Call911(A, B, B, FOUR, ZERO, 1))),
        ("down", "hungry", ev.TokenUndelivered(NO_TOKEN)),
        ("down", "hungry", ev.Undelivered911(Call911(A, B, B, FOUR, ZERO, 1))),
        ("up", "hungry", ev.EatingTimeout()),
        ("down", "eating", ev.EatingTimeout()),
        ("up", "eating", ev.HungryTimeout()),
        ("up", "hungry", ev.StarvingTimeout()),
        ("up", "hungry", ev.TokenDelivered()),
        ("up", "eating", ev.TokenDelivered()),
        ("new", "starving", ev.Multicast()),
        ("left", "hungry", ev.Leave()),
        ("up", "hungry", ev.Recover()),
        ("left", "hungry", ev.Recover()),
    ],
)
def test_a_handler_whose_guard_is_false_changes_nothing(
    up: str, token_state: str, event: ev.Event
) -> None:
    core = Ring().cores[A]
    core.up, core.token_state = up, token_state
    before = state_of(core)
    with pytest.raises(NotEnabled, match=f"{type(event).__name__} is not enabled"):
        core.handle(event)
    assert state_of(core) == before


def test_who_leaves_says_nothing_more() -> None:
    core = Ring().cores[B]
    core.handle(ev.Leave())
    for event in (ev.Leave(), ev.Multicast()):
        with pytest.raises(NotEnabled):
            core.handle(event)


# ---------------------------------------------------------------------- bad input


def good_token(ring: Ring) -> Token:
    """A token that B would take."""
    ring.do(A, ev.EatingTimeout())
    token = ring.sent.pop()
    assert isinstance(token, Token)
    return token


@pytest.mark.parametrize(
    "change",
    [
        {"nodelist": (A, C, D)},
        {"nodelist": (A, B, B, C)},
        {"nodelist": ()},
        {"seq": LIMIT + 1},
        {"seq": 7},
        {"seq": 8, "nodelist": (A, B)},
        {"epoch": Epoch(LIMIT + 1, D)},
        {"global_view_number": LIMIT + 1},
        {"settled": Settled(LIMIT + 1, FOUR)},
        {"before": Settled(LIMIT + 1, FOUR)},
        {"top": LIMIT + 1},
        {"mail": (Mail(1, A, 1),)},
    ],
    ids=str,
)
def test_a_token_that_is_old_or_makes_no_sense_is_dropped(change: dict[str, object]) -> None:
    ring = Ring()
    token = good_token(ring)
    assert ignored(ring.cores[B], ev.arrival(token._replace(**change)))  # type: ignore[arg-type]
    ring.do(B, ev.arrival(token))
    assert ring.eaters == [B]


def test_the_greatest_number_is_taken() -> None:
    ring = Ring()
    ring.do(B, ev.arrival(good_token(ring)._replace(seq=LIMIT)))
    assert ring.cores[B].last_token.seq == LIMIT


def test_a_token_that_comes_again_is_dropped() -> None:
    ring = Ring()
    token = good_token(ring)
    ring.do(B, ev.arrival(token))
    assert ignored(ring.cores[B], ev.arrival(token)), "while it eats"
    ring.do(B, ev.EatingTimeout())
    assert ignored(ring.cores[B], ev.arrival(token)), "and afterwards"


@pytest.mark.parametrize(
    "change",
    [
        {"nodelist": (A, B, C, B)},
        {"seq": LIMIT + 1},
        {"epoch": Epoch(LIMIT + 1, B)},
        {"claim": Epoch(LIMIT + 1, B)},
        {"promised": Epoch(LIMIT + 1, B)},
        {"attempt": LIMIT + 1},
        {"status": "no"},
        {"status": "reject"},
    ],
    ids=str,
)
def test_a_911_that_makes_no_sense_is_dropped(change: dict[str, object]) -> None:
    ring = Ring()
    call = call_of(ring.do(B, ev.HungryTimeout()))
    assert ring.cores[C].handle(ev.arrival(call)) != []
    assert ignored(ring.cores[C], ev.arrival(call._replace(**change)))  # type: ignore[arg-type]


def test_a_911_round_a_ring_without_its_receiver_goes_back() -> None:
    """It says YES to nothing that matters: who is not on the list is not on the new one."""
    ring = Ring()
    call = call_of(ring.do(B, ev.HungryTimeout()))
    back = call_of(ring.do(D, ev.Receive911(call._replace(to=D, nodelist=(A, B), seq=40))))
    assert back.to == B


def test_a_911_of_a_stranger_is_a_wish_to_join_and_counts_once() -> None:
    ring = Ring()
    stranger = Address("e", 3)
    call = Call911(B, stranger, stranger, (), ZERO, 0)
    for _ in range(2):
        assert ring.do(B, ev.Receive911(call)) == []
    assert ring.cores[B].new_nodes == (stranger,)


def test_a_911_that_comes_again_does_nothing_more() -> None:
    ring = Ring()
    ring.turn()
    ring.lose_token()
    call = call_of(ring.do(B, ev.HungryTimeout()))
    ring.carry()
    assert ring.eaters == [B]
    assert ignored(ring.cores[B], ev.Receive911(call._replace(to=B)))


def test_an_epoch_at_the_limit_is_never_claimed() -> None:
    ring = Ring()
    ring.turn()
    ring.lose_token()
    core = ring.cores[B]
    core.heard = LIMIT
    call = call_of(ring.do(B, ev.HungryTimeout()))
    assert core.handle(ev.Receive911(call._replace(to=B))) == [ev.Timer("starving")]
    assert (core.phase, core.promised) == ("ask", ZERO)


@pytest.mark.parametrize("status", ["no", "yes"])
def test_a_911_for_a_member_that_is_not_there_is_given_up(status: str) -> None:
    call = Call911(C, C, B, FOUR, ZERO, 9, status=status)
    assert ignored(Ring().cores[B], ev.Undelivered911(call))


def test_a_911_goes_past_who_is_not_there() -> None:
    ring = Ring()
    call = Call911(D, B, C, FOUR, ZERO, 9)
    (past,) = ring.do(C, ev.Undelivered911(call))
    assert past == call._replace(to=A)
