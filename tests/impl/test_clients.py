"""Clients of a ring and the desk that serves them: the cores alone, on a network that loses,
doubles, delays and reorders, with clocks that run at different rates.

What a client believes to hold is compared after each step with what the member holds for it: the
requests of the member are `Want` and `Drop` of LOCKS, and a client's story is nothing but these.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any

import pytest

from raincheck.impl.clients import desk as client_desk
from raincheck.impl.clients import wire
from raincheck.impl.clients.core import Client
from raincheck.impl.clients.desk import ClientDesk
from raincheck.impl.clients.wire import Told
from raincheck.impl.errors import LocksFull, WireError
from raincheck.impl.locks.core import Locks
from raincheck.impl.locks.events import Arrive, Depart, Drop, Held, Lost, Mode, Post, Want
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore.events import ZERO
from raincheck.impl.ring.reports import LockGone, LockGranted, LockRefused, LockReport, LockTaken
from raincheck.impl.stack.timers import NEVER
from raincheck.impl.wire.sums import summed

A = Address("a", 0)
HERE: Endpoint = ("10.0.0.1", 7000)
GIVE_UP = 0.8
EPOCH = ZERO  # that of the founders, which nobody has made


class Ring:
    """A member of a ring of its own: LOCKS' core, and a token that comes whenever it is asked."""

    def __init__(self) -> None:
        self.locks = Locks(A, 1, epoch=EPOCH, founds=True)
        self.settled, self.in_vain, self.full = True, False, False
        self.place = 0
        self.told: dict[int, Callable[[LockReport], None]] = {}
        self.tries: set[int] = set()
        self.story: list[Any] = []
        """The events of the member's application, as LOCKS has them."""

    def want(
        self, name: str, mode: Mode, told: Callable[[LockReport], None], *, tries: bool
    ) -> int:
        if self.full:
            raise LocksFull(name, "it is full")
        self._handle(Want(name, mode))
        number = self.locks.requests
        self.told[number] = told
        if tries:
            self.tries.add(number)
        return number

    def drop(self, number: int) -> None:
        if self.told.pop(number, None) is not None:
            self._handle(Drop(number))

    def visit(self) -> None:
        """Let the token come, and go on."""
        epoch = EPOCH
        self.tell(self._handle(Arrive(epoch, ())))
        self.place += 1
        self.tell(self._handle(Depart(self.place, frozenset({A}), self.place - 1)))
        for number in [each for each in self.tries if each in self.told]:
            if not any(each.request == number for each in self.locks.held):
                told = self.told[number]
                self.drop(number)
                told(LockTaken(number))
        self.tries.clear()

    def lose(self) -> None:
        """Go on without this member: it holds nothing any more."""
        self.locks.base, self.locks.table = None, ()
        lost = self._handle(Arrive(EPOCH, ()))
        self.locks.base = EPOCH
        self.tell(lost)

    def tell(self, effects: list[Any]) -> None:
        for each in effects:
            if isinstance(each, Held):
                self.told[each.request](LockGranted(each.request, each.fence))
            elif isinstance(each, Lost):
                self.told.pop(each.request)(LockGone(each.request))
            else:
                assert isinstance(each, Post)

    def _handle(self, event: Any) -> list[Any]:
        self.story.append(event)
        return self.locks.handle(event)

    @property
    def book(self) -> Ring:
        return self

    def leader(self, name: str) -> tuple[Address, Any] | None:
        line = next((each for each in self.locks.table if each.name == name), None)
        return None if line is None or line.fence is None else (line.member, line.fence)

    def holder(self, name: str) -> Address | None:
        return next((x.member for x in self.locks.table if x.name == name and x.fence), None)

    def queue(self, name: str) -> tuple[Address, ...]:
        return tuple([x.member for x in self.locks.table if x.name == name and not x.fence])


class Party:
    """A client, its clock, and what its application has been told."""

    def __init__(self, scene: Scene, number: int, rate: float) -> None:
        draw = Random(f"client {number} {scene.random.random()}")
        self.endpoint: Endpoint = (f"10.0.1.{number}", 7000)
        self.rate, self.ahead = rate, scene.random.uniform(0, 1e6)
        self.core = Client(
            "test", self.endpoint, lambda: scene.contacts, lambda: draw.getrandbits(60)
        )
        self.wants: dict[int, tuple[str, Mode]] = {}
        self.held: dict[int, Any] = {}
        self.asleep = 0.0
        """Until when its loop is blocked."""
        self.reports: list[LockReport] = []

    def now(self, at: float) -> float:
        return self.ahead + self.rate * at

    def take_reports(self) -> None:
        for each in self.core.poll_reports():
            self.reports.append(each)
            if isinstance(each, LockGranted):
                self.held[each.request] = each.fence
            else:
                self.wants.pop(each.request, None)
                self.held.pop(each.request, None)


