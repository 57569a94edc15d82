"""State transfer: the core's three roles, its layer against garbage, and the desk's calls."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from raincheck.impl.aio.state_callbacks import StateDesk, StateInterrupted, StateNotTransferred
from raincheck.impl.errors import NotEnabled
from raincheck.impl.flush.events import Suspect as Gone
from raincheck.impl.messages import UNORDERED, Address, Digest, Payloads, Run, View, ViewId
from raincheck.impl.sequencer.events import Deliver as Delivered
from raincheck.impl.stack.application import Application as Above
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.layer import Ground, Layer, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.stack.passing import Found, Install, Joined, Mail, Transfer, Transferred, Wanted
from raincheck.impl.stack.state_transfer_layer import StateTransferLayer, cut_number
from raincheck.impl.stack.timers import NEVER
from raincheck.impl.state_transfer.core import Repairs, Serving, StateTransfer
from raincheck.impl.state_transfer.events import (
    Ask,
    Begin,
    Begun,
    Deliver,
    EndState,
    Failed,
    GetState,
    HandUp,
    InstallView,
    Join,
    Read,
    ReadFailed,
    ReceiveAsk,
    ReceiveCancel,
    ReceiveChunk,
    ReceiveCredit,
    ReceiveDone,
    ReceiveGo,
    ReceiveRefuse,
    ReceiveRequest,
    Resume,
    SendAsk,
    SendCancel,
    SendChunk,
    SendCredit,
    SendDone,
    SendGo,
    SendRefuse,
    SendRequest,
    StateSet,
    Suspect,
    Take,
    TimeOut,
)
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import STATE, JoinRspBody, PlacedView
from raincheck.impl.wire.state_bodies import StateChunk, StateGo, StateRequest, checksum

A, B, C, D = (Address(name, 0) for name in "abcd")


def requester(*providers: Address, window: int = 2, repairs: Repairs | None = None):
    """D, which has asked A and was told to fetch the state of cut 7 from these."""
    core = StateTransfer(D, (A, B, C), window=window, repairs=repairs)
    core.handle(Ask())
    core.handle(ReceiveGo(A, 7, providers or (A, B)))
    return core


def chunk(number: int, *, sender=A, transfer=1, cut=7, sound=True, last=False) -> ReceiveChunk:
    return ReceiveChunk(sender, transfer, number, cut, sound, last, b"part %d" % number)


# ------------------------------------------------------------------ the requester


def test_a_requester_asks_fetches_sets_and_is_done() -> None:
    core = StateTransfer(D, (A, B), window=2)
    assert core.handle(Ask()) == [SendAsk(A)]
    assert core.missing() == {A: "to begin the state transfer"}
    assert not core.holding

    assert core.handle(ReceiveGo(A, 7, (A, B))) == [Begun(A, 1), SendRequest(A, 1, 2)]
    assert core.holding
    assert core.missing() == {A: "to send the state (chunk 1)"}
    assert core.handle(chunk(1)) == [HandUp(b"part 1", False)]
    assert core.handle(Take()) == [SendCredit(A, 1, 3)]
    assert core.handle(chunk(2, last=True)) == [HandUp(b"part 2", True)]
    assert core.handle(Take()) == []
    with pytest.raises(NotEnabled, match="Deliver"):
        core.handle(Deliver())

    assert core.handle(StateSet(True)) == [SendDone(A, True)]
    assert core.handle(Deliver()) == []
    assert (core.phase, core.missing()) == ("set", {})


def test_credit_is_given_for_half_a_window_at_a_time() -> None:
    core = requester(window=4)
    for number in (1, 2, 3):
        core.handle(chunk(number))

    assert core.handle(Take()) == []
    assert core.handle(Take()) == [SendCredit(A, 1, 6)]
    assert core.handle(Take()) == []
    with pytest.raises(NotEnabled, match="Take"):
        core.handle(Take())


@pytest.mark.parametrize(
    ("bad", "counted"),
    [
        (chunk(2), "state_chunk_damaged"),
        (chunk(1, sound=False), "state_chunk_damaged"),
        (chunk(1, cut=8), "state_chunk_of_another_cut"),
        (chunk(1, cut=6), "state_chunk_of_another_cut"),
    ],
)
def test_garbage_is_rejected_counted_and_another_provider_asked(bad, counted) -> None:
    core = requester()

    effects = core.handle(bad)

    assert effects == [SendCancel(A, 1), Begun(B, 2), SendRequest(B, 2, 2)]
    assert core.counters == {counted: 1}


def test_more_chunks_than_the_window_allows_are_garbage() -> None:
    core = requester(window=1)
    core.handle(chunk(1))

    assert SendCancel(A, 1) in core.handle(chunk(2))
    assert core.counters == {"state_chunk_beyond_credit": 1}


@pytest.mark.parametrize(
    "stale",
    [
        chunk(1, transfer=2),
        chunk(1, sender=B),
        ReceiveRefuse(B, 1),
        ReceiveRefuse(A, 2),
    ],
)
def test_what_belongs_to_another_transfer_is_counted_and_nothing_more(stale) -> None:
    core = requester()

    assert core.handle(stale) == []
    assert (core.phase, core.provider, core.counters.total()) == ("fetching", A, 1)


def test_a_provider_that_dies_refuses_or_is_silent_is_replaced_and_then_it_fails() -> None:
    core = requester(A, B, C)
    assert core.handle(ReceiveRefuse(A, 1)) == [Begun(B, 2), SendRequest(B, 2, 2)]
    core.handle(chunk(1, sender=B, transfer=2))

    assert core.handle(Suspect(B)) == [Begun(C, 3), SendRequest(C, 3, 2)]
    assert core.next == 1
    assert core.handle(TimeOut()) == [
        SendCancel(C, 3),
        Failed("d.0 did not get the group's state: no member could give it"),
        SendDone(A, False),
    ]
    assert core.phase == "failed"


def test_who_waits_for_a_leader_that_dies_asks_the_next() -> None:
    core = requester(B, C)

    assert core.handle(Suspect(A)) == [SendCancel(B, 1), SendAsk(B)]
    assert core.handle(ReceiveGo(A, 7, (B, C))) == []  # the dead one's, late
    assert core.handle(ReceiveGo(B, 7, (C,))) == [Begun(C, 2), SendRequest(C, 2, 2)]
    assert core.handle(Suspect(C)) == [
        Failed("d.0 did not get the group's state: no member could give it"),
        SendDone(B, False),
    ]


def test_with_nobody_left_to_lead_asking_fails() -> None:
    core = StateTransfer(D, (A,))
    core.handle(Ask())

    assert core.handle(Suspect(A)) == [
        Failed("d.0 did not get the group's state: no member is left to ask")
    ]


def test_an_application_that_cannot_set_the_state_ends_the_transfer() -> None:
    core = requester()

    assert core.handle(StateSet(False)) == [SendCancel(A, 1), SendDone(A, False)]
    assert core.phase == "failed"


def test_go_for_one_that_is_not_waiting_is_answered_so_that_nobody_waits() -> None:
    core = StateTransfer(D, (A, B))

    assert core.handle(ReceiveGo(A, 7, (A, B))) == [SendDone(A, False)]


def test_a_joiner_discards_what_is_delivered_until_it_fetches() -> None:
    core = StateTransfer(D)
    core.handle(Join(A, (A, B, D)))
    assert (core.discarding, core.holding) == (True, False)

    core.handle(ReceiveGo(A, 7, (A, B)))
    assert (core.discarding, core.holding) == (False, True)


# ------------------------------------------------------------------ the provider


def test_a_provider_reads_as_far_as_credit_goes() -> None:
    core = StateTransfer(A, (A, B))
    assert core.handle(ReceiveRequest(D, 1, 1)) == [GetState(D, 1)]
    assert core.handle(Read(D, 1, 7, False, b"x")) == [SendChunk(D, 1, 1, 7, True, False, b"x")]
    assert not core.room(D)
    with pytest.raises(NotEnabled, match="Read"):
        core.handle(Read(D, 2, 7, True, b"y"))

    assert core.handle(ReceiveCredit(D, 1, 2)) == []
    assert core.room(D)
    assert core.handle(Read(D, 2, 7, True, b"y")) == [SendChunk(D, 1, 2, 7, True, True, b"y")]
    assert core.serving == {}


def test_a_provider_serves_several_and_stops_for_each() -> None:
    core = StateTransfer(A, (A, B))
    core.handle(ReceiveRequest(C, 1, 4))
    core.handle(ReceiveRequest(D, 5, 4))

    assert core.handle(ReceiveRequest(D, 5, 9)) == []  # the same once more
    assert core.handle(ReceiveRequest(D, 6, 4)) == [EndState(D), GetState(D, 6)]
    assert core.handle(ReceiveCancel(D, 5)) == []  # the one before
    assert core.serving == {C: Serving(1, 1, 4), D: Serving(6, 1, 4)}
    assert core.handle(ReceiveCancel(D, 6)) == [EndState(D)]
    assert core.handle(ReadFailed(C)) == [SendRefuse(C, 1)]
    assert core.serving == {}
    with pytest.raises(NotEnabled, match="ReadFailed"):
        core.handle(ReadFailed(C))


def test_who_has_no_whole_state_refuses() -> None:
    core = requester()

    assert core.handle(ReceiveRequest(C, 1, 2)) == [SendRefuse(C, 1)]


# ------------------------------------------------------------------ the leader


def test_a_leader_lets_all_go_at_once_and_resumes_after_the_last() -> None:
    core = StateTransfer(A, (A, B, C))
    core.handle(ReceiveAsk(C))
    core.handle(ReceiveAsk(D))
    core.handle(ReceiveAsk(D))
    assert core.queue == (C, D)

    assert core.handle(Begin(7)) == [SendGo(C, 7, (A, B)), SendGo(D, 7, (A, B))]
    assert core.handle(ReceiveAsk(D)) == []  # it is being served
    with pytest.raises(NotEnabled, match="Begin"):
        core.handle(Begin(7))
    assert core.missing() == {C: "to receive the state", D: "to receive the state"}
    assert core.handle(ReceiveDone(B, True)) == []
    assert core.handle(ReceiveDone(C, True)) == []
    assert core.handle(Suspect(D)) == [Resume()]
    assert core.handle(ReceiveDone(D, False)) == []
    assert core.counters == {"state_done_unexpected": 2}


def test_members_that_are_no_longer_in_the_view_are_gone() -> None:
    core = StateTransfer(A, (A, B, C))
    core.handle(ReceiveAsk(C))
    core.handle(Begin(7))

    assert core.handle(InstallView((A, B))) == [Resume()]
    assert (core.members, core.suspects) == ((A, B), frozenset())


# ------------------------------------------------------------------ the layer


class Wire(Layer):
    """In place of UNICAST, and of GMS: keeps what is sent, and what GMS is told."""

    def __init__(self, ground: Ground, sent: list[Any]) -> None:
        super().__init__(ground)
        self.sent, self.wanted, self.transferred = sent, False, 0

    def send(self, to, lane, body, _now, _payloads=None) -> None:
        assert lane == STATE
        self.sent.append((self.me, to, body))

    def down(self, event, _now) -> None:
        match event:
            case Wanted(wanted):
                self.wanted = wanted
            case Transferred():
                self.transferred += 1


class Driven(StateTransferLayer):
    """What the layers around would have it do; seven messages were delivered in each view."""

    below: Wire

    def _cut(self) -> int:
        return 7

    def handle(self, source, body, now) -> None:
        self.up(Mail(source, body), now)

    def install(self, members, now) -> None:
        view = View(ViewId(1, members[0]), tuple(members))
        self.up(Install(PlacedView(view, ())), now)

    def joined(self, leader, members) -> None:
        placed = PlacedView(View(ViewId(1, leader), members), ())
        self.up(Joined(leader, JoinRspBody(placed, (), Digest(), Digest(), 1), True), 0.0)

    def asked(self, joiner) -> None:
        view = View(ViewId(2, self.me), (*self.core.members,))
        self.up(Install(PlacedView(view, ()), (joiner,)), 0.0)

    def suspect(self, member, now) -> None:
        self.up(Gone(member), now)


class Members:
    """Layers of several members with a network between them that is emptied by `settle`."""

    def __init__(self, *names: Address, **settings: Any) -> None:
        self.sent: list[Any] = []
        self.gone: set[Address] = set()
        self.desks: dict[Address, StateDesk] = {}
        self.now = 0.0
        config = StackConfig(**settings)
        self.layers = {}
        for name in names:
            ground = Ground(name, config, Outbox(Codec("x", 60_000)), 1)
            self.layers[name] = Driven(ground)
            piled([Wire(ground, self.sent), self.layers[name], Above(ground)])
        self.most = 0
        for layer in self.layers.values():
            layer.install(names, 0.0)

    def settle(self) -> None:
        while self.sent:
            sent, self.sent[:] = list(self.sent), []
            self.most = max(self.most, sum(isinstance(b, StateChunk) for _, _, b in sent))
            for source, to, body in sent:
                if source not in self.gone and to not in self.gone:
                    self.layers[to].handle(source, body, self.now)
        for name, layer in self.layers.items():
            for indication in layer.poll():
                if name in self.desks:
                    self.desks[name].reported(indication)

    def kill(self, gone: Address) -> None:
        self.gone.add(gone)
        for name, layer in self.layers.items():
            if name not in self.gone:
                layer.suspect(gone, self.now)
        self.settle()


def test_the_layer_counts_silence_only_while_the_provider_could_send() -> None:
    members = Members(A, B, C, state_timeout=5.0, state_window=1)
    layer = members.layers[C]
    layer.joined(A, (A, B, C))
    layer.handle(A, StateGo(7, (A, B)), 1.0)
    assert layer.deadline() == 6.0

    crc = checksum(1, 1, 7, False, b"part")
    layer.handle(A, StateChunk(1, 1, 7, crc, False, b"part"), 2.0)
    assert layer.deadline() == NEVER  # the application has not taken it
    layer.take(3.0)
    assert layer.deadline() == 8.0

    layer.handle_timer(8.0)
    assert layer.core.provider == B
    assert layer.counters["state_provider_silent"] == 1


def test_a_chunk_that_says_something_else_than_its_checksum_is_damaged() -> None:
    whole = (1, 1, 7, False, b"part")
    crc = checksum(*whole)
    for place, other in enumerate((2, 2, 8, True, b"Part")):
        fields = [*whole]
        fields[place] = other
        assert checksum(*fields) != crc

    members = Members(A, B, C)
    layer = members.layers[C]
    layer.joined(A, (A, B, C))
    layer.handle(A, StateGo(7, (A, B)), 0.0)
    layer.handle(A, StateChunk(1, 1, 7, crc, False, b"Part"), 0.0)
    assert layer.counters["state_chunk_damaged"] == 1
    assert members.sent[-1] == (C, B, StateRequest(2, 16))


def test_a_leader_that_asks_for_itself_gets_the_state_of_another() -> None:
    members = Members(A, B)
    a, b = members.layers[A], members.layers[B]

    a.ask(0.0)
    assert a.below.wanted
    a.up(Transfer(), 0.0)
    assert members.sent == [(A, B, StateRequest(1, 16))]
    members.settle()
    b.give(A, b"all of it", True, 0.0)
    members.settle()
    assert a.below.transferred == 0
    a.take(0.0)
    a.finish(True, 0.0)

    assert a.below.transferred == 1
    assert not a.ground.holding


def delivering(*members: Address) -> StateTransferLayer:
    """A layer in its first view, under the application."""
    ground = Ground(members[0], StackConfig(), Outbox(Codec("x", 60_000)), 1)
    made = StateTransferLayer(ground)
    piled([Wire(ground, []), made, Above(ground)])
    made.up(Found(PlacedView(View(ViewId(1, A), members), ())), 0.0)
    return made


def test_the_cut_is_behind_what_was_delivered_in_this_view() -> None:
    made = delivering(A, B)
    made.up(Delivered(Run(B, 1, 3), 1, Payloads.pack([b"x"] * 3)), 0.0)
    made.up(Delivered(Run(A, 1, 2), 1, Payloads.pack([b"x"] * 2)), 0.0)
    assert made._cut() == cut_number(1, 5)
    made.up(Delivered(Run(A, UNORDERED, 4), 1, Payloads.pack([b"x"] * 4)), 0.0)
    assert made._cut() == cut_number(1, 5, 4)

    made.up(Install(PlacedView(View(ViewId(2, A), (A, B)), ())), 0.0)
    assert made._cut() == cut_number(2, 0)


def test_what_is_discarded_is_counted_and_not_reported() -> None:
    made = delivering(A, B)
    made.ground.reports.clear()
    made.core.newcomer, made.core.phase = True, "asking"
    assert made.core.discarding
    made.up(Delivered(Run(B, 1, 3), 1, Payloads.pack([b"x"] * 3)), 0.0)
    assert made._cut() == cut_number(1, 3)
    assert made.ground.reports == []

    made.core.newcomer = False
    assert not made.core.discarding
    made.up(Delivered(Run(B, 4, 1), 1, Payloads.pack([b"x"])), 0.0)
    assert [(each.first, each.count) for each in made.ground.reports] == [(4, 1)]  # type: ignore[union-attr]


def test_cuts_of_different_views_are_different() -> None:
    numbers = {
        cut_number(view, delivered, unordered)
        for view in range(1, 50)
        for delivered in range(50)
        for unordered in range(5)
    }

    assert len(numbers) == 49 * 50 * 5
    most = cut_number((1 << 60) - 1, (1 << 36) - 1, (1 << 60) - 1)
    assert most < 1 << 60  # what the wire takes


# ------------------------------------------------------------------ the desk


class Side:
    """What a desk wants of its stack, on the layers of `Members`."""

    def __init__(self, members: Members, me: Address) -> None:
        self.layer, self.members = members.layers[me], members
        self.max_chunk = 1000
        self.patience = 10.0
        self.application_timeout = 10.0
        self.busy = asyncio.Event()
        self.busy.set()

    def room(self, requester: Address) -> bool:
        return self.layer.room(requester)

    def give(self, requester: Address, payload: bytes, last: bool) -> None:
        assert len(payload) <= self.max_chunk
        self._run(lambda: self.layer.give(requester, payload, last, self.members.now))

    def refuse(self, requester: Address) -> None:
        self._run(lambda: self.layer.refuse(requester, self.members.now))

    def take(self) -> None:
        self._run(lambda: self.layer.take(self.members.now))

    def finish(self, ok: bool) -> None:
        self._run(lambda: self.layer.finish(ok, self.members.now))

    def _run(self, step: Callable[[], None]) -> None:
        step()
        asyncio.get_running_loop().call_soon(self.members.settle)

    async def settled(self) -> None:
        await asyncio.sleep(0)

    async def consumed(self) -> None:
        await self.busy.wait()

    async def superseded(self, waiting: asyncio.Task[object] | None) -> None:
        assert waiting is None
        await self.busy.wait()


def run(body: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await body

    asyncio.run(limited())


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Application:
    """Takes a state; remembers how often it was asked to."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.calls = self.interrupted = 0

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.calls += 1
        self.parts.clear()
        try:
            async for part in chunks:
                self.parts.append(part)
        except StateInterrupted:
            self.interrupted += 1
            raise

    @property
    def state(self) -> bytes:
        return b"".join(self.parts)


