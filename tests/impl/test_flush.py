"""FLUSH's core: whole flushes among a few members, and each handler where it must not act."""

from collections import deque
from collections.abc import Iterable
from copy import copy

import pytest

from raincheck.impl.errors import NotEnabled, WireError
from raincheck.impl.flush import events as ev
from raincheck.impl.flush.core import Flush, Repairs
from raincheck.impl.messages import Address, Digest, View, ViewId
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    CONTROL,
    Fetch,
    Fid,
    FlushBody,
    FlushCompleted,
    PlacedView,
    Reconcile,
    ReconcileOk,
    StartFlush,
    StopFlush,
    UnicastHeader,
)

A, B, C = (Address(name, 0) for name in "abc")
FID = Fid(1, A, 1)


class Members:
    """Cores that hear each other at once and in order, with streams of which each has a part."""

    def __init__(
        self, *who: Address, repairs: Repairs | None = None, open_latch: bool = False
    ) -> None:
        self.cores = {m: Flush(m, open_latch=open_latch, repairs=repairs) for m in who}
        self.has = {m: dict.fromkeys(who, 0) for m in who}
        self.queue: deque[tuple[Address, ev.Event]] = deque()
        self.seen: list[tuple[Address, ev.Effect]] = []
        self.slow: set[Address] = set()  # their block() does not return
        for core in self.cores.values():
            core.begin(1, who)

    def do(self, member: Address, event: ev.Event) -> None:
        """Let a member handle an event, and what follows from it."""
        self.queue.append((member, event))
        self.run()

    def run(self) -> None:
        while self.queue:
            member, event = self.queue.popleft()
            if member not in self.cores:
                continue
            for effect in self.cores[member].handle(event):
                self.seen.append((member, effect))
                self._carry_out(member, effect)

    def _carry_out(self, member: Address, effect: ev.Effect) -> None:
        if isinstance(effect, ev.Control):
            self.queue.append((effect.to, ev.arrival(member, effect.body)))
        elif isinstance(effect, ev.TakeDigest) or (
            isinstance(effect, ev.Block) and member not in self.slow
        ):
            self.queue.append((member, self.block_ok(member)))
        elif isinstance(effect, ev.FetchStreams):
            for sender, at, holder in effect.fetches:
                assert self.has[holder][sender] >= at
                self.has[member][sender] = max(at, self.has[member][sender])
            self.queue.append((member, ev.Reconciled()))

    def block_ok(self, member: Address) -> ev.BlockOk:
        members = self.cores[member].members
        return ev.BlockOk(Digest(tuple((m, self.has[member][m]) for m in members)))

    def crash(self, member: Address) -> None:
        del self.cores[member]

    def all_effects(self, kind: type) -> list[tuple[Address, ev.Effect]]:
        return [(member, effect) for member, effect in self.seen if isinstance(effect, kind)]

    def blocked(self) -> list[Address]:
        return [m for m, core in self.cores.items() if core.latch and core.blocked == "yes"]


def install(members: Members, view: int, who: Iterable[Address]) -> None:
    who = tuple(who)
    for member in who:
        members.do(member, ev.InstallView(view, who))


def state_of(core: Flush) -> dict[str, object]:
    """Every attribute that is no method, as it is now."""
    return {n: copy(value) for n, value in vars(core).items() if n != "_handlers"}


def test_a_flush_blocks_all_and_lets_all_go_on() -> None:
    group = Members(A, B, C)
    group.do(A, ev.Suspend((A, B, C)))

    assert group.blocked() == [A, B, C]
    suspended = ev.Suspended(FID, ((A, ()), (B, ()), (C, ())))
    assert group.all_effects(ev.Suspended) == [(A, suspended)]
    assert [m for m, _ in group.all_effects(ev.Block)] == [A, B, C]
    stop = {A: "to stop the flush"}
    assert [core.waiting() for core in group.cores.values()] == [{}, stop, stop]

    group.do(A, ev.Resume())
    assert group.blocked() == []
    assert [m for m, _ in group.all_effects(ev.Unblock)] == [A, B, C]
    assert all(core.open and core.waiting() == {} for core in group.cores.values())

    group.seen.clear()
    group.do(A, ev.Suspend((A, B, C)))
    assert [m for m, _ in group.all_effects(ev.Block)] == [A, B, C], "each flush calls block()"


def test_who_lacks_something_fetches_it_before_suspend_returns() -> None:
    group = Members(A, B, C)
    group.has[A][C] = 2
    group.has[C][C] = 2
    group.do(A, ev.Suspend((A, B, C)))

    assert [(m, e) for m, e in group.all_effects(ev.FetchStreams)] == [
        (B, ev.FetchStreams((Fetch(C, 2, C),)))
    ]
    assert group.has[B][C] == 2
    order = [type(effect) for _, effect in group.seen]
    assert order.index(ev.FetchStreams) < order.index(ev.Suspended)


