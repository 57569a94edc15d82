"""One run of a real token ring: form it, load it, do the planned faults, end in order."""

from __future__ import annotations

import asyncio
import signal

from raincheck.conformance.field.record import name_of

from .base import RingBase, free_ports
from .faults import HOLDER, KEPT, NEVER, RingFault
from .members import RingMember

STRIKE = 5.0
"""Seconds until a member has to have had the token."""


class RingRun(RingBase):
    """Drives one run of a ring."""

    SETTLE = 20.0
    STOP = LEAVE = 15.0

    # ------------------------------------------------------------------ beginning and end

    async def _form(self) -> None:
        self._place = await self.resource.start()
        names = [name_of(number) for number in range(self.settings.members)]
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        founders = ",".join(f"{name}@{place}" for name, place in self._ports.items())
        for name, place in self._ports.items():
            await self._begin(name, 0, bind=place, founders=founders)
        await self._settled(self.START, "Forming the ring")

    async def _loaded(self, part: float) -> None:
        await self._under_load(part * self.settings.seconds)

    async def _come_to_rest(self) -> None:
        for member in self.members.running:
            member.tell("calm")
        await self._settled(self.SETTLE, "Agreeing after the last fault")
        self.record.agreed = True

    async def _part(self, survivors: list[RingMember]) -> None:
        self.record.heard = True
        for member in survivors:
            member.ending = "done"
            member.tell("end")

    # ------------------------------------------------------------------ faults

    async def _do(self, fault: RingFault) -> None:
        await self._loaded(fault.at)
        if fault.kind == "leave" or (
            fault.kind not in ("pause", "partition", "joinstorm") and fault.back != KEPT
        ):
            await self._recovered(f"Agreeing before the {fault.kind}")
            if len(self.members.in_group) < 3:
                self._skip(fault.kind)
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
        """Wait until the ring has recovered from all faults."""
        await asyncio.gather(*self._later)
        await self._settled(self.SETTLE, what)

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
            self._skip(fault.kind)
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
            self._skip(fault.kind)
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
            self._skip(fault.kind)
            return
        self._remember(target)
        if fault.target == HOLDER:
            if not await self._strikes(target, "kill", fault):
                return
        else:
            target.kill()
        self._note(fault.kind, target.title, moment=fault.moment, back=fault.back)
        if fault.back != NEVER:
            self._meanwhile(self._back(target, fault))

    async def _leave(self, fault: RingFault) -> None:
        target = self._target()
        if target is None:
            self._skip(fault.kind)
            return
        self._remember(target)
        self._note("leave", target.title, back=fault.back)
        target.ending = "leave"
        target.tell("leave")
        await self._until(
            lambda: target.code is not None, f"The leaving of {target.title}", self.LEAVE
        )
        # As written, nobody returns under a name that has left.
        if fault.back != NEVER and not self._one_name:
            self._meanwhile(self._back(target, fault))

    async def _strikes(self, target: RingMember, act: str, fault: RingFault) -> bool:
        """Make the member kill or stop itself as soon as it has the token."""
        target.armed, target.struck = act, 0.0
        target.tell(f"arm {act} {fault.moment}")

        def done() -> bool:
            return bool(target.struck) and (act == "stop" or target.code is not None)

        try:
            async with asyncio.timeout(STRIKE):
                await self._until(lambda: done() or target.code is not None, "", 2 * STRIKE)
        except TimeoutError:
            # It never had the token: then not later either.
            target.tell("disarm")
            self._skip(fault.kind, target.title)
            return False
        finally:
            if act == "stop":
                target.armed = ""
        return done()

    async def _back(self, target: RingMember, fault: RingFault) -> None:
        """Start the next process after one that has gone."""
        await self._gone(target, fault.seconds)
        self._note(f"back, {fault.back}", target.name)
        if fault.back == KEPT:
            await self._begin(target.name, target.incarnation, bind=target.bind)
            return
        again = target.incarnation + (0 if self._one_name else 1)
        if self._one_name:
            self._state(target.name, again).unlink(missing_ok=True)
        # Another life need not be where the earlier one was; after another fault it is.
        elsewhere = fault.kind == "forget" and not self._one_name
        bind = free_ports(1)[0] if elsewhere else target.bind
        await self._begin(target.name, again, bind=bind, join=self._contacts)