def desks(members: Members, get_states: dict[Address, Any], me: Address, set_state: Any) -> None:
    """A desk for each; the requester is about to be served by the leader A."""
    for name in members.layers:
        setter = set_state if name == me else None
        members.desks[name] = StateDesk(Side(members, name), get_states.get(name), setter)
    members.layers[me].joined(A, tuple(members.layers))
    members.layers[A].asked(me)
    members.layers[A].up(Transfer(), 0.0)
    members.settle()


BYTES = bytes(range(256)) * 50


def in_pieces():
    yield b""
    for start in range(0, len(BYTES), 77):
        yield BYTES[start : start + 77]


async def in_pieces_later():
    for piece in in_pieces():
        yield piece


async def whole() -> bytes:
    return BYTES


@pytest.mark.parametrize(
    ("get_state", "wanted"),
    [
        (lambda: BYTES, BYTES),
        (lambda: bytearray(BYTES), BYTES),
        (in_pieces, BYTES),
        (in_pieces_later, BYTES),
        (whole, BYTES),
        (lambda: b"", b""),
        (lambda: [], b""),
        (lambda: [BYTES, b"tail"], BYTES + b"tail"),
    ],
)
def test_a_state_in_any_shape_arrives_in_bounded_pieces(get_state, wanted: bytes) -> None:
    async def body() -> None:
        members, application = Members(A, B, C, state_window=2), Application()
        desks(members, {A: get_state}, C, application.set_state)

        await members.desks[C].arrived()

        assert application.state == wanted
        assert application.calls == 1
        assert members.most <= 2
        members.settle()
        assert members.layers[A].below.transferred == 1

    run(body())