def test_the_flush_is_done_when_the_last_one_has_fetched_what_it_lacked() -> None:
    core = Flush(A)
    core.begin(1, (A, B, C))
    core.handle(ev.Suspend((A, B, C)))
    fetches = (Fetch(A, 2, A),)
    for member, has in ((A, 2), (B, 1)):
        core.handle(ev.ReceiveCompleted(member, FID, Digest(((A, has), (B, 0), (C, 0)))))
    told = core.handle(ev.ReceiveCompleted(C, FID, Digest(((A, 0), (B, 0), (C, 0)))))
    assert told == [ev.Control(member, Reconcile(FID, fetches)) for member in (B, C)]

    words = "to fetch the multicasts that it lacks"
    assert core.waiting() == {B: words, C: words}
    assert core.handle(ev.ReceiveReconciled(C, FID)) == []
    assert core.handle(ev.ReceiveReconciled(C, FID)) == [], "it has said so twice"
    assert not core.suspended
    assert core.waiting() == {B: words}
    suspended = ev.Suspended(FID, ((A, ()), (B, ()), (C, ())))
    assert core.handle(ev.ReceiveReconciled(B, FID)) == [suspended]
    assert core.waiting() == {}


@pytest.mark.parametrize(
    ("sender", "fid"),
    [(B, Fid(1, A, 2)), (B, Fid(1, B, 1)), (Address("d", 0), FID)],
    ids=["a later flush", "somebody else's", "no participant"],
)
def test_only_a_participant_of_this_flush_answers_for_it(sender: Address, fid: Fid) -> None:
    core = Flush(A)
    core.begin(1, (A, B))
    core.handle(ev.Suspend((A, B)))
    has, lacks = (Digest(((A, at), (B, 0))) for at in (2, 0))
    core.handle(ev.ReceiveCompleted(A, FID, has))
    before = state_of(core)
    assert core.handle(ev.ReceiveCompleted(sender, fid, has)) == []
    assert core.handle(ev.ReceiveReconciled(B, FID)) == [], "nobody was told to fetch yet"
    assert state_of(core) == before

    core.handle(ev.ReceiveCompleted(B, FID, lacks))
    before = state_of(core)
    assert core.handle(ev.ReceiveReconciled(sender, fid)) == []
    assert state_of(core) == before


def test_who_was_asked_to_fetch_nothing_has_not_fetched_it() -> None:
    core = Flush(B)
    core.begin(1, (A, B))
    core.handle(ev.ReceiveStart(A, FID, (A, B)))
    core.handle(ev.BlockOk(Digest()))
    with pytest.raises(NotEnabled, match="fetching"):
        core.handle(ev.Reconciled())


def test_what_a_dead_member_sent_is_fetched_from_whoever_has_it() -> None:
    group = Members(A, B, C)
    group.has[B][C] = 1
    group.crash(C)
    group.do(A, ev.Suspend((A, B)))

    assert group.all_effects(ev.FetchStreams) == [(A, ev.FetchStreams((Fetch(C, 1, B),)))]
    assert [e for _, e in group.all_effects(ev.Freeze)] == [ev.Freeze((C,)), ev.Freeze((C,))]
    assert group.cores[A].suspended


def test_a_participant_that_dies_is_left_out_and_all_answer_anew() -> None:
    group = Members(A, B, C)
    group.crash(C)
    group.do(A, ev.Suspend((A, B, C)))
    assert not group.cores[A].suspended
    assert list(group.cores[A].waiting()) == [C]

    group.do(A, ev.Suspect(C))
    assert group.cores[A].suspended
    assert group.cores[A].asked == Fid(1, A, 2)
    assert group.cores[B].flush == Fid(1, A, 2)
    assert [m for m, _ in group.all_effects(ev.Block)] == [A, B], "block() is called once"
    assert [m for m, _ in group.all_effects(ev.TakeDigest)] == [A, B]


def test_without_the_restart_a_flush_ends_with_the_answers_that_it_has() -> None:
    group = Members(A, B, C, repairs=Repairs(restart=False))
    group.crash(C)
    group.do(A, ev.Suspend((A, B, C)))
    group.do(A, ev.Suspect(C))

    assert group.all_effects(ev.Suspended) == [(A, ev.Suspended(FID, ((A, ()), (B, ()))))]
    group.do(A, ev.Suspect(B))
    assert len(group.all_effects(ev.Suspended)) == 1, "it is done already"