class Scene:
    """One member and its clients, in virtual time."""

    def __init__(
        self, seed: int, *, clients: int = 3, loss: float = 0.0, slow: float = 1.0
    ) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.now = 0.0
        self.contacts = [HERE]
        self.ring = Ring()
        self.desk = self.new_desk()
        rates = [self.random.uniform(slow, 1.25) for _ in range(clients)]
        self.parties = [Party(self, number, rate) for number, rate in enumerate(rates)]
        self.under_way: list[tuple[float, int, bytes, Endpoint, Endpoint]] = []
        self.tick = count()
        self.cut: set[Endpoint] = set()
        self.problems: list[str] = []
        self.granted = 0
        for each in self.parties:
            each.core.start(each.now(0.0))
        self.settle()

    def new_desk(self, life: int = 1) -> ClientDesk:
        about: dict[str, Any] = {"give_up": GIVE_UP, "patience": 2.0, "life": life}
        return ClientDesk("test", A, "identity", self.ring, lambda _: True, **about)

    def send(self, data: bytes, source: Endpoint, to: Endpoint) -> None:
        random = self.random
        for _ in range(2 if random.random() < self.loss else 1):
            if random.random() >= self.loss and not {source, to} & self.cut:
                late = random.choice([0.001, 0.01, 0.3]) if self.loss else 0.001
                at = self.now + random.uniform(0.0001, late)
                heapq.heappush(self.under_way, (at, next(self.tick), data, source, to))

    def settle(self) -> None:
        """Send and tell all that is there, and look whether the clients believe too much."""
        self.desk.look(self.now)
        for data, to in self.desk.poll_datagrams():
            self.send(data, HERE, to)
        for each in self.parties:
            for data, to in each.core.poll_datagrams():
                self.send(data, each.endpoint, to)
            each.take_reports()
        self.judge()

    def judge(self) -> None:
        held = {(h.name, h.mode, h.fence) for h in self.ring.locks.held}
        writers: dict[str, Party] = {}
        for each in self.parties:
            for number, fence in each.held.items():
                if not each.core.holds(number, each.now(self.now)):
                    continue
                name, mode = each.wants[number]
                if (name, mode, fence) not in held:
                    self.problems.append(f"{self.now}: {each.endpoint} believes to have {name}")
                if mode == "write" and writers.setdefault(name, each) is not each:
                    self.problems.append(f"{self.now}: two have {name}")
                self.granted += 1

    def step(self, until: float) -> None:
        """Let time pass until something happens, at most until then."""
        dues = [self.under_way[0][0] if self.under_way else NEVER, until]
        dues.append(due if (due := self.desk.deadline()) is not None else NEVER)
        for each in self.parties:
            due = each.core.deadline()
            if due is not None:
                dues.append(max((due - each.ahead) / each.rate, each.asleep))
        self.now = max(self.now + 1e-7, min(dues))
        if self.under_way and self.under_way[0][0] <= self.now:
            *_, data, source, to = heapq.heappop(self.under_way)
            if to == HERE:
                self.desk.receive(data, source, self.now)
            else:
                party = next(each for each in self.parties if each.endpoint == to)
                if party.asleep > self.now:
                    at = party.asleep + 1e-6
                    heapq.heappush(self.under_way, (at, next(self.tick), data, source, to))
                else:
                    party.core.receive([(data, source)], party.now(self.now))
        self.desk.handle_timer(self.now)
        for each in self.parties:
            if each.asleep <= self.now:
                each.core.handle_timer(each.now(self.now))
        self.settle()

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.step(until)
            self.ring.visit()
            self.settle()

    def want(self, at: int, name: str, mode: Mode = "write", *, tries: bool = False) -> int:
        party = self.parties[at]
        number = party.core.want_lock(name, mode, party.now(self.now), tries=tries)
        party.wants[number] = name, mode
        self.settle()
        return number

    def drop(self, at: int, number: int) -> None:
        party = self.parties[at]
        party.core.drop_lock(number, party.now(self.now))
        party.wants.pop(number, None)
        party.held.pop(number, None)
        self.settle()