def test_a_provider_that_dies_half_way_is_followed_by_another_from_the_beginning() -> None:
    async def body() -> None:
        members, application = Members(A, B, C, state_window=2), Application()
        states = {A: lambda: b"a" * 9000, B: lambda: b"b" * 9000}
        desks(members, states, C, application.set_state)
        members.layers[B].core.members = (A, B)
        while len(application.parts) < 3:
            await asyncio.sleep(0)

        members.kill(A)  # it led as well: the next leader begins
        members.settle()
        assert members.layers[B].below.wanted
        members.layers[B].up(Transfer(), 0.0)
        members.settle()
        await members.desks[C].arrived()

        assert application.state == b"b" * 9000
        assert (application.calls, application.interrupted) == (2, 1)

    run(body())


def test_get_state_that_fails_at_once_or_later_is_another_members_turn(caplog) -> None:
    def later():
        yield b"x" * 5000
        raise OSError("disk full")

    async def body() -> None:
        for failing in (later, lambda: 1 / 0, lambda: 5, None):
            members, application = Members(A, B, C), Application()
            desks(members, {A: failing, B: lambda: BYTES}, C, application.set_state)
            await members.desks[C].arrived()
            assert application.state == BYTES

    run(body())
    assert "disk full" in caplog.text


def test_a_state_that_cannot_be_set_or_given_is_one_sentence() -> None:
    async def bad(chunks: AsyncIterator[bytes]) -> None:
        async for _ in chunks:
            raise ValueError("no state of mine")

    async def body() -> None:
        members = Members(A, B, C)
        desks(members, {A: lambda: BYTES}, C, bad)
        with pytest.raises(StateNotTransferred, match=r"set_state failed.*no state of mine"):
            await members.desks[C].arrived()
        await turns(5)
        assert members.layers[A].below.transferred == 1

        members, application = Members(A, B, C), Application()
        desks(members, {}, C, application.set_state)
        with pytest.raises(StateNotTransferred, match=r"c\.0 did not get .*: no member could"):
            await members.desks[C].arrived()

    run(body())


