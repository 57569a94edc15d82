"""One call for every start of a ring: restarts in all orders, with and without files, in virtual
time.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.aio.connecting import Connecting
from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import ConfigError, WaitTimeout
from raincheck.impl.ring.fence import Fence
from raincheck.impl.simulation import loop
from raincheck.impl.simulation.members import SimulatedRing

STOPS = ("close", "crash", "block")
"""How a process ends: closed, killed, or at the end of its `async with`."""
LATE = 60.0
"""Seconds after which a ring that does not serve is down for good."""


def run(scenario: Coroutine[Any, Any, None]) -> None:
    loop.run(scenario)


class World:
    """Processes of a ring of these members on one simulated network, their files in a folder."""

    def __init__(self, folder: Path, names: str, files: str) -> None:
        self.network = loop.SimulatedNetwork()
        self.folder, self.names, self.files = folder, names, files
        self.members = [f"{name}@10.0.0.{n}:7000" for n, name in enumerate(names, 1)]
        self.rings: dict[str, Ring] = {}
        self.fences: list[Fence] = []
        self.lives: list[str] = []
        self._memory: dict[str, str] = {}

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.ring"

    def connecting(self, name: str, **about: Any) -> Connecting[Ring]:
        file = self.file(name) if name in self.files else None
        how: dict[str, Any] = {"ring": "locks", "name": name, "key": [], "members": self.members}
        how |= {"network": self.network, "state_file": file, "timeout": LATE}
        return Ring.connecting(SimulatedRing(**how | about))

    async def start(self, *names: str, **about: Any) -> None:
        """Start these, in this order, each a little later than the one before."""

        async def one(at: int, name: str) -> None:
            await asyncio.sleep(at * 0.03)
            self.rings[name] = await self.connecting(name, **about)

        await asyncio.gather(*(one(at, name) for at, name in enumerate(names)))

    async def stop(self, name: str, how: str) -> None:
        """End a process; what a process without a file was is not to be again."""
        ring = self.rings.pop(name)
        if name not in self.files:
            self.lives.append(str(ring.address))
        if how == "crash":
            await ring._close()
        elif how == "close":
            await ring.close()
        else:
            async with ring:
                pass

    def lose(self, name: str) -> None:
        self.file(name).unlink()

    async def serves(self) -> None:
        """All that run have the lock in turn, with greater fences, and are of one ring."""
        for ring in self.rings.values():
            async with ring.token(timeout=LATE) as fence:
                assert not self.fences or self.fences[-1] < fence
                self.fences.append(fence)
        assert len({ring.identity for ring in self.rings.values()}) == 1
        assert not {str(ring.address) for ring in self.rings.values()} & set(self.lives)

    async def end(self) -> None:
        for ring in self.rings.values():
            await ring._close()


@pytest.mark.parametrize(
    ("how", "names", "most", "least"),
    [
        ("close", "abc", 0.15, 0.0),
        ("crash", "abc", 9.0, 0.9),  # the same question, asked of one that says nothing
        ("close", "abcde", 0.15, 0.0),
    ],
)
def test_the_others_do_not_wait_for_a_member_that_closes(
    how: str, names: str, most: float, least: float, tmp_path: Path
) -> None:
    async def scenario() -> None:
        world = World(tmp_path, names, names)
        await world.start(*names)
        await world.serves()
        began = asyncio.get_running_loop().time()
        await world.stop("a", how)
        for name in "bcb":  # on the way back to b the token would pass a
            async with world.rings[name].token(timeout=LATE):
                pass
        assert least <= asyncio.get_running_loop().time() - began <= most
        await world.start("a")
        await world.serves()
        await world.end()

    run(scenario())


def test_a_member_is_waited_for_if_the_other_cannot_go_on_without_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "ab", "ab")
        await world.start(*"ab")
        await world.serves()
        began = asyncio.get_running_loop().time()
        await world.stop("a", "close")
        await asyncio.sleep(0.3)
        await world.start("a")
        await world.serves()
        assert asyncio.get_running_loop().time() - began < 0.6
        await world.end()

    run(scenario())


def history(data: st.DataObject, names: str, files: str, steps: int) -> None:
    """Start all, and then restart them, one or all, in any order; the ring serves after each."""
    order = data.draw(st.permutations(names))
    plan = [
        (
            data.draw(st.sampled_from([*names, *(names if not files else "*" * len(names))])),
            data.draw(st.sampled_from(STOPS)),
            data.draw(st.booleans()),
            data.draw(st.permutations(names)),
            data.draw(st.sampled_from([0.0, 0.5, 5.0])),
        )
        for _ in range(steps)
    ]

    async def scenario(folder: Path) -> None:
        world = World(folder, names, files)
        await world.start(*order)
        await world.serves()
        for who, how, loses, again, pause in plan:
            everybody = who == "*" and set(files) == set(names)
            stopped = [n for n in again if everybody or n == who]
            for name in stopped:
                await world.stop(name, how)
            if loses and not everybody:
                for name in stopped:
                    if name in files:
                        world.lives.append(world.file(name).name)
                        world.lose(name)
            await asyncio.sleep(pause)
            await world.start(*stopped)
            for ring in world.rings.values():
                await ring.wait_for_members(len(names), timeout=LATE)
            await world.serves()
        await world.end()

    folder = Path(tempfile.mkdtemp())
    try:
        run(scenario(folder))
    finally:
        shutil.rmtree(folder)


@settings(max_examples=6, deadline=None)
@given(st.data(), st.sampled_from(["abc", "ab", ""]))
def test_a_ring_serves_after_any_restart(data: st.DataObject, files: str) -> None:
    history(data, "abc", files, 3)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(["abc", "abcd"]), st.sampled_from(["all", "some", "none"]))
def test_a_ring_serves_after_any_restarts(data: st.DataObject, names: str, files: str) -> None:
    with_files = {"all": names, "some": names[1:3], "none": ""}[files]
    history(data, names, with_files, 8)


@pytest.mark.parametrize("how", STOPS)
def test_a_clean_stop_of_all_does_not_break_the_next_start(tmp_path: Path, how: str) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "abc", "abc")
        await world.start("b", "c", "a")
        identity = world.rings["a"].identity
        for again in ("cab", "bca"):
            await world.serves()
            for name in "abc":
                await world.stop(name, how)
            await world.start(*again)
        assert {ring.identity for ring in world.rings.values()} == {identity}
        await world.serves()
        await world.end()

    run(scenario())


def test_a_founder_without_its_file_does_not_stop_the_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "abc", "abc")
        await world.start("a", "b", "c")
        before = world.rings["a"].address
        await world.stop("a", "crash")
        world.lose("a")
        await world.start("a")
        assert world.rings["a"].address.node == "a"
        assert world.rings["a"].address.incarnation > before.incarnation
        await asyncio.sleep(30.0)
        await world.serves()
        assert all(ring.view_state == "agreement" for ring in world.rings.values())
        await world.end()

    run(scenario())


def test_two_of_three_come_back_and_found_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "abc", "abc")
        await world.start("a", "b", "c")
        identity = world.rings["a"].identity
        for name in "abc":
            await world.stop(name, "crash")
        world.lose("a")
        await world.start("b", "c")  # a majority with its files goes on
        assert world.rings["b"].identity == identity
        await world.serves()
        for name in "bc":
            await world.stop(name, "crash")
        world.lose("b")
        with pytest.raises(WaitTimeout, match=r"c at 10\.0\.0\.3:7000 to answer.*found=True"):
            await world.connecting("b", timeout=3.0)  # c, which knows the ring, is down
        await world.end()

    run(scenario())


def test_an_operator_founds_anew_after_a_total_loss_and_fences_are_of_another_identity(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "abc", "abc")
        await world.start("a", "b", "c")
        await world.serves()
        for name in "abc":
            await world.stop(name, "crash")
        for name in "ab":
            world.lose(name)
        before, world.fences = world.fences, []
        await world.start("b", "a", found=True)
        await world.serves()
        assert world.fences[0].identity != before[0].identity
        with pytest.raises(TypeError):
            _ = before[0] < world.fences[0]
        with pytest.raises(ConfigError, match="it has been founded again; remove the state file"):
            await world.connecting("c")
        world.lose("c")
        await world.start("c")
        await world.serves()
        await world.end()

    run(scenario())


def test_who_leaves_gives_its_place_up_and_joins_by_the_same_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "abc", "abc")
        await world.start("a", "b", "c")
        left = world.rings.pop("b")
        await left.leave()
        await world.rings["a"].wait_for_members(2)
        await world.start("b")
        assert world.rings["b"].address.incarnation > left.address.incarnation
        await world.serves()
        await world.end()

    run(scenario())


def test_members_with_another_list_found_nothing_and_are_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "ab", "ab")
        other = [*world.members, "c@10.0.0.3:7000"]
        late = asyncio.ensure_future(world.connecting("b", members=other, timeout=5.0)._connect())
        with pytest.raises(WaitTimeout, match=r"b at 10.* to have the same list of members"):
            await world.connecting("a", timeout=3.0)
        with pytest.raises(WaitTimeout):
            await late

    run(scenario())


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "newer", "folder"])
def test_a_state_file_in_bad_condition_is_refused_and_nothing_is_founded(
    tmp_path: Path, damage: str
) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "ab", "ab")
        await world.start("a", "b")
        for name in "ab":
            await world.stop(name, "close")
        file = world.file("a")
        whole = file.read_bytes()
        if damage == "folder":
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes(
                {
                    "cut": whole[:-3],
                    "flipped": whole[:-1] + bytes([whole[-1] ^ 4]),
                    "foreign": world.file("b").read_bytes(),
                    "newer": whole[:4] + b"\x09" + whole[5:],
                }[damage]
            )
        with pytest.raises(ConfigError) as caught:
            await world.connecting("a")
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
        if damage != "folder":
            file.write_bytes(whole)
            await world.start("a", "b")
            await world.serves()
        await world.end()

    run(scenario())


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, "ab", "ab")
        (tmp_path / "a.ring.next").mkdir()  # where the file is written before it is renamed
        with pytest.raises(ConfigError, match=r"a\.ring cannot be written"):
            await world.connecting("a")
        assert not world.network.transports

    run(scenario())


def test_founders_is_refused_in_one_sentence() -> None:
    founders: dict[str, Any] = {"founders": ["a@127.0.0.1:7001"]}
    with pytest.raises(ConfigError, match="founders= is members= now: give the same list"):
        Ring.connect("locks", name="a", **founders)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"members": []}, "members= is empty; name the members"),
        ({"join": ()}, "join= is empty; name the members"),
        ({"members": None}, "members is None; give a list of HOST:PORT"),
        ({"members": [5]}, r"members is \[5\]; give a list of HOST:PORT"),
        ({"join": [None]}, r"join is \[None\]; give a list of HOST:PORT"),
        ({"found": "no"}, "found is 'no'; it must be True or False"),
        ({"sync": "x"}, "sync is 'x'; it must be True or False"),
        ({"state_file": ""}, "state_file is ''; name a file, or leave it out"),
        ({"state_file": 5}, "state_file is 5; name a file, or leave it out"),
        ({"timeout": float("nan")}, "timeout is nan; it must be a number of seconds above 0"),
        ({"leave_timeout": None}, "leave_timeout is None; it must be a number of seconds"),
    ],
)
def test_an_argument_of_another_kind_is_refused_where_it_is_given(
    wrong: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Ring.connect("locks", name="a", **wrong)