def test_after_suspend_a_suspect_is_only_not_waited_for() -> None:
    group = Members(A, B, C)
    group.do(A, ev.Suspend((A, B, C)))
    group.crash(C)
    group.do(A, ev.Suspect(C))

    assert group.cores[A].suspended
    assert group.cores[A].asked == FID
    assert group.cores[A].participants == (A, B)


def test_the_next_requester_takes_over_and_nobody_is_blocked_twice() -> None:
    group = Members(A, B, C)
    group.do(A, ev.Suspend((A, B, C)))
    group.crash(A)
    for member in (B, C):
        group.do(member, ev.Suspect(A))
    group.do(B, ev.Suspend((B, C)))
    install(group, 2, (B, C))
    group.do(B, ev.Resume())

    assert group.blocked() == []
    assert [m for m, _ in group.all_effects(ev.Block)] == [A, B, C]
    assert [m for m, _ in group.all_effects(ev.Unblock)] == [B, C]


def test_the_digest_is_that_of_the_moment_in_which_the_latch_closes() -> None:
    core = Flush(B)
    core.begin(1, (A, B))
    core.handle(ev.ReceiveStart(A, FID, (A, B)))
    assert core.open, "block() may multicast"
    assert core.handle(ev.Multicast()) == []

    digest = Digest(((A, 3), (B, 4)))
    [answer] = core.handle(ev.BlockOk(digest))
    assert answer == ev.Control(A, FlushCompleted(FID, digest))
    with pytest.raises(NotEnabled, match="Multicast"):
        core.handle(ev.Multicast())


def test_a_new_start_while_block_runs_is_answered_when_it_returns() -> None:
    core = Flush(C)
    core.begin(1, (A, B, C))
    assert core.handle(ev.ReceiveStart(A, FID, (A, B, C))) == [ev.Block()]
    core.handle(ev.Suspect(A))
    later = Fid(1, B, 1)
    assert core.handle(ev.ReceiveStart(B, later, (B, C))) == [ev.Freeze((A,))]

    assert core.handle(ev.BlockOk(Digest())) == [ev.Control(B, FlushCompleted(later, Digest()))]
    assert core.waiting() == {B: "to stop the flush"}