def test_neither_is_called_before_the_application_has_taken_all_messages() -> None:
    async def body() -> None:
        members, application = Members(A, B, C), Application()
        calls = []
        desks(members, {A: lambda: calls.append(1) or BYTES}, C, application.set_state)
        sides = [members.desks[name]._stack for name in (A, C)]
        for side in sides:
            side.busy.clear()
        await turns(20)
        assert (calls, application.calls) == ([], 0)

        sides[0].busy.set()
        await turns(20)
        assert (calls, application.calls) == ([1], 0)
        sides[1].busy.set()
        await members.desks[C].arrived()
        assert application.state == BYTES

    run(body())


def test_an_application_that_never_comes_back_ends_its_transfer_and_the_group_goes_on() -> None:
    async def body() -> None:
        members, application = Members(A, B, C), Application()
        desks(members, {A: lambda: BYTES}, C, application.set_state)
        side = members.desks[C]._stack
        side.patience = 0.01
        side.busy.clear()

        with pytest.raises(StateNotTransferred, match=r"not done with its last message"):
            await members.desks[C].arrived()

        await turns(5)
        assert members.layers[A].below.transferred == 1
        assert application.calls == 0

    run(body())


def test_a_set_state_that_hangs_ends_its_transfer_and_the_group_goes_on() -> None:
    async def reads_nothing(_chunks: AsyncIterator[bytes]) -> None:
        await asyncio.Event().wait()

    async def reads_all(chunks: AsyncIterator[bytes]) -> None:
        async for _ in chunks:
            pass
        await asyncio.Event().wait()

    async def is_cancelled(_chunks: AsyncIterator[bytes]) -> None:
        raise asyncio.CancelledError

    async def body() -> None:
        for set_state, words in (
            (reads_nothing, "neither took what was here nor returned for 0.01 s"),
            (reads_all, "neither took what was here nor returned"),
            (is_cancelled, "set_state failed"),
        ):
            members = Members(A, B, C)
            desks(members, {A: lambda: BYTES}, C, set_state)
            members.desks[C]._stack.application_timeout = 0.01
            with pytest.raises(StateNotTransferred, match=words):
                await members.desks[C].arrived()
            await turns(5)
            assert members.layers[A].below.transferred == 1

    run(body())


