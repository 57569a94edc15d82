"""One run of a real token ring: form it, load it, do the planned faults, end in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping

from raincheck.conformance.field.record import name_of

from .base import RingBase, free_ports
from .faults import HOLDER, KEPT, NEVER, STOPS, RingFault
from .members import RingMember, View, agreed, gone_round, newest, settled

STRIKE = 5.0
"""Seconds until a member has to have had the token."""
AGAIN = 5
"""The most times that the last messages are sent again, because the view has changed."""


class RingRun(RingBase):
    """Drives one run of a ring."""

    _rest: View | None = None
    """The view in which the load had stopped."""
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
        self._rest = agreed(self.members.running)

    async def _arrived(self, what: str) -> None:
        """Wait until everybody has delivered everything.

        Who was left out meanwhile, on a busy machine, has come back behind the last messages: then
        everybody sends another one.
        """
        for _ in range(AGAIN):
            await self._until(lambda: self._all_delivered() or self._moved, what, self.SETTLE)
            if self._all_delivered():
                return
            self._rest = agreed(self.members.running)
            self._note("again", "the ring")
            await self._stopped("again")
        await super()._arrived(what)

    @property
    def _moved(self) -> bool:
        """Tell whether all agree on another view than when the load had stopped."""
        return agreed(self.members.running) not in (None, self._rest)

    async def _part(self, survivors: list[RingMember]) -> None:
        self.record.heard = True
        for member in survivors:
            member.ending = "done"
            member.tell("end")

    # ------------------------------------------------------------------ faults

    async def _do(self, fault: RingFault) -> None:
        await self._loaded(fault.at)
        if fault.kind in ("leave", "restartall") or (
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
            case "restartall":
                await self._restart_all(fault)
            case _:
                await self._stop_one(fault)
        if fault.settle:
            await self._recovered(f"Agreeing after the {fault.kind}")

    async def _recovered(self, what: str) -> None:
        """Wait until the ring has recovered from all faults.

        That all agree is not enough: right after a partition nobody may have noticed it.
        """
        await asyncio.gather(*self._later)
        since = newest(self.members.running)
        await self._until(
            lambda: settled(self.members.running) and gone_round(self.members.running, since),
            what,
            self.SETTLE,
        )

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

    async def _stop_one(self, fault: RingFault) -> None:
        target = self._target()
        if target is None:
            self._skip(fault.kind)
            return
        self._remember(target)
        if fault.target == HOLDER:
            if not await self._strikes(target, "kill", fault):
                return
        else:
            stop(target, fault.kind)
        self._note(fault.kind, target.title, moment=fault.moment, back=fault.back)
        if fault.back != NEVER:
            self._meanwhile(self._back(target, fault))

    async def _restart_all(self, fault: RingFault) -> None:
        """Stop all members in any order, each in some way; start them again in any order."""
        here = self.members.in_group
        self._draw.shuffle(here)
        for member in here:
            how = self._draw.choice(STOPS)
            stop(member, how)
            self._note(how, member.title, back=fault.back)
        await asyncio.gather(*(self._gone(member, fault.seconds) for member in here))
        self._draw.shuffle(here)
        for member in here:
            await self._again(member, fault)
        # On a busy machine processes start for longer than rings need to agree.
        await self._until(
            lambda: all(member.bind for member in self.members.running), "Starting", self.START
        )

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
        await self._again(target, fault)

    async def _again(self, target: RingMember, fault: RingFault) -> None:
        """Start a name again, by the same call."""
        self._note(f"back, {fault.back}", target.name)
        call = self._calls[target.name] | {"bind": target.bind}
        if fault.back == KEPT:
            await self._begin(target.name, target.incarnation, **call)
            return
        if fault.kind != "leave":  # who has left has a file that says so
            self._state(target.name).unlink(missing_ok=True)
        joins = {"bind": target.bind, "join": self._contacts}
        if self._one_name:
            await self._begin(target.name, target.incarnation, **joins)
            return
        # Another life need not be where the earlier one was; then it is none of the members listed.
        if fault.kind == "forget":
            call = joins | {"bind": free_ports(1)[0]}
        elif not self._finds(call):
            call = joins
        await self._begin(target.name, target.incarnation + 1, **call)

    def _finds(self, call: Mapping[str, str]) -> bool:
        """Tell whether somebody whom this call asks is in the ring, and where the call has it."""
        asked = f"{call.get('founders', '')},{call.get('join', '')}".split(",")
        here = {each.bind for each in self.members.in_group} - {call["bind"]}
        return not here.isdisjoint(place.rpartition("@")[2] for place in asked)


def stop(member: RingMember, how: str) -> None:
    """Stop a process: by SIGKILL, or as `close` and Ctrl-C do, which keep its place."""
    match how:
        case "close":
            member.ending = "close"
            member.tell("close")
        case "interrupt":
            member.ending = "close"
            member.signal(signal.SIGINT)
        case _:
            member.kill()
