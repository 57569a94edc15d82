"""A process that starts: it asks the members until it knows its ring, and answers those that ask.

A driver for the core of `ring_start/core.py`, without sockets and clocks, before there is a
`RingNode`; a member answers by it as long as it runs. What is to be written down (`changed`) is
written before anything is sent (`poll_datagrams`).

An answer counts if it brings back the question that its endpoint was asked last; a member's, if it
comes from where the list of members has it. All are asked another question when the core asks them
again: an answer to the first one may be older than what others have said since. For the same reason
whoever tells the first member that it has recorded nothing asks anew: an answer that is still under
way may be the last word of a process that has forgotten. A process that has not got a question
wrong is answered, strangers with no more bytes than they sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from random import Random

from raincheck.impl.errors import NotEnabled, WireError
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.ring_start.core import RingStart
from raincheck.impl.ring_start.events import Founders, Hear, Info, Start
from raincheck.impl.sealing.head import HEAD, refusal
from raincheck.impl.stack.reports import Dropped, Pace

from .door import Door
from .start_wire import StartFrames

_LATER = 10  # times as long pauses while it waits to be let in
_REPORT_PAUSE = 10.0  # seconds between two reports of datagrams dropped for one reason


def identity_of(ring: Founders) -> str:
    """Return a ring's identity as a short text; the empty one if there is none."""
    if not ring:
        return ""
    text = "\n".join(str(founder) for founder in sorted(ring))
    return blake2b(text.encode(), digest_size=8).hexdigest()