def test_a_get_state_that_hangs_is_given_up_and_another_member_is_asked() -> None:
    async def hangs() -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    async def hangs_later() -> AsyncIterator[bytes]:
        yield BYTES
        await asyncio.Event().wait()

    async def gives_up() -> bytes:
        raise asyncio.CancelledError

    async def body() -> None:
        for get_state in (hangs, hangs_later, gives_up):
            members, application = Members(A, B, C), Application()
            desks(members, {A: get_state, B: lambda: BYTES}, C, application.set_state)
            members.desks[A]._stack.application_timeout = 0.01
            await members.desks[C].arrived()
            assert application.state == BYTES
            await turns(5)
            assert members.layers[A].below.transferred == 1

    run(body())


def test_what_set_state_does_not_read_still_arrives() -> None:
    async def lazy(chunks: AsyncIterator[bytes]) -> None:
        await anext(chunks)

    async def body() -> None:
        members = Members(A, B, C, state_window=1)
        desks(members, {A: lambda: BYTES}, C, lazy)
        await members.desks[C].arrived()
        assert not members.layers[C].ground.holding

    run(body())


def test_a_desk_that_closes_says_so_to_who_waits() -> None:
    async def body() -> None:
        members, application = Members(A, B, C), Application()
        desks(members, {A: lambda: BYTES}, C, application.set_state)
        for desk in members.desks.values():
            await desk.close()
        with pytest.raises(StateNotTransferred, match="left the group before it had the state"):
            await members.desks[C].arrived()

    run(body())
