"""One run of a real cluster: start the members, load them, do the planned faults, end in order."""

import asyncio
import os
import signal
from pathlib import Path

from raincheck.conformance.field.faults import MEMBER
from raincheck.conformance.field.lives import RunFailed
from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.run import Run, shared_options

from .faults import CHANGES, COORDINATOR, Fault, make_plan
from .members import Member, Members
from .record import Record, Settings
from .unordered import FOLDER

MOST_EXCLUDED = 10
"""The number of times that a member may be suspected before the run is given up."""


def run_name(settings: Settings, seed: int) -> str:
    """Return the name of the run of that seed; runs of several kinds may be judged together."""
    order = settings.order
    usual = "gossip" if settings.stability == "gossip" else "run"
    kind = "safe" if settings.delivery == "safe" else usual if order == "sequencer" else order
    return f"{kind}-{seed}"


class ClusterRun(Run[Record, Member]):
    """Drives one run of a group."""

    settings: Settings
    members: Members

    def __init__(self, settings: Settings, seed: int, folder: Path) -> None:
        super().__init__(self._recorded(settings, seed), folder, "traces", "deliveries", FOLDER)
        self.settings = settings
        self.members = Members(self.home)
        self._names = [name_of(number) for number in range(settings.members)]
        spares = [name_of(settings.members + number) for number in range(1 + len(CHANGES))]
        self._spare, self._guests = spares[0], dict(zip(CHANGES, spares[1:], strict=True))

    @staticmethod
    def _recorded(settings: Settings, seed: int) -> Record:
        """Return the record of the run of that seed, with its faults planned."""
        safe, plan = settings.delivery == "safe", make_plan(settings.kinds, seed)
        return Record(run_name(settings, seed), seed, plan, order=settings.order, safe=safe)

    # ------------------------------------------------------------------ beginning and end

    async def _form(self) -> None:
        for name in self._names:
            await self._join(name)
        await self._settled(self.START, "Forming the group")

    async def _begin(self, name: str) -> Member:
        """Start a member, which asks all others to admit it; one itself joining may be last."""
        here = [each for each in self.members.running if each.bind]
        here.sort(key=lambda member: not member.in_group)
        peers = ",".join(each.bind for each in here)
        options = self.options_of(self.settings, self.record, self.folder)
        self.record.nodes = tuple(str(options["nodes"]).split(","))
        return await self.members.start(name, options | {"peers": peers})

    async def _join(self, name: str) -> Member:
        """Start a member, and wait until it has joined."""
        member = await self._begin(name)
        await self._joined(member)
        return member

    async def _joined(self, member: Member) -> None:
        await self.members.until(
            lambda: member.in_group or not member.running,
            f"The joining of {member.address}",
            self.START,
        )

    @staticmethod
    def options_of(settings: Settings, record: Record, folder: Path) -> dict[str, object]:
        """Return the common options of all members of a run."""
        transport = settings.transport.removeprefix("udp-")
        names = [name_of(number) for number in range(settings.members + 1 + len(CHANGES))]
        return {
            "nodes": ",".join(names),
            "cluster": f"raincheck-{record.seed}-{os.getpid()}",  # concurrent runs must not meet
            "transport": transport,
            "group": settings.group if transport == "multicast" else "",
            "deliveries": folder / "deliveries",
            "messages": settings.messages,
            "batch": settings.batch,
            "large": settings.large,
            "order": settings.order,
            "delivery": settings.delivery,
            "stability": settings.stability,
            "repair": settings.repair,
            "heavy": ",".join(settings.trace),
            **shared_options(settings, record, folder),
        }

    async def _come_to_rest(self) -> None:
        await self._settled(self.SETTLE, "The last settling of the group")

    async def _end(self) -> None:
        await super()._end()
        await self._bury()

    async def _part(self, survivors: list[Member]) -> None:
        self.record.survivors = survivors
        await self._go_on(survivors)
        for member in survivors:
            self._leave(member)

    async def _go_on(self, survivors: list[Member]) -> None:
        """Let one member leave first: only those that go on from a view are judged on it."""
        *staying, last = survivors
        if len(staying) < 2:
            return
        self._leave(last)
        await self.members.until(
            lambda: all(last.address not in m.members for m in staying if m.running),
            f"Going on without {last.address}",
            self.LEAVE,
        )

    def _all_delivered(self) -> bool:
        here = self.members.in_group
        unordered = all(
            member.unordered["highest"].get(other.address, 0) >= other.unordered["sent"]
            for member in here
            for other in here
            if other.unordered and member.unordered and other.unordered["sent"]
        )
        return self._is_settled() and unordered and super()._all_delivered()

    # ------------------------------------------------------------------ faults

    async def _do(self, fault: Fault) -> None:
        await self._loaded(fault.at)
        if fault.kind == "join":
            self._note("join", self._spare)
            (await self._join(self._spare)).tell("load")
        elif fault.kind in CHANGES:
            await self._during(fault)
        else:
            target = self._target(fault.target)
            if target is None:
                self._skip(fault.kind)
                return
            if fault.kind == "state":
                self._note("state", target.address, role=fault.target, view=target.view)
                target.tell("state")
            elif fault.kind == "pause":
                await self._pause(target, fault.seconds)
            else:
                self._take_away(target, fault)
        if fault.settle:
            await asyncio.gather(*self._later)
            await self._settled(self.SETTLE, f"Settling after the {fault.kind}")

    async def _during(self, fault: Fault) -> None:
        """Provoke a view change, and kill a process that takes part in it."""
        if fault.kind != "joiner" and len(self.members.in_group) < 3:
            self._skip(fault.kind)
            return
        guest: Member | None = None
        if fault.provoke == "crash":
            target = self._target(MEMBER)
            assert target is not None
            self._kill(target, fault, "provoked")
        else:
            guest = await self._begin(self._guests[fault.kind])
        await asyncio.sleep(fault.after)
        if fault.kind == "joiner":
            assert guest is not None
            self._kill(guest, fault, "joiner")
            return
        role = COORDINATOR if fault.kind == "requester" else MEMBER
        here = [m for m in self.members.in_group if m is not guest]
        target = self._target(role, here)
        if target is None:
            self._skip(fault.kind)
        else:
            self._kill(target, fault, fault.kind)
        if guest is not None:
            self._meanwhile(self._loads(guest))

    async def _loads(self, guest: Member) -> None:
        """Let a member that is joining send as well, once it has joined."""
        await self._joined(guest)
        guest.tell("load")

    def _kill(self, target: Member, fault: Fault, role: str) -> None:
        self._note(fault.kind, target.address, role=role, view=target.view)
        target.kill()
        if fault.back and role != "joiner":
            self._meanwhile(self._back(target, fault.seconds))

    def _take_away(self, target: Member, fault: Fault) -> None:
        if fault.kind == "crash":
            self._kill(target, fault, fault.target)
        else:
            self._note("leave", target.address, role=fault.target, view=target.view)
            self._leave(target)
            if fault.back:
                self._meanwhile(self._back(target, fault.seconds))

    async def _back(self, target: Member, seconds: float) -> None:
        """Start the next life of a process that has gone."""
        await self._gone(target, seconds)
        members = self.members
        await members.until(lambda: bool(members.in_group), "Finding a member to join", self.START)
        self._note("restart", target.name)
        (await self._join(target.name)).tell("load")

    async def _pause(self, target: Member, seconds: float) -> None:
        self._note("pause", target.address, seconds=seconds, view=target.view)
        target.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        target.signal(signal.SIGCONT)

    def _leave(self, member: Member) -> None:
        if member.ending == "leave":
            return
        member.ending = "leave"
        member.tell("leave")

    def _target(self, role: str, among: list[Member] | None = None) -> Member | None:
        """Return the member in that role, or None if too few would be left."""
        here = self.members.in_group if among is None else among
        if len(here) < 2:
            return None
        latest = max(here, key=lambda member: member.view)
        coordinator = latest.members[0]
        for member in here:
            if (member.address == coordinator) == (role == COORDINATOR):
                return member
        return here[0]

    # ------------------------------------------------------------------ conditions

    async def _loaded(self, part: float) -> None:
        """Wait until that part of the load is over; replace members excluded meanwhile."""
        settings, members = self.settings, self.members
        if settings.messages:
            goal = part * settings.messages

            def reached() -> bool:
                here = [member for member in members.in_group if not member.incarnation]
                return all(member.sent >= goal for member in here)

            await members.until(
                reached, "Sending the load", 60 + settings.messages / (settings.rate or 1e4)
            )
        else:
            await self._under_load(part * settings.seconds)
        await self._bury()

    async def _settled(self, seconds: float, what: str) -> None:
        """Wait until all running members are in one view, and nobody else is."""
        members = self.members

        def settled() -> bool:
            return self._is_settled() or bool(self._excluded())

        while True:
            await members.until(settled, what, seconds)
            if not self._excluded():
                return
            await self._bury()

    def _is_settled(self) -> bool:
        running = self.members.running
        if not running or not all(member.in_group for member in running):
            return False
        view, expected = running[0].view, {member.address for member in running}
        return all(m.view == view and set(m.members) == expected for m in running)

    def _excluded(self) -> list[Member]:
        buried = {each["who"] for each in self.record.done if each["kind"] == "excluded"}
        gone = (member for member in self.members.all if member.ending == "excluded")
        return [member for member in gone if member.address not in buried]

    async def _bury(self) -> None:
        """Bring suspected members back in a new incarnation."""
        for member in self._excluded():
            self._note("excluded", member.address, reason=member.sentence)
            if self.record.faults()["excluded"] > MOST_EXCLUDED:
                raise RunFailed(
                    f"Members were taken for dead too often ({MOST_EXCLUDED + 1}), at last "
                    f"{member.address}: {member.sentence}"
                )
            if not self.record.survivors:
                (await self._join(member.name)).tell("load")

    def _waits(self, member: Member) -> str:
        said = member.status
        return (
            f"{member.address}: {said.get('status', 'no answer')} in {said.get('view', '?')}, "
            f"waits for {said.get('missing') or 'nobody'}, sent {member.sent}, has {member.highest}"
        )

    def _note(self, kind: str, who: str, **facts: object) -> None:
        messages = self.settings.messages
        if messages and all(member.sent >= messages for member in self.members.in_group):
            facts["load"] = "over"  # planned under load
        super()._note(kind, who, **facts)