def storm(seed: int, *, slow: float = 0.8) -> Scene:
    """Clients that want and drop at random, while all sorts of things happen."""
    scene = Scene(seed, loss=0.2, slow=slow)
    random = scene.random
    for _ in range(60):
        scene.run(random.choice([0.002, 0.02, 0.1, 0.3]))
        at = random.randrange(len(scene.parties))
        party = scene.parties[at]
        match random.randrange(10):
            case 0 | 1 | 2 | 3:
                if len(party.wants) < 3:
                    mode: Mode = random.choice(["write", "write", "read"])
                    scene.want(at, random.choice("xy"), mode, tries=random.random() < 0.2)
            case 4 | 5 | 6:
                if party.wants:
                    scene.drop(at, random.choice(list(party.wants)))
            case 7:
                scene.cut ^= {party.endpoint}
            case 8:
                party.asleep = scene.now + random.choice([0.1, 0.7, 1.5])
            case 9:
                if random.random() < 0.5:
                    scene.ring.settled = not scene.ring.settled
                else:
                    scene.cut.clear()
    return scene


@pytest.mark.parametrize("seed", range(8))
def test_no_client_believes_to_hold_what_its_member_does_not_hold_for_it(seed: int) -> None:
    scene = storm(seed)
    assert scene.problems == []
    assert scene.granted > 20
    # The story of the clients is Want and Drop of a member, and it can be told again.
    again = Locks(A, 1, epoch=EPOCH, founds=True)
    for event in scene.ring.story:
        again.handle(event)
    assert (again.table, again.held) == (scene.ring.locks.table, scene.ring.locks.held)
    # In the end, when all is well again, nothing is left over.
    scene.loss, scene.ring.settled = 0.0, True
    scene.cut.clear()
    for at, party in enumerate(scene.parties):
        party.asleep = 0.0
        for number in list(party.wants):
            scene.drop(at, number)
    scene.run(3.0)
    assert scene.ring.locks.wishes == ()
    assert scene.ring.locks.table == ()


def test_a_client_is_told_what_becomes_of_its_requests() -> None:
    scene = Scene(1, clients=2)
    scene.run(0.2)
    one, two = scene.parties
    assert (one.core.serving, one.core.identity) == (A, "identity")
    first, second = scene.want(0, "x"), scene.want(0, "y", "read")
    scene.run(0.1)
    assert set(one.held) == {first, second}
    tried = scene.want(1, "x", tries=True)
    third = scene.want(1, "x")
    scene.run(0.3)
    assert two.reports == [LockTaken(tried)]
    assert two.core.leader("x") == (A, one.held[first])
    assert two.core.queue("x") == (A,)
    scene.ring.full = True
    full = scene.want(1, "z")
    scene.run(0.1)
    refused = two.reports[-1]
    assert isinstance(refused, LockRefused)
    assert refused.request == full
    assert "no room" in str(refused.problem)
    scene.ring.lose()
    scene.settle()
    scene.run(0.1)
    assert one.reports[-2:] == [LockGone(first), LockGone(second)]
    assert list(two.held) == [third]


def test_a_lock_that_the_member_has_in_an_unsettled_view_is_told_when_it_has_settled() -> None:
    scene = Scene(1, clients=1)
    scene.ring.settled = False
    scene.want(0, "x")
    scene.run(1.0)
    assert scene.parties[0].held == {}
    scene.ring.settled = True
    scene.run(0.1)
    assert list(scene.parties[0].held) == [1]


def test_a_member_that_misses_the_token_for_long_sends_its_clients_away() -> None:
    scene = Scene(1, clients=1)
    scene.want(0, "x")
    scene.run(0.2)
    scene.ring.in_vain = True
    scene.run(1.5)
    assert list(scene.parties[0].held) == [1]  # a token that was lost is made anew by then
    scene.run(1.0)
    assert scene.parties[0].reports[-1] == LockGone(1)
    assert scene.parties[0].core.serving is None
    assert scene.problems == []
    assert scene.ring.locks.wishes == ()
    later = scene.want(0, "x")
    scene.run(1.0)
    assert scene.ring.locks.wishes == ()
    scene.ring.in_vain = False
    scene.run(1.0)
    assert list(scene.parties[0].held) == [later]


def test_another_process_of_the_member_serves_none_of_the_old_sessions() -> None:
    scene = Scene(1, clients=1)
    scene.want(0, "x")
    scene.run(0.2)
    assert list(scene.parties[0].held) == [1]
    scene.ring, scene.granted = Ring(), 0
    scene.desk = scene.new_desk(life=2)
    scene.parties[0].held.clear()  # what was held with the old one is compared no more
    scene.run(0.5)
    assert LockGone(1) in scene.parties[0].reports
    later = scene.want(0, "x")
    scene.run(1.5)  # until that process has forgotten what it took for a session
    assert list(scene.parties[0].held) == [later]
    assert scene.problems == []


