"""One run of a real token ring: start the members, load them, do the planned faults, end in order.

Law of this file: it waits for conditions, each with a deadline, and never for time alone, except
where the passing of time is what a fault consists of.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

from .clusterrecord import name_of
from .fence import Resource
from .lives import RunFailed
from .ringdeeds import deed
from .ringfaults import HOLDER, KEPT, NEVER, STORM, RingFault, make_ring_plan
from .ringmembers import RingMember, RingMembers, settled
from .ringrecord import TIMES, RingRecord, RingSettings, collect
from .ringstatus import Status

START = 20.0
JOIN = 20.0
SETTLE = 20.0
STRIKE = 5.0
STOP = 15.0
LEAVE = 15.0
"""Seconds until each is given up."""
SHORT = 4.0
"""Seconds instead, for a protocol of which nobody promises that it gets there: as written."""
Told = Callable[[float, str], None]


class RingRun:
    """Drives one run; `record` is filled in whatever happens."""

    def __init__(
        self,
        settings: RingSettings,
        seed: int,
        folder: Path,
        *,
        watch: Callable[[Status], None] = lambda _: None,
        told: Told = lambda _at, _text: None,
    ) -> None:
        """`watch` is shown how the members are, `told` what is done to them."""
        self.settings = settings
        plan = make_ring_plan(settings.kinds, seed, TIMES.hungry)
        self.record = RingRecord(f"ring-{seed}", seed, plan)
        self.folder = folder
        self._draw = Random(f"ring run {seed}")
        self._told = told
        self._began = time.monotonic()
        self._load_began = 0.0
        self._later: set[asyncio.Task[None]] = set()
        self._ports: dict[str, str] = {}
        self._contacts = ""
        self._newcomers = settings.members
        self.resource = Resource(self._now)
        self._place = ""
        self.members = RingMembers(folder / "members" / self.record.run, watch)
        for sub in ("traces", f"members/{self.record.run}"):
            (folder / sub).mkdir(parents=True, exist_ok=True)

    async def run(self) -> RingRecord:
        """Do the whole run; a failure is noted in the record, and ends it."""
        record, members = self.record, self.members
        try:
            await self._start()
            for fault in record.plan.faults:
                await self._do(fault)
            await self._end()
        except RunFailed as failure:
            record.failure = f"{failure}{await self._whom()}"
        finally:
            for task in self._later:
                task.cancel()
            await members.kill_all()
            await asyncio.gather(*self._later, return_exceptions=True)
            await self.resource.close()
            record.lives = members.all
            record.writes = self.resource.log
            record.seconds = self._now()
            collect(record, self.folder)
        return record

    # ------------------------------------------------------------------ beginning and end

    async def _start(self) -> None:
        self._place = await self.resource.start()
        names = [name_of(number) for number in range(self.settings.members)]
        self._ports = dict(zip(names, _free_ports(len(names)), strict=True))
        founders = ",".join(f"{name}@{place}" for name, place in self._ports.items())
        for name, place in self._ports.items():
            await self._begin(name, 0, bind=place, founders=founders)
        await self._settled(START, "Forming the ring")
        self._load_began = time.monotonic()
        for member in self.members.in_ring:
            member.tell("load")

    async def _begin(self, name: str, incarnation: int, **how: str) -> RingMember:
        """Start a process of that name."""
        life = self.members.lives(name)
        state = self.folder / "members" / self.record.run / f"{name}.{incarnation}.state"
        options = self.options_of(self.settings, self.record, self.folder)
        options |= {"life": life, "state": state, "began": self._began, "resource": self._place}
        member = await self.members.start(name, options | how, incarnation)
        # Nobody waits with the load for one who comes later.
        if self._load_began:
            member.tell("load")
        return member

    @staticmethod
    def options_of(settings: RingSettings, record: RingRecord, folder: Path) -> dict[str, object]:
        """The options that all members of a run have in common."""
        most = settings.members + STORM * len(record.plan.faults)
        damage = record.plan.damage
        return {
            "nodes": ",".join(name_of(number) for number in range(most)),
            "run": record.run,
            "ring": f"raincheck-{record.seed}-{os.getpid()}",  # runs side by side must not meet
            "traces": folder / "traces",
            "size": settings.size,
            "rate": settings.rate,
            "damage": ",".join(f"{kind}={share:g}" for kind, share in damage.items()),
            "undo": "all" if settings.as_written else settings.undo,
            "seed": record.seed,
        }

    async def _end(self) -> None:
        members, record = self.members, self.record
        due = self._load_began + self.settings.seconds
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await asyncio.gather(*self._later)
        for member in members.running:
            member.tell("calm")
        await self._settled(SETTLE, "Agreeing after the last fault")
        record.agreed = True
        survivors = members.in_ring
        for member in survivors:
            member.tell("stop")
        await self._until(
            lambda: all(member.stopped for member in survivors), "Stopping the load", STOP
        )
        await self._until(
            lambda: _all_heard(survivors), "Delivering everybody's last message", SETTLE
        )
        record.heard = True
        for member in survivors:
            member.ending = "done"
            member.tell("end")
        await self._until(
            lambda: all(member.code is not None for member in survivors), "Ending", LEAVE
        )

    # ------------------------------------------------------------------ faults

    async def _do(self, fault: RingFault) -> None:
        due = self._load_began + fault.at * self.settings.seconds
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if fault.kind == "leave" or (
            fault.kind not in ("pause", "partition", "joinstorm") and fault.back != KEPT
        ):
            await self._recovered(f"Agreeing before the {fault.kind}")
            if len(self.members.in_ring) < 3:
                self._note("skipped", "", fault=fault.kind)
                return
        match fault.kind:
            case "joinstorm":
                await self._storm(fault)
            case "partition":
                await self._partition(fault)
            case "pause":
                await self._pause(fault)
            case "leave":
                await self._leave(fault)
            case _:
                await self._kill(fault)
        if fault.settle:
            await self._recovered(f"Agreeing after the {fault.kind}")

    async def _recovered(self, what: str) -> None:
        """Wait until the ring has got over all that was done to it."""
        await asyncio.gather(*self._later)
        await self._settled(SETTLE, what)

    async def _storm(self, fault: RingFault) -> None:
        self._remember()
        for _ in range(fault.count):
            name = name_of(self._newcomers)
            self._newcomers += 1
            self._note("joinstorm", name)
            await self._begin(name, 0, join=self._contacts)

    async def _partition(self, fault: RingFault) -> None:
        here = [member for member in self.members.running if member.bind]
        if len(here) < 2:
            self._note("skipped", "", fault=fault.kind)
            return
        self._draw.shuffle(here)
        cut = self._draw.randint(1, len(here) - 1)
        sides = (here[:cut], here[cut:])
        words = " | ".join(" ".join(sorted(m.title for m in side)) for side in sides)
        self._note("partition", words, seconds=fault.seconds)
        for side, others in (sides, sides[::-1]):
            for member in side:
                member.tell(" ".join(["part", *(other.bind for other in others)]))
        await asyncio.sleep(fault.seconds)
        self._note("heal", words)
        for member in here:
            member.tell("part")

    async def _pause(self, fault: RingFault) -> None:
        target = self._target()
        if target is None:
            self._note("skipped", "", fault=fault.kind)
            return
        if fault.moment:
            if not await self._strikes(target, "stop", fault):
                return
        else:
            target.signal(signal.SIGSTOP)
        self._note("pause", target.title, seconds=fault.seconds, moment=fault.moment)
        await asyncio.sleep(fault.seconds)
        target.signal(signal.SIGCONT)
        self._note("resumed", target.title)

    async def _kill(self, fault: RingFault) -> None:
        target = self._target()
        if target is None:
            self._note("skipped", "", fault=fault.kind)
            return
        self._remember(target)
        if fault.target == HOLDER:
            if not await self._strikes(target, "kill", fault):
                return
        else:
            target.ending = "crash"
            target.signal(signal.SIGKILL)
        self._note(fault.kind, target.title, moment=fault.moment, back=fault.back)
        if fault.back != NEVER:
            self._later.add(asyncio.create_task(self._back(target, fault)))

    async def _leave(self, fault: RingFault) -> None:
        target = self._target()
        if target is None:
            self._note("skipped", "", fault=fault.kind)
            return
        self._remember(target)
        self._note("leave", target.title, back=fault.back)
        target.ending = "leave"
        target.tell("leave")
        await self._until(lambda: target.code is not None, f"The leaving of {target.title}", LEAVE)
        # As written nobody returns by a name that has left.
        if fault.back != NEVER and not self._one_name:
            self._later.add(asyncio.create_task(self._back(target, fault)))

    async def _strikes(self, target: RingMember, act: str, fault: RingFault) -> bool:
        """Have the member kill or stop itself as soon as it has the token."""
        target.armed, target.struck = act, 0.0
        target.tell(f"arm {act} {fault.moment}")

        def done() -> bool:
            return bool(target.struck) and (act == "stop" or target.code is not None)

        try:
            async with asyncio.timeout(STRIKE):
                await self._until(lambda: done() or target.code is not None, "", 2 * STRIKE)
        except TimeoutError:
            # It never had the token: so be it, but no later.
            target.tell("disarm")
            self._note("skipped", target.title, fault=fault.kind)
            return False
        finally:
            if act == "stop":
                target.armed = ""
        return done()

    async def _back(self, target: RingMember, fault: RingFault) -> None:
        """Start the next process of one that has gone."""
        await self._until(lambda: target.code is not None, f"The end of {target.title}", LEAVE)
        await asyncio.sleep(fault.seconds)
        self._note(f"back, {fault.back}", target.name)
        if fault.back == KEPT:
            await self._begin(target.name, target.incarnation, bind=target.bind)
            return
        again = target.incarnation + (0 if self._one_name else 1)
        if self._one_name:
            state = self.folder / "members" / self.record.run
            (state / f"{target.name}.{again}.state").unlink(missing_ok=True)
        await self._begin(target.name, again, bind=target.bind, join=self._contacts)

    @property
    def _one_name(self) -> bool:
        """Whether a life that has lost its state goes by the same name, as the text has it."""
        return self.settings.as_written or "incarnations" in self.settings.undo.split(",")

    def _target(self) -> RingMember | None:
        """A member that nothing else is done to; nobody if too few would be left."""
        here = [member for member in self.members.in_ring if not member.armed]
        return self._draw.choice(here) if len(here) > 1 else None

    def _remember(self, but: RingMember | None = None) -> None:
        """Whom a newcomer is to ask."""
        here = [member.bind for member in self.members.in_ring if member is not but]
        self._contacts = ",".join(here) or self._contacts

    # ------------------------------------------------------------------ conditions

    async def _settled(self, seconds: float, what: str) -> None:
        """Wait until all running members agree on one list and its view."""
        await self._until(lambda: settled(self.members.running), what, seconds)

    async def _until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        if self.settings.as_written and self._load_began:
            seconds = min(seconds, SHORT)
        await self.members.until(condition, what, seconds)

    async def _whom(self) -> str:
        """Ask the members what they wait for."""
        running = self.members.running
        for member in running:
            member.signal(signal.SIGCONT)
            member.signal(signal.SIGUSR1)
        for _ in range(20):
            if all(member.status for member in running):
                break
            await asyncio.sleep(0.05)
        return "".join(
            f"; {m.title}: {_how(m.ring)}, waits for "
            f"{', '.join(m.status.get('missing', ['no answer'])) or 'nobody'}"
            for m in running
        )

    def _now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def _note(self, kind: str, who: str, **facts: object) -> None:
        at = round(self._now(), 3)
        self.record.done.append({"kind": kind, "who": who, "at": at, **facts})
        self._told(at, deed(kind, who, facts))


def _all_heard(members: list[RingMember]) -> bool:
    """Every one of them has delivered the last message of every one."""
    return all(
        member.heard_of.get(other.address, 0) >= other.sent
        for member in members
        for other in members
    )


def _how(status: Status | None) -> str:
    if status is None:
        return "it never said how it was"
    return f"{status.token_state}, {status.view_state}, list {' '.join(status.nodelist)}"


def _free_ports(count: int) -> list[str]:
    """Places that nobody listens at now: founders have to know each other's before they start."""
    with ExitStack() as taken:
        places = []
        for _ in range(count):
            each = taken.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            each.bind(("127.0.0.1", 0))
            places.append(f"127.0.0.1:{each.getsockname()[1]}")
    return places
