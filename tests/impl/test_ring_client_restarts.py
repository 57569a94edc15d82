"""A member that serves clients is started again: nobody is given what a client believes to have (C7
of LEASES). Whole rings in virtual time.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from raincheck.impl.aio.ring_connect import RingSettings
from raincheck.impl.errors import WaitTimeout
from raincheck.impl.messages import Address
from raincheck.impl.ring.state_file import Kept, StateFile
from raincheck.impl.ring_start.core import RingStart
from raincheck.impl.simulation.loop import the_loop

from .test_ring_client import CLIENTS, GIVE_UP, connect, within
from .test_ring_named_locks import Scene, settle

NOBODY: dict[str, Any] = {"clients": []}


class Restart:
    """A ring whose first member ends and is started again, while the token goes round."""

    def __init__(self, file: Path | None, **about: Any) -> None:
        self.scene = Scene("abc", **(about or CLIENTS))
        self.file = file
        self.events: list[str] = []
        """What becomes of the lock that a client has by that member, in order."""

    async def start(self) -> float:
        """Start the member; return how long it takes."""
        began = the_loop().time()
        await self.scene.connect("a", state_file=self.file)
        return the_loop().time() - began

    async def run(self, delay: float, how: str = "kill", *, lends: bool = True) -> float:
        """Let it end so and start again; return how long it takes to come back."""
        scene = self.scene
        await asyncio.gather(self.start(), scene.connect("b"), scene.connect("c"))
        b = scene.rings["b"]
        await b.wait_for_members(3, timeout=30)

        async def move() -> None:
            while True:  # else the token rests, and nothing is given on so soon
                async with b.token():
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.01)

        async def follow() -> None:
            async with b.lock("x", timeout=60):
                self.events.append("given on")

        moves = asyncio.create_task(move())
        if lends:
            client = await connect(scene, 1, "a")
            await client.lock("x", on_lost=lambda _: self.events.append("lost")).acquire()
            follows = asyncio.create_task(follow())
        await settle()
        if how == "kill":
            await scene.kill("a")
        else:
            await getattr(scene.rings.pop("a"), how)()
        await asyncio.sleep(delay)
        took = await self.start()
        if lends:
            await follows
        moves.cancel()
        await asyncio.gather(moves, return_exceptions=True)
        if lends:
            await asyncio.sleep(GIVE_UP)  # by now it knows
            await client.close()
        for ring in scene.rings.values():
            await ring._close()
        return took


def restarted(file: Path | None, delay: float, how: str = "kill", **about: Any) -> list[str]:
    restart = Restart(file, **about)

    async def body() -> None:
        await restart.run(delay, how)

    within(body())
    return restart.events


def time_of(file: Path | None, how: str, *, lends: bool, **about: Any) -> float:
    took: list[float] = []

    async def body() -> None:
        took.append(await Restart(file, **about).run(0.05, how, lends=lends))

    within(body())
    return took[0]


@pytest.mark.parametrize(
    ("delay", "kept"),
    [
        (0.05, True),
        (0.2, False),
        *(
            pytest.param(delay, kept, marks=pytest.mark.slow)
            for delay in (0.0, 0.05, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5)
            for kept in (True, False)
            if (delay, kept) not in ((0.05, True), (0.2, False))
        ),
    ],
)
def test_a_client_knows_before_its_members_next_process_gives_its_lock_on(
    tmp_path: Path, delay: float, kept: bool
) -> None:
    assert restarted(tmp_path / "a" if kept else None, delay) == ["lost", "given on"]


@pytest.mark.parametrize("kept", [True, False], ids=["file", "no file"])
def test_a_member_that_comes_back_at_once_is_noticed(
    tmp_path: Path, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RingSettings, "_waits_to_return", lambda *_: 0.0)
    assert restarted(tmp_path / "a" if kept else None, 0.05) == ["given on", "lost"]


@pytest.mark.slow
def test_a_member_whose_file_does_not_say_what_it_has_lent_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = StateFile.save
    monkeypatch.setattr(StateFile, "save", lambda self, kept: save(self, kept._replace(lent=0.0)))
    assert restarted(tmp_path / "a", 0.05) == ["given on", "lost"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["close", "leave"])
def test_a_member_that_has_told_its_clients_comes_back_at_once(tmp_path: Path, how: str) -> None:
    assert time_of(tmp_path / "a", how, lends=True) < GIVE_UP / 2
    assert restarted(tmp_path / "b", 0.05, how) == ["lost", "given on"]


def test_a_member_waits_only_if_clients_may_have_locks_by_it(tmp_path: Path) -> None:
    assert time_of(tmp_path / "b", "kill", lends=False) < GIVE_UP / 2
    assert time_of(None, "kill", lends=False, **NOBODY) < GIVE_UP


@pytest.mark.slow
def test_a_member_waits_if_clients_may_have_locks_by_it(tmp_path: Path) -> None:
    assert time_of(tmp_path / "a", "kill", lends=True) >= GIVE_UP
    assert time_of(None, "kill", lends=False) >= GIVE_UP  # it cannot know


def test_the_time_to_wait_is_that_of_the_process_that_has_ended(tmp_path: Path) -> None:
    settings = RingSettings(ring="locks", name="a")
    kept = Kept("locks", Address("a", 1), "member", state=b"state")
    core = RingStart(kept.life, frozenset("abc"))
    for lent, waits in ((3.0, 3.0), (0.0, 0.0), (None, GIVE_UP)):
        assert settings._waits_to_return(kept._replace(lent=lent), core) == waits
    file = StateFile(tmp_path / "a")
    file.save(kept._replace(lent=3.0))
    assert file.load("locks", "a") == kept._replace(lent=3.0)
    file.close()


def test_a_file_of_the_release_before_does_not_say_what_was_lent(tmp_path: Path) -> None:
    kept = Kept("locks", Address("a", 1), "member", state=b"state", lent=0.0)
    older = msgspec.msgpack.encode(kept[:-1])
    head = struct.pack(">4sBII", b"RNGS", 2, zlib.crc32(older), len(older))
    (tmp_path / "a").write_bytes(head + older)
    file = StateFile(tmp_path / "a")
    assert file.load("locks", "a") == kept._replace(lent=None)
    file.close()


def test_who_waits_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        restart = Restart(tmp_path / "a")
        scene = restart.scene
        await asyncio.gather(restart.start(), scene.connect("b"), scene.connect("c"))
        async with await connect(scene, 1, "a") as client:
            await client.lock("x").acquire()
            await scene.kill("a")
            caplog.set_level(logging.INFO, "raincheck")
            with pytest.raises(WaitTimeout, match="clients of an earlier process of a to know"):
                await scene.connect("a", state_file=restart.file, timeout=GIVE_UP / 2)
            assert "a goes to ring 'locks' in 0.80 s: it waits for clients" in caplog.text
        for ring in scene.rings.values():
            await ring._close()

    within(body())