def test_one_datagram_says_all_that_is_wanted_at_one_moment() -> None:
    scene, of = Scene(1, clients=1), wire.Wire("test")
    scene.run(0.2)
    (party,) = scene.parties
    numbers = [party.core.want_lock(name, "write", party.now(scene.now)) for name in "uvwxyz"]
    party.core.drop_lock(numbers.pop(), party.now(scene.now))
    ((datagram, _),) = party.core.poll_datagrams()
    asked = of.read(datagram).asked
    assert asked is not None
    assert [each.request for each in asked.wants] == numbers
    assert party.core.poll_datagrams() == []


def test_the_lease_of_a_session_does_not_outlast_it() -> None:
    """The next member may have a shorter one."""
    scene = Scene(1, clients=1)
    scene.run(0.2)
    (party,) = scene.parties
    scene.want(0, "x")
    scene.run(0.1)
    scene.desk = ClientDesk(
        "test", A, "identity", scene.ring, lambda _: True, give_up=0.1, patience=2.0, life=2
    )
    party.held.clear()  # what was held with the old one is compared no more
    scene.run(0.2)
    assert LockGone(1) in party.reports
    later = scene.want(0, "y")
    scene.run(0.02)
    assert list(party.held) == [later]
    scene.cut.add(party.endpoint)
    scene.run(0.2)
    assert party.held == {}
    assert scene.problems == []


def test_an_ask_that_was_doubled_does_not_prolong_a_session() -> None:
    scene = Scene(1, clients=1)
    scene.want(0, "x")
    scene.run(0.1)
    (party,) = scene.parties
    party.core.drop_lock(1, party.now(scene.now))
    party.core.want_lock("x", "write", party.now(scene.now))
    ((datagram, _),) = party.core.poll_datagrams()
    scene.desk.receive(datagram, party.endpoint, scene.now)
    late = scene.now + 0.9 * GIVE_UP
    scene.desk.receive(datagram, party.endpoint, late)
    assert scene.desk.counters["client.late"] == 1
    scene.desk.handle_timer(scene.now + GIVE_UP)
    assert scene.desk.sessions == 0


def test_whatever_is_read_is_a_datagram_or_a_wire_error() -> None:
    random, of = Random(1), wire.Wire("test")
    waits = wire.Waits(1, A, (1, None, 2, 3), (A,))
    told = Told(1, 1, 600, A, "i", ((2, (1, A, 2, 3)),), ((3, "gone"),), (waits,))
    asked = wire.Asked(1, (wire.Wanted(1, "x", "read", tries=True),))
    good = [
        of.made(wire.ASK, 1, 2, 3, asked),
        of.made(wire.TELL, 1, 2, 0, told),
        of.made(wire.COOKIE, 1, 2, 3),
    ]
    assert [of.read(each).kind for each in good] == [wire.ASK, wire.TELL, wire.COOKIE]
    assert (of.read(good[0]).asked, of.read(good[1]).told) == (asked, told)
    assert len(good[2]) < len(of.made(wire.ASK, 1, 1, 0, wire.Asked(0, ())))
    for _ in range(2000):
        data = bytearray(random.choice(good))
        for _ in range(random.choice([1, 1, 5])):
            data[random.randrange(len(data))] = random.randrange(256)
        whole = summed(bytes(data[: random.choice([len(data), random.randrange(len(data))])]))
        with suppress(WireError):
            of.read(whole)
    other = bytearray(good[0])
    other[2] += 1
    scene = Scene(1, clients=1)
    scene.desk.receive(summed(bytes(other)), ("10.0.9.9", 1), 0.0)
    ((answer, _),) = scene.desk.poll_datagrams()
    assert of.read(answer).number == wire.OTHER_VERSION
    twice = wire.Asked(0, (*asked.wants, *asked.wants))
    with pytest.raises(WireError, match="order of their numbers"):
        of.read(of.made(wire.ASK, 1, 1, 0, twice))


def undo(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    take = Client._take

    def from_now(self: Client, number: int, told: Told, now: float) -> None:
        self._sent[number] = now
        take(self, number, told, now)

    def for_ever(self: Client, number: int, told: Told, now: float) -> None:
        take(self, number, told, now)
        self._until = NEVER

    match fault:
        case "the lease begins when it is heard of":
            monkeypatch.setattr(Client, "_take", from_now)
        case "the client goes on when its lease is over":
            monkeypatch.setattr(Client, "_take", for_ever)
        case "the client's lease is the member's":
            monkeypatch.setattr(client_desk, "LEASE", 1.0)


@pytest.mark.parametrize(
    "fault",
    [
        "the lease begins when it is heard of",
        "the client goes on when its lease is over",
        "the client's lease is the member's",
    ],
)
def test_a_fault_of_the_lease_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    undo(monkeypatch, fault)
    assert any(storm(seed).problems for seed in range(30)), fault