class Starter:
    """One process's questions about its ring, and its answers to others."""

    def __init__(
        self,
        ring: str,
        core: RingStart,
        places: Mapping[str, Endpoint],
        contacts: Callable[[], Sequence[Endpoint]],
        *,
        pause: float,
        seed: int | None = None,
    ) -> None:
        """`places`: where the other members are; `contacts`: whom one asks who is no member.

        It asks again after `pause` seconds; `seed` is for simulations.
        """
        self.core = core
        self.counters: Counter[str] = Counter()
        self.changed = True
        """Whether the core is to be written down; set to False by whoever does it."""
        self.sealed: Endpoint | None = None
        """Who has a key, while this process has none."""
        self.namesake: Endpoint | None = None
        """Another process of this name."""
        self.elsewhere: tuple[Endpoint, Founders] | None = None
        """A member of a ring of this name that is not this process's ring."""
        self.waits = True
        """Whether it still asks: it has not been let in."""
        self._frames = StartFrames(ring, core.members)
        self._places = dict(places)
        self._contacts = contacts
        self._pause = pause
        self._door = Door(None, seed)
        self._random = Random(f"{core.me}")
        self._due: float | None = None
        self._time = 1  # the number of times that all were asked
        self._asked_by_first: int | None = None  # the first member's question, answered last
        self._silent: set[Endpoint] = set()
        self._other_lists: set[Endpoint] = set()
        self._outgoing: list[tuple[bytes, Endpoint]] = []
        self._dropped: list[Dropped] = []
        self._pace = Pace(_REPORT_PAUSE)

    @property
    def settled(self) -> bool:
        """Whether the process knows its ring."""
        return self.core.stage == "member"

    def start(self, now: float) -> None:
        """Begin to ask."""
        self._handle(Start())
        self._silent = set(self._asked())
        self._ask(now)

    def handle_timer(self, now: float) -> None:
        """Ask again, if it is time."""
        if self._due is not None and self._due <= now:
            self._ask(now)

    def deadline(self) -> float | None:
        """Return when `handle_timer` is to be called; None for never."""
        return self._due if self.waits else None

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def poll_dropped(self) -> list[Dropped]:
        """Return the reports of dropped datagrams, once."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def missing(self) -> dict[str, str]:
        """Return whom this process waits for, and for what."""
        names = {place: f"{name} at {shown(place)}" for name, place in self._places.items()}
        who = {place: names.get(place, shown(place)) for place in self._asked()}
        waits = {}
        for place, name in who.items():
            if place in self._silent:
                waits[name] = "to answer"
            elif place in self._other_lists:
                waits[name] = "to have the same list of members"
        for info in self.core.heard:
            known = self._places.get(info.sender.node)
            if known is not None and known not in self._silent:
                waits[names[known]] = _wanted(self.core, info)
        if self.core.stage == "left" and not self._asked():
            waits["a member of the ring"] = (
                "to be named with join=, or members= and found=True: this process has left the "
                "ring, which may go on elsewhere"
            )
        elif self._places and self.core.stage in ("asking", "left"):
            waits[f"{self.core.me.node}'s start"] = (
                "to find a member of the ring; without one it is founded when all members have "
                "answered that they have never been in it, or by a majority with found=True"
            )
        return waits

    # ------------------------------------------------------------------ receiving

    def receive(self, datagrams: Iterable[tuple[bytes, Endpoint]], now: float) -> None:
        """Handle datagrams; see `poll_datagrams` and `settled` for what comes of them."""
        for datagram, source in datagrams:
            try:
                self._take(datagram, source)
            except WireError as problem:
                if problem.reason == "sealed":
                    self.sealed = source
                    if len(datagram) > HEAD.size:  # no refusal itself
                        self._outgoing.append((refusal(), source))
                self._drop(problem, source, now)

    def _take(self, datagram: bytes, source: Endpoint) -> None:
        question, members, info = self._frames.read(datagram)
        listed = source in self._places.values()
        if info is None:
            answer = self._frames.tell(question, self.core.info)
            if not listed and len(answer) > len(datagram):
                raise WireError("too_long", f"{len(answer)} bytes for a stranger")
            self.counters["answered"] += 1
            self._outgoing.append((answer, source))
            self._told_nothing(question, source)
            return
        if question != self._door.question(source, self._time):
            raise WireError("unasked", f"an answer of {info.sender}")
        name = info.sender.node
        if name == self.core.me.node:
            self.namesake = source
            return
        if self._places and self._places.get(name) != source:
            raise WireError("stranger", f"{info.sender} is elsewhere")
        self._silent.discard(source)
        if info.stage == "member" and self.settled and info.ring != self.core.ring:
            self.elsewhere = source, info.ring
        if self._places and members != self._frames.members and info.stage != "member":
            self._other_lists.add(source)
            raise WireError("other_members", f"{info.sender} has another list of members")
        self._other_lists.discard(source)
        self._hear(info)

    def _told_nothing(self, question: int, source: Endpoint) -> None:
        """Ask anew if the first member, which proposes, has been told that nothing is recorded.

        Once for each of its questions: a network that is slower than the pauses must not let
        every answer lapse.
        """
        first = self._places.get(min(self.core.members))
        if source != first or question == self._asked_by_first or self.core.ring:
            return
        self._asked_by_first = question
        self._time += 1
        self._ask_all()

    def _hear(self, info: Info) -> None:
        core = self.core
        if core.stage == "member" or info in core.heard:
            return
        if not self._places:
            if info.stage != "member":
                return
            core.members |= {info.sender.node}  # who is asked is a member to one who joins
        self._handle(Hear(info))

    def _handle(self, event: Start | Hear) -> None:
        once = self.core.once
        try:
            told = self.core.handle(event)
        except NotEnabled as refusal_:
            self.counters[f"not_enabled: {refusal_.action}"] += 1
            return
        if self.core.once not in (frozenset(), once):
            self._time += 1
            self._silent = set(self._asked())
            self._ask_all()
        if told:
            self.changed = True
            if self.core.stage != "member":
                self._ask_all()  # what the others have recorded by now

    def _drop(self, problem: WireError, source: Endpoint, now: float) -> None:
        reason = f"start.{problem.reason}"
        self.counters[reason] += 1
        if times := self._pace.count(reason, now):
            self._dropped.append(Dropped(reason, source, problem.detail, times))

    # ------------------------------------------------------------------ asking

    def _asked(self) -> list[Endpoint]:
        return list(self._places.values()) or list(self._contacts())

    def _ask(self, now: float) -> None:
        # Not in step: under a key two that greet each other at once never get to know each other.
        pause = self._pause * (_LATER if self.settled else 1)
        self._due = now + pause * self._random.uniform(0.7, 1.3)
        if self.waits:
            self._ask_all()

    def _ask_all(self) -> None:
        for place in self._asked():
            self._outgoing.append((self._frames.ask(self._door.question(place, self._time)), place))


def _wanted(core: RingStart, info: Info) -> str:
    """Return what a process that has answered is still waited for."""
    if core.stage == "attempting" and info.ring != core.ring:
        return "to record the founding that this process has recorded"
    if info.stage == "attempting":
        return "to complete a founding without this process"
    if info.stage == "left":
        return "to find the ring that it has left"
    return "to found the ring, with all that are missing"
