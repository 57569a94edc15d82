"""The parts of a run of a token ring: its processes, its contacts, its deadlines."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.run import Run, shared_options

from .deeds import deed
from .faults import STORM, make_ring_plan
from .fence import Resource
from .members import RingMember, RingMembers, settled
from .record import NAMES, TIMES, RingRecord, RingSettings, run_name
from .status import Status

SHORT = 4.0
"""Seconds for anything that is not promised, in runs as written."""
OnAct = Callable[[float, str], None]


class RingBase(Run[RingRecord, RingMember]):
    """The processes of one run, and the resource that their lock protects."""

    settings: RingSettings
    members: RingMembers
    asked_by = (signal.SIGCONT, signal.SIGUSR1)

    def __init__(
        self,
        settings: RingSettings,
        seed: int,
        folder: Path,
        *,
        watch: Callable[[Status], None] = lambda _: None,
        on_act: OnAct = lambda _at, _text: None,
    ) -> None:
        """`watch` receives the members' statuses, `on_act` the harness's acts."""
        plan = make_ring_plan(settings.kinds, seed, TIMES.hungry)
        super().__init__(RingRecord(run_name(seed), seed, plan), folder, "traces")
        self.settings = settings
        self._draw = Random(f"ring run {seed}")
        self._on_act = on_act
        self._ports: dict[str, str] = {}
        self._calls: dict[str, dict[str, str]] = {}
        """How each name was started last: the same call starts it again."""
        self._contacts = ""
        self._newcomers = settings.members
        self.resource = Resource(self._now)
        self._place = ""
        self.members = RingMembers(self.home, watch)

    async def _begin(self, name: str, incarnation: int, **how: str) -> RingMember:
        """Start a process of that name."""
        options = self.options_of(self.settings, self.record, self.folder)
        self.record.nodes = tuple(str(options["nodes"]).split(","))
        options |= {"life": self.members.lives(name), "state": self._state(name)}
        options |= {"began": self._began, "resource": self._place}
        self._calls[name] = how
        member = await self.members.start(name, options | how, incarnation)
        # The load does not wait for a member that comes later.
        if self._load_began:
            member.tell("load")
        return member

    def _state(self, name: str) -> Path:
        """Return the file where the lives of a name keep their state."""
        return self.home / f"{name}.state"

    @staticmethod
    def options_of(settings: RingSettings, record: RingRecord, folder: Path) -> dict[str, object]:
        """Return the common options of all members of a run."""
        most = settings.members + STORM * len(record.plan.faults)
        undo = "all" if settings.as_written else settings.undo
        names = 0 if undo else NAMES  # LOCKS rests on what the repaired ring promises
        return {
            "nodes": ",".join(name_of(number) for number in range(most)),
            "ring": f"raincheck-{record.seed}-{os.getpid()}",  # concurrent runs must not meet
            **shared_options(settings, record, folder),
            "undo": undo,
            "names": names,
        }

    @property
    def _one_name(self) -> bool:
        """Tell whether a life that has lost its state keeps its name, as in the text."""
        return self.settings.as_written or "incarnations" in self.settings.undo.split(",")

    def _target(self) -> RingMember | None:
        """Return a member without another fault, or None if too few would be left."""
        here = [member for member in self.members.in_group if not member.armed]
        return self._draw.choice(here) if len(here) > 1 else None

    def _remember(self, but: RingMember | None = None) -> None:
        """Update the contacts of newcomers."""
        here = [member.bind for member in self.members.in_group if member is not but]
        self._contacts = ",".join(here) or self._contacts

    # ------------------------------------------------------------------ conditions

    async def _settled(self, seconds: float, what: str) -> None:
        """Wait until all running members agree on one list and its view."""
        await self._until(lambda: settled(self.members.running), what, seconds)

    async def _until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        if self.settings.as_written and self._load_began:
            seconds = min(seconds, SHORT)
        await super()._until(condition, what, seconds)

    def _waits(self, member: RingMember) -> str:
        missing = ", ".join(member.status.get("missing", ["no answer"])) or "nobody"
        return f"{member.title}: {_how(member.ring)}, waits for {missing}"

    def _note(self, kind: str, who: str, **facts: object) -> None:
        super()._note(kind, who, **facts)
        self._on_act(self.record.done[-1]["at"], deed(kind, who, facts))

    async def _gather(self) -> None:
        await self.resource.close()
        self.record.writes = self.resource.log
        await super()._gather()


def _how(status: Status | None) -> str:
    if status is None:
        return "it never said how it was"
    return f"{status.token_state}, {status.view_state}, list {' '.join(status.nodelist)}"


def free_ports(count: int) -> list[str]:
    """Return free addresses: founders know each other's before they start."""
    with ExitStack() as taken:
        places = []
        for _ in range(count):
            each = taken.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            each.bind(("127.0.0.1", 0))
            places.append(f"127.0.0.1:{each.getsockname()[1]}")
    return places