@pytest.mark.parametrize(
    "event",
    [
        ev.ReceiveStop(A, Fid(1, A, 2)),
        ev.ReceiveStop(B, Fid(1, B, 1)),
        ev.ReceiveReconcile(A, Fid(1, A, 2), (Fetch(A, 1, A),)),
        ev.ReceiveCompleted(B, FID, Digest()),
        ev.ReceiveReconciled(B, FID),
        ev.ReceiveStart(A, Fid(1, A, 2), (A, B)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_message_of_another_flush_changes_nothing(event: ev.Event) -> None:
    core = Flush(C)
    core.begin(1, (A, B, C))
    core.handle(ev.ReceiveStart(A, FID, (A, B, C)))
    core.handle(ev.BlockOk(Digest()))
    before = state_of(core)

    assert core.handle(event) == []
    assert state_of(core) == before
    assert core.blocked == "yes"


def test_start_is_not_taken_from_a_suspect_nor_from_who_is_out_of_the_view() -> None:
    core = Flush(C)
    core.begin(1, (A, B, C))
    core.handle(ev.Suspect(A))
    assert core.handle(ev.ReceiveStart(A, FID, (A, B, C))) == []

    core.handle(ev.InstallView(2, (B, C)))
    assert core.suspects == set()
    assert core.handle(ev.ReceiveStart(A, FID, (A, B, C))) == []
    assert core.flush is None


def test_a_frozen_stream_gives_only_what_is_fetched() -> None:
    core = Flush(B)
    core.begin(1, (A, B, C))
    core.handle(ev.ReceiveMulticast(C, 1))
    core.handle(ev.ReceiveStart(A, FID, (A, B)))
    core.handle(ev.BlockOk(Digest()))
    with pytest.raises(NotEnabled, match="frozen"):
        core.handle(ev.ReceiveMulticast(C, 2))

    core.handle(ev.ReceiveReconcile(A, FID, (Fetch(C, 2, A),)))
    assert core.waiting() == {A: "to send the stream of c.0"}
    core.handle(ev.ReceiveMulticast(C, 2))
    with pytest.raises(NotEnabled, match="frozen"):
        core.handle(ev.ReceiveMulticast(C, 3))
    assert core.handle(ev.Reconciled()) == [ev.Control(A, ReconcileOk(FID))]


def test_without_the_freeze_a_stream_goes_on() -> None:
    core = Flush(B, repairs=Repairs(freeze=False))
    core.begin(1, (A, B, C))
    assert core.handle(ev.ReceiveStart(A, FID, (A, B))) == [ev.Block()]
    assert core.handle(ev.ReceiveMulticast(C, 2)) == []


def test_who_does_not_read_a_stream_lacks_nothing_of_it() -> None:
    """A member that has installed the next view no longer has the stream of who is gone."""
    core = Flush(A)
    core.begin(1, (A, B, C))
    core.handle(ev.Suspend((A, B)))
    core.handle(ev.ReceiveCompleted(A, FID, Digest(((A, 1), (B, 1), (C, 5)))))
    [effect] = core.handle(ev.ReceiveCompleted(B, FID, Digest(((A, 1), (B, 1)))))
    assert isinstance(effect, ev.Suspended)


def test_stop_goes_to_members_only() -> None:
    """Who has left the group has taken part in the flush, and is not told of its end."""
    group = Members(A, B, C)
    group.do(A, ev.Suspend((A, B, C)))
    install(group, 2, (A, B))
    group.do(A, ev.Resume())

    stops = [e.to for _, e in group.seen if isinstance(e, ev.Control) and _is_stop(e)]
    assert stops == [A, B]


def _is_stop(effect: ev.Control) -> bool:
    return isinstance(effect.body, StopFlush)


def test_the_answers_carry_what_the_membership_adds() -> None:
    placed = PlacedView(View(ViewId(1, A), (A, B)), (("h", 1), ("h", 2)))
    core = Flush(A)
    core.begin(1, (A, B))
    core.handle(ev.Suspend((A, B)))
    core.handle(ev.ReceiveCompleted(A, FID, Digest(), (placed,)))
    assert core.handle(ev.ReceiveCompleted(B, FID, Digest())) == [
        ev.Suspended(FID, ((A, (placed,)), (B, ())))
    ]


def test_the_latch_opens_by_itself_only_as_a_policy_and_says_so() -> None:
    patient = Members(A, B)
    patient.do(A, ev.Suspend((A, B)))
    with pytest.raises(NotEnabled, match="OpenLatch"):
        patient.do(B, ev.OpenLatch())
    assert not patient.cores[B].open

    hasty = Members(A, B, open_latch=True)
    hasty.do(A, ev.Suspend((A, B)))
    hasty.do(B, ev.OpenLatch())
    assert hasty.cores[B].open
    assert hasty.seen[-1] == (B, ev.LatchOpened(((A, "to stop the flush"),)))


def test_waiting_names_whom_and_what_for() -> None:
    group = Members(A, B)
    group.slow = {B}
    group.do(A, ev.Suspend((A, B)))

    assert group.cores[A].waiting() == {
        B: "to answer START_FLUSH: its block() may not have returned"
    }
    assert group.cores[B].waiting() == {B: "to return from block()"}


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (ev.BlockOk(Digest()), "blocked"),
        (ev.Reconciled(), "fetching"),
        (ev.Resume(), "suspended"),
        (ev.InstallView(3, (A, B)), "view"),
        (ev.Suspend((B,)), "participants"),
        (ev.PassLatch(), "NumberAtLatch"),
        (ev.ReceiveFlushOk(A, FID, 0, Digest()), "Design"),
    ],
)
def test_a_guard_that_is_false_is_named_and_nothing_changes(event: ev.Event, named: str) -> None:
    core = Flush(A)
    core.begin(1, (A, B))
    before = state_of(core)
    with pytest.raises(NotEnabled, match=named):
        core.handle(event)
    assert state_of(core) == before


def test_one_flush_at_a_time() -> None:
    core = Flush(A)
    core.begin(1, (A, B))
    core.handle(ev.Suspend((A, B)))
    with pytest.raises(NotEnabled, match="asked"):
        core.handle(ev.Suspend((A, B)))


@pytest.mark.parametrize(
    "body",
    [
        StartFlush(FID, (A, B)),
        FlushCompleted(FID, Digest(((A, 1), (B, 0)))),
        Reconcile(FID, (Fetch(A, 1, B),)),
        ReconcileOk(FID),
        StopFlush(FID),
    ],
    ids=lambda body: type(body).__name__,
)
def test_messages_cross_the_wire(body: FlushBody) -> None:
    codec = Codec("group", 60_000)
    header = UnicastHeader(A, B, CONTROL, 1, 1, body)
    assert codec.decode(codec.encode(header)).header == header


def test_a_view_that_nobody_can_have_installed_is_rejected() -> None:
    placed = PlacedView(View(ViewId(1, A), (A, B)), (("h", 1),))
    codec = Codec("group", 60_000)
    header = UnicastHeader(A, B, CONTROL, 1, 1, FlushCompleted(FID, Digest(), (placed,)))
    with pytest.raises(WireError, match="endpoints"):
        codec.decode(codec.encode(header))
