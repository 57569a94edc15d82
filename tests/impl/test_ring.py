"""The ring over real sockets: several members in one event loop."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import raincheck
from raincheck.conformance.field.ring.base import free_ports
from raincheck.impl.aio.connecting import Connecting
from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import ConfigError, LockMisused, MessageTooLarge, NotMember, WaitTimeout
from raincheck.impl.messages import Message
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.fence import Fence, FenceKey, TokenLost
from raincheck.impl.ring.views import RingView
from raincheck.impl.stack.reports import Left

pytestmark = pytest.mark.sockets

LIMIT = 10.0
FAST = RingConfig(
    eating=0.002, hungry=0.5, starving=0.4, give_up=0.3, give_up_again=0.1,
    retransmit_after=0.03, retransmit_max=0.1, hello=0.02,
)  # fmt: skip


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""

    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await body

    asyncio.run(limited())


def founders_of(names: str) -> list[str]:
    """Places for founders of these names."""
    places = free_ports(len(names))
    return [f"{name}@{place}" for name, place in zip(names, places, strict=True)]


@asynccontextmanager
async def founded(names: str, **settings: Any) -> AsyncIterator[list[Ring]]:
    """A ring that these have founded; its members leave in reverse order."""
    settings.setdefault("config", FAST)
    founders = founders_of(names)
    async with AsyncExitStack() as exits:
        rings = await asyncio.gather(
            *(
                Ring.connect("test", name=name, members=founders, **settings)
                for name in names
            )
        )  # fmt: skip
        for ring in rings:
            await exits.enter_async_context(ring)
        for ring in rings:
            await ring.wait_for_members(len(names), timeout=LIMIT)
        yield list(rings)


def founders_in(folder: Path, names: str) -> Callable[[str], Connecting[Ring]]:
    """Return what connects a founder of such a name, its state file in the folder."""
    founders = founders_of(names)

    def connect(name: str) -> Connecting[Ring]:
        return Ring.connect(
            "test", name=name, members=founders, config=FAST, timeout=LIMIT,
            state_file=folder / f"{name}.ring",
        )  # fmt: skip

    return connect


async def kill(ring: Ring) -> None:
    """Stop it as a crash does: nobody is told, and the state file stays as it is."""
    await ring._driver.close()
    ring._left, ring._leaving = Left("killed"), None
    if ring._opened.file is not None:
        ring._opened.file.close()


def names_of(view: RingView | None) -> str:
    """Return the names of a view's members, in the ring's order."""
    assert view is not None
    return "".join(member.node for member in view.members or ())


async def until_view(ring: Ring, condition: Callable[[RingView], bool]) -> RingView:
    """Wait for a view that satisfies the condition."""
    changes = ring.changes()
    try:
        async for view in changes:
            if condition(view):
                return view
    finally:
        await changes.aclose()  # type: ignore[attr-defined]
    raise AssertionError("the ring ended first")


async def take(ring: Ring, count: int) -> list[Message]:
    """Take so many messages."""
    return [await anext(ring) for _ in range(count)]


# ------------------------------------------------------------------ views


def test_only_who_is_admitted_joins() -> None:
    async def body() -> None:
        async with founded("a", admit=["10.0.0.0/8"]) as [ring]:
            host, port = ring._driver.transport.endpoint
            with pytest.raises(ConfigError, match=r"is not let into ring 'test': a\.0 at"):
                await Ring.connect("test", name="b", join=[f"{host}:{port}"], config=FAST)
            assert ring.members == (ring.address,)
            assert ring.counters["not_admitted"] >= 1

    run(body())


def test_the_founders_agree_on_the_first_view() -> None:
    async def body() -> None:
        async with founded("bca") as rings:
            assert {ring.views[0] for ring in rings} == {rings[0].views[0]}
            assert names_of(rings[0].views[0]) == "abc"
            assert rings[0].views[0].at == 1
            assert [ring.view_state for ring in rings] == ["agreement"] * 3
            assert {ring.token_state for ring in rings} <= {"eating", "hungry"}
            assert rings[0].members == rings[1].members
            assert rings[0].endpoint != rings[1].endpoint

    run(body())


def test_a_majority_founds_the_ring_if_an_operator_says_so_and_the_first_comes_later() -> None:
    async def body() -> None:
        members = founders_of("abc")
        how = {"members": members, "config": FAST, "timeout": LIMIT, "found": True}
        b, c = await asyncio.gather(*(Ring.connect("test", name=name, **how) for name in "bc"))
        async with b, c:
            assert set(names_of(await b.wait_for_members(2))) == {"b", "c"}
            async with Ring.connect("test", name="a", **how) as a:
                assert a.members == (await c.wait_for_members(3, timeout=LIMIT)).members

    run(body())


def test_a_ring_of_one_is_founded_alone_and_serves() -> None:
    async def body() -> None:
        async with Ring.connect("alone", name="a", config=FAST) as ring:
            assert [names_of(view) for view in ring.views] == ["a"]
            async with ring.token(timeout=LIMIT) as first:
                assert ring.token_state == "eating"
            async with ring.token(timeout=LIMIT) as second:
                assert first < second
            await ring.multicast(b"hello")
            (message,) = await take(ring, 1)
            assert (message.sender, message.payload) == (ring.address, b"hello")

    run(body())


def test_who_joins_gets_a_view_and_so_do_the_others() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            seen: list[RingView] = []
            a.on_view = seen.append
            async with Ring.connect("test", name="c", join=[b.endpoint], config=FAST) as c:
                view = await a.wait_for_members(3, timeout=LIMIT)
                await b.wait_for_members(3, timeout=LIMIT)
                assert set(names_of(view)) == set("abc")
                assert names_of(view)[names_of(view).index("b") + 1 :] + "bc" != "bc"
                assert seen[-1] == view
                assert c.members == a.members == b.members
                assert c.views[-1] == view
                assert c.address.incarnation > 0
            after = await until_view(a, lambda view: len(view.members or ()) == 2)
            assert after.at > view.at
            assert names_of(after) == "ab"

    run(body())


def test_the_others_go_on_without_a_member_that_crashed() -> None:
    async def body() -> None:
        async with founded("abc") as (a, b, c):
            await kill(b)
            view = await until_view(a, lambda view: names_of(view) == "ac")
            same = await until_view(c, lambda view: names_of(view) == "ac")
            assert view == same
            async with c.token(timeout=LIMIT):
                pass

    run(body())


# ------------------------------------------------------------------ the lock


def test_one_member_at_a_time_has_the_lock_and_its_fences_grow() -> None:
    async def body() -> None:
        inside = 0
        fences: list[Fence] = []

        async def use(ring: Ring) -> None:
            nonlocal inside
            for _ in range(5):
                async with ring.token(timeout=LIMIT) as fence:
                    inside += 1
                    assert inside == 1
                    fences.append(fence)
                    await asyncio.sleep(0)
                    assert ring.token_state == "eating"
                    assert not fence.lost.is_set()
                    inside -= 1

        async with founded("abc") as rings:
            await asyncio.gather(*(use(ring) for ring in rings for _ in range(2)))
            assert len(fences) == 30
            assert all(one < two for one, two in pairwise(fences))
            assert len({fence.key for fence in fences}) == 30

    run(body())


def test_who_waits_for_the_token_learns_whom_it_waits_for() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b), a.token(timeout=LIMIT):
            with pytest.raises(WaitTimeout, match="waiting for the token") as caught:
                async with b.token(timeout=0.05):
                    raise AssertionError("two members have the lock")
            assert any(str(a.address) in each for each in caught.value.missing)

            async def again() -> None:
                async with a.token(timeout=0.01):
                    raise AssertionError("two tasks have the lock")

            with pytest.raises(WaitTimeout) as caught:
                await asyncio.create_task(again())
            assert "another of its tasks" in caught.value.missing[0]
            with pytest.raises(LockMisused, match="would wait for itself"):
                await again()
            await a.multicast(b"mail")
            with pytest.raises(LockMisused, match="nothing is delivered meanwhile"):
                await a.drain()

    run(body())


def test_a_lock_may_be_held_longer_than_the_others_are_hungry() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            async with a.token(timeout=LIMIT) as fence:
                await until(b, lambda: b.token_state == "starving")
                assert not fence.lost.is_set()
            await b.wait_for_members(2, timeout=LIMIT)
            async with b.token(timeout=LIMIT) as later:
                assert fence < later

    run(body())


def test_who_is_cut_off_with_the_lock_learns_that_it_is_lost() -> None:
    async def body() -> None:
        async with founded("abc") as (a, b, c):

            async def hold() -> RingView:
                async with b.token(timeout=LIMIT) as fence:
                    heal = cut_off(b)
                    without = await until_view(a, lambda view: names_of(view) == "ac")
                    async with c.token(timeout=LIMIT) as later:
                        assert fence < later
                    fence.check()  # it cannot know yet
                    heal()
                    await fence.lost.wait()
                    with pytest.raises(TokenLost):
                        fence.check()
                    lost.append(without)
                return without

            lost: list[RingView] = []
            with pytest.raises(TokenLost, match="gone on without this member"):
                await hold()
            view = await until_view(b, lambda view: view.at > lost[0].at)
            assert sorted(names_of(view)) == ["a", "b", "c"]
            assert view == await until_view(a, lambda view: b.address in (view.members or ()))

    run(body())


def test_leaving_loses_a_lock() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):

            async def hold() -> None:
                async with b.token(timeout=LIMIT) as fence:
                    await b.leave()
                    assert fence.lost.is_set()

            with pytest.raises(TokenLost):
                await hold()
            with pytest.raises(NotMember):
                await b.token(timeout=LIMIT).__aenter__()
            async with a.token(timeout=LIMIT):
                pass

    run(body())


def test_an_error_inside_matters_more_than_a_lost_lock() -> None:
    async def body() -> None:
        async with Ring.connect("test", name="a", config=FAST) as ring:

            async def hold() -> None:
                async with ring.token(timeout=LIMIT) as fence:
                    fence.lost.set()
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await hold()
            async with ring.token(timeout=LIMIT):  # it was let go
                pass

    run(body())


def test_who_gives_up_waiting_for_the_token_leaves_it_to_others() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            async with a.token(timeout=LIMIT):
                waiting = asyncio.create_task(b.token().__aenter__())
                await until(b, lambda: b.node.granted is None)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            for ring in (a, b, a):
                async with ring.token(timeout=LIMIT):
                    pass

    run(body())


def cut_off(ring: Ring) -> Callable[[], None]:
    """Let nothing in or out; return what ends that."""
    transport = ring._driver.transport
    receive, send = transport._receive, transport.send
    transport.start(lambda _: None)
    transport.send = lambda data, to: None  # type: ignore[method-assign] # noqa: ARG005
    assert receive is not None

    def heal() -> None:
        assert receive is not None
        transport.start(receive)
        transport.send = send  # type: ignore[method-assign]

    return heal


async def until(ring: Ring, condition: Callable[[], bool]) -> None:
    """Wait for something at this member."""
    await ring._until(condition, "waiting in a test", LIMIT)


def test_fences_compare_by_epoch_then_number_then_turn() -> None:
    a, b = (raincheck.Address(name, 0) for name in "ab")
    keys = [FenceKey(0, a, 9, 0), FenceKey(0, a, 9, 1), FenceKey(1, a, 2, 0), FenceKey(1, b, 1, 0)]
    fences = [Fence(key) for key in keys]
    assert min(fences) == fences[0]
    assert all(one < two for one, two in pairwise(fences))
    assert fences[0] == Fence(keys[0])
    assert fences[0] != keys[0]
    assert fences[0].epoch == (0, a)
    assert fences[0].number == 9
    assert len({fences[0], Fence(keys[0])}) == 1


# ------------------------------------------------------------------ multicast


def test_all_members_deliver_all_messages_in_one_order() -> None:
    async def body() -> None:
        async with founded("abc") as rings:

            async def send(ring: Ring) -> None:
                for number in range(200):
                    await ring.multicast(b"%s %d" % (ring.address.node.encode(), number))

            sending = asyncio.gather(*map(send, rings))
            logs = await asyncio.gather(*(take(ring, 600) for ring in rings))
            await sending
            orders = [[(m.sender, m.payload) for m in log] for log in logs]
            assert orders[0] == orders[1] == orders[2]
            for name in b"abc":
                mine = [message for message in logs[0] if message.payload[0] == name]
                assert [m.payload for m in mine] == [b"%c %d" % (name, n) for n in range(200)]
                assert {m.view for m in mine} == {1}

    run(body())


def test_a_slow_consumer_makes_the_senders_wait_and_loses_nothing() -> None:
    async def body() -> None:
        inbox, count = 1 << 17, 3000
        async with founded("ab", inbox=inbox) as (a, b):

            async def send() -> None:
                for number in range(count):
                    await b.multicast(b"%1000d" % number)

            sending = asyncio.create_task(send())
            others = asyncio.create_task(take(b, count))
            full = inbox + 2 * FAST.max_datagram
            await until(a, lambda: a.counters["inbox.bytes"] >= inbox and a.node._kept_here())
            with pytest.raises(
                WaitTimeout
            ):  # a has the token, as long as its consumer does nothing
                await b.token(timeout=0.1).__aenter__()
            assert not sending.done()
            assert inbox <= a.counters["inbox.bytes"] <= full
            for number in range(count):
                assert (await anext(a)).payload == b"%1000d" % number
                assert a.counters["inbox.bytes"] <= full
            await asyncio.gather(sending, others)
            async with b.token(timeout=LIMIT):
                pass

    run(body())


def test_a_full_inbox_and_a_lock_do_not_let_go_for_each_other() -> None:
    async def body() -> None:
        async with founded("ab", inbox=1000) as (a, b):
            async with a.token(timeout=LIMIT):
                a._inbox._hold()
            with pytest.raises(WaitTimeout):  # the inbox still holds
                await b.token(timeout=0.05).__aenter__()
            async with a.token(timeout=LIMIT):
                a._inbox._release()
                with pytest.raises(WaitTimeout):  # the lock still does
                    await b.token(timeout=0.05).__aenter__()
            async with b.token(timeout=LIMIT):
                pass

    run(body())


def test_a_member_that_takes_no_messages_does_not_hold_the_others_up() -> None:
    async def body() -> None:
        async with founded("ab", inbox=0) as (a, b):
            for _ in range(100):
                await b.multicast(bytes(10_000), timeout=LIMIT)
            await b.drain(timeout=LIMIT)
            async with a.token(timeout=LIMIT):
                assert a.counters["inbox.bytes"] == 0

    run(body())


def test_a_message_that_no_token_can_carry_is_refused() -> None:
    async def body() -> None:
        async with Ring.connect("test", name="a", config=FAST) as ring:
            most = FAST.max_message
            await ring.multicast(bytes(most))
            with pytest.raises(MessageTooLarge, match=rf"{most + 1} bytes .* at most {most} "):
                await ring.multicast(bytes(most + 1))
            assert len((await take(ring, 1))[0].payload) == most

    run(body())


def test_what_was_multicast_is_delivered_before_its_sender_has_left() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            for number in range(50):
                await b.multicast(b"%d" % number)
            await b.leave()
            log = await take(a, 50)
            assert [message.payload for message in log] == [b"%d" % n for n in range(50)]
            with pytest.raises(NotMember, match="has left the ring"):
                await b.multicast(b"late")

    run(body())


# ------------------------------------------------------------------ leaving, coming back


def test_leaving_twice_is_leaving_once_and_the_last_one_may_leave_too() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            await asyncio.gather(b.leave(), b.leave())
            await b.leave()
            assert [m async for m in b] == []
            await until_view(a, lambda view: names_of(view) == "a")
            await a.leave()
            assert [m async for m in a] == []

    run(body())


def test_who_cannot_leave_in_time_says_whom_it_waits_for() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            await until(b, lambda: b.token_state == "hungry")
            cut_off(b)
            waiting = asyncio.create_task(b.token().__aenter__())
            reading = asyncio.ensure_future(anext(b))
            with pytest.raises(WaitTimeout, match="leaving") as caught:
                await b.leave(timeout=0.1)
            for task in (waiting, reading):
                with pytest.raises(NotMember, match="though the others do not know"):
                    await task
            assert any(str(a.address) in each for each in caught.value.missing)
            await kill(b)  # which it is to the others
            await until_view(a, lambda view: names_of(view) == "a")

    run(body())


def test_a_member_comes_back_with_what_it_had(tmp_path: Path) -> None:
    async def body() -> None:
        connect = founders_in(tmp_path, "abc")
        a, b, c = await asyncio.gather(*map(connect, "abc"))
        await kill(b)
        await until_view(a, lambda view: names_of(view) == "ac")
        before = b.views
        async with a, c, await connect("b") as back:
            assert back.address == b.address
            view = await a.wait_for_members(3, timeout=LIMIT)
            assert back.views[: len(before)] == before
            assert back.members == view.members
            known = {view.at: view.members for view in back.views if view.members}
            other = {view.at: view.members for view in a.views if view.members}
            assert all(known[at] == other[at] for at in known.keys() & other.keys())

    run(body())


def test_a_ring_whose_members_all_crash_comes_back_as_a_whole(tmp_path: Path) -> None:
    async def body() -> None:
        connect = founders_in(tmp_path, "abc")
        rings = await asyncio.gather(*map(connect, "abc"))
        async with rings[1].token(timeout=LIMIT) as fence:
            for ring in rings:
                await kill(ring)
        back = await asyncio.gather(*map(connect, "abc"))
        async with back[0], back[1], back[2]:
            for ring in back:
                await ring.wait_for_members(3, timeout=LIMIT)
                async with ring.token(timeout=LIMIT) as later:
                    assert fence < later
                assert ring.views[0] == rings[0].views[0]

    run(body())


def test_a_member_that_comes_back_at_once_is_hardly_missed(tmp_path: Path) -> None:
    async def body() -> None:
        connect = founders_in(tmp_path, "abc")
        a, b, c = await asyncio.gather(*map(connect, "abc"))
        async with a, c:
            for _ in range(3):
                await b.multicast(b"before")
                async with b.token(timeout=LIMIT) as fence:
                    await kill(b)
                b = await connect("b")
                await b.multicast(b"after")
                async with b.token(timeout=LIMIT) as later:
                    assert fence < later
            async with b:
                await b.drain(timeout=LIMIT)
                log = [await anext(a)]
                while len([m for m in log if m.payload == b"after"]) < 3:
                    log.append(await anext(a))
                numbers = [message.seqno for message in log]
                assert numbers == sorted(set(numbers))

    run(body())


@pytest.mark.parametrize("asked", ["nobody", "a member that is busy"])
def test_who_is_killed_before_it_was_let_in_begins_again(tmp_path: Path, asked: str) -> None:
    async def body() -> None:
        founders = founders_of("a")
        contact = founders[0].partition("@")[2]
        there = {
            "name": "b", "state_file": tmp_path / "b.ring", "config": FAST, "join": [contact],
        }  # fmt: skip
        if asked == "nobody":
            with pytest.raises(WaitTimeout):
                await Ring.connect("test", timeout=0.1, **there)
        async with Ring.connect("test", name="a", members=founders, config=FAST) as a:
            if asked != "nobody":
                async with a.token(timeout=LIMIT):
                    with pytest.raises(WaitTimeout) as caught:
                        await Ring.connect("test", timeout=FAST.give_up + 0.3, **there)
                    assert any("a.0" in each for each in caught.value.missing)
            b = await Ring.connect("test", timeout=LIMIT, **there)
            assert b.members == (await a.wait_for_members(2, timeout=LIMIT)).members
            await b.leave()

    run(body())


def test_who_has_left_comes_back_as_another_life_only(tmp_path: Path) -> None:
    async def body() -> None:
        file = tmp_path / "b.ring"
        async with founded("a") as (a,):
            there = {"name": "b", "state_file": file, "config": FAST}
            b = await Ring.connect("test", join=[a.endpoint], **there)
            await b.leave()
            again = await Ring.connect("test", join=[a.endpoint], **there)
            assert again.address.incarnation > b.address.incarnation
            await again.leave()
        with pytest.raises(WaitTimeout, match="this process has left the ring, which may go on"):
            await Ring.connect("test", timeout=0.2, **there)

    run(body())


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"ring": ""}, "ring is ''; give a text that is not empty"),
        ({"name": ".a"}, "name is '.a'; take up to 64"),
        ({"bind": "nowhere"}, "bind 'nowhere' is not HOST:PORT"),
        ({"bind": "0.0.0.0:7001"}, "say with advertise= at which one the others reach it"),
        ({"bind": "[::]:7001"}, "bind [::]:7001 stands for every address of this machine"),
        ({"bind": "0.0.0.0:0", "advertise": "0.0.0.0:7"}, "is no address that others can reach"),
        ({"bind": "0.0.0.0:0", "advertise": "[::1]:7"}, "use one family in the whole group"),
        ({"advertise": "nowhere"}, "advertise 'nowhere' is not HOST:PORT"),
        (
            {
                "members": ["a@10.0.0.5:7001", "b@10.0.0.6:7001"],
                "name": "a",
                "bind": "0.0.0.0:7001",
                "advertise": "10.0.0.7:7001",
            },
            "does not have this member, a at 10.0.0.7:7001, only a@10.0.0.5:7001 b@10.0.0.6:7001",
        ),
        ({"bind": "127.0.0.1:0", "join": ["[::1]:7"]}, "use one family in the whole group"),
        ({"members": "a@h:1"}, "members is 'a@h:1'; give a list"),
        ({"join": ["h:0"]}, "contact h:0 has port 0"),
        ({"join": ["192.0.2.1:7"]}, "contact 192.0.2.1:7 is on another machine, which bind 127."),
        (
            {"members": ["a@127.0.0.1:7043", "b@192.0.2.1:7043"], "name": "a"},
            "member 192.0.2.1:7043 is on another machine",
        ),
        ({"join": ["1.2.3.4:5"], "members": ["1.2.3.4:5"]}, "exclude each other"),
        ({"members": ["a@1.2.3.4:5", "a@1.2.3.4:6"]}, "has the name 'a' 2 times"),
        ({"members": ["a@1.2.3.4:5", "b@1.2.3.4:5"], "name": "a"}, "has 1.2.3.4:5 2 times"),
        ({"members": ["a@1.2.3.4:5"]}, "does not say which of them this one is"),
        ({"members": ["a@1.2.3.4:5"], "name": "b"}, "members= does not have this member, b,"),
        (
            {"members": ["a@1.2.3.4:5"], "name": "a", "bind": "1.2.3.4:6"},
            "does not have this member, a at 1.2.3.4:6, only a@1.2.3.4:5",
        ),
        ({"members": ["1.2.3.4:0"]}, "member 1.2.3.4:0 has port 0"),
        ({"timeout": 0}, "timeout is 0; it must be a number of seconds above 0"),
        ({"inbox": -1}, "inbox is -1"),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(
    settings: dict[str, Any], sentence: str
) -> None:
    async def body() -> None:
        with pytest.raises(raincheck.ConfigError) as caught:
            await Ring.connect(**{"ring": "test", **settings})
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    run(body())


def test_a_hungry_time_below_the_eating_time_is_refused() -> None:
    with pytest.raises(raincheck.ConfigError, match=r"hungry \(0.1\) must be above eating \(0.2\)"):
        replace(FAST, eating=0.2, hungry=0.1)


def test_two_rings_cannot_share_a_socket_nor_two_members_a_place() -> None:
    async def body() -> None:
        founders = founders_of("a")
        async with Ring.connect("one", name="a", members=founders, config=FAST):
            for ring in ("one", "two"):
                with pytest.raises(raincheck.ConfigError, match="it is in use; choose another"):
                    await Ring.connect(ring, name="a", members=founders, config=FAST)

    run(body())


def test_a_process_that_asks_its_namesake_is_refused() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            with pytest.raises(
                raincheck.ConfigError, match=r"name 'b' is taken by the member at 127"
            ):
                await Ring.connect("test", name="b", join=[b.endpoint], config=FAST)
            assert names_of(await a.wait_for_members(2, timeout=LIMIT)) == "ab"
            assert b.view_state == "agreement"

    run(body())


def test_a_name_is_kept_by_who_is_alive_and_free_when_it_is_silent() -> None:
    async def body() -> None:
        async with founded("abc") as (a, b, _):
            join = {"join": [a.endpoint], "config": FAST, "timeout": LIMIT}
            with pytest.raises(ConfigError, match=r"name 'b' is taken by b\.0 at"):
                await Ring.connect("test", name="b", **join)
            assert b.address in a.members
            await kill(b)
            async with Ring.connect("test", name="b", **join) as later:
                view = await until_view(a, lambda view: later.address in (view.members or ()))
                view = await until_view(a, lambda view: b.address not in (view.members or ()))
                assert sorted(names_of(view)) == ["a", "b", "c"]

    run(body())


def test_frames_of_another_ring_are_counted_and_dropped() -> None:
    async def body() -> None:
        async with Ring.connect("one", name="a", config=FAST) as one:
            with pytest.raises(WaitTimeout, match="connecting") as caught:
                await Ring.connect(
                    "two", name="b", join=[one.endpoint], config=FAST, timeout=0.2
                )  # fmt: skip
            assert f"{one.endpoint[0]}:{one.endpoint[1]}" in str(caught.value)
            assert one.counters["start.other_ring"] >= 1
            assert [names_of(view) for view in one.views] == ["a"]

    run(body())


def test_who_finds_no_member_says_whom_it_asked() -> None:
    async def body() -> None:
        contacts = free_ports(2)
        with pytest.raises(WaitTimeout, match=r"connecting took longer than 0\.3 s") as caught:
            await Ring.connect("test", name="a", join=contacts, config=FAST, timeout=0.3)
        for contact in contacts:
            assert any(contact in each for each in caught.value.missing)

    run(body())


def test_a_founder_without_a_majority_says_whom_it_waits_for() -> None:
    async def body() -> None:
        founders = founders_of("abc")
        with pytest.raises(WaitTimeout) as caught:
            await Ring.connect("test", name="a", members=founders, config=FAST, timeout=0.5)
        assert any(each.startswith("b at") for each in caught.value.missing)
        assert any("found=True" in each for each in caught.value.missing)

    run(body())


def test_a_state_file_must_be_whole_and_this_members_own(tmp_path: Path) -> None:
    file = tmp_path / "a.ring"

    async def body() -> None:
        async def refused(sentence: str, ring: str = "test", name: str = "a") -> None:
            with pytest.raises(raincheck.ConfigError, match=sentence) as caught:
                await Ring.connect(ring, name=name, state_file=file, config=FAST)
            assert "\n" not in str(caught.value)

        ring = await Ring.connect("test", name="a", state_file=file, config=FAST)
        await refused("is in use by another member")
        await kill(ring)
        await refused("belongs to ring 'test', not to 'other'", ring="other")
        await refused("belongs to member 'a', not to 'b'", name="b")
        whole = file.read_bytes()
        for damaged, what in [
            (b"", "it has 0 bytes"),
            (b"what" + whole[4:], "it begins with b'what'"),
            (whole[:-1], "it has .* of .* bytes"),
            (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "its checksum does not match"),
        ]:
            file.write_bytes(damaged)
            await refused(rf"is damaged \({what}")
        file.write_bytes(whole[:4] + b"\xff" + whole[5:])
        await refused(
            "is of version 255 of the format, not of 3: start this member with the release"
        )
        file.write_bytes(whole)
        async with Ring.connect("test", name="a", state_file=file, config=FAST) as back:
            assert back.address == ring.address

    run(body())


def test_a_state_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    async def body() -> None:
        with pytest.raises(raincheck.ConfigError, match="cannot be opened: No such file"):
            await Ring.connect("test", name="a", state_file=tmp_path / "no" / "file", config=FAST)

    run(body())


def test_a_member_stops_rather_than_send_what_it_cannot_write_down(tmp_path: Path) -> None:
    async def body() -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        ring = await Ring.connect("test", name="a", state_file=folder / "a.ring", config=FAST)
        shutil.rmtree(folder)

        async def use() -> None:
            while True:
                await ring.multicast(b"x")
                await anext(ring)

        with pytest.raises(NotMember, match=r"has stopped: state file .* cannot be written"):
            await use()
        with pytest.raises(NotMember):
            await anext(ring)
        with pytest.raises(NotMember):
            await ring.token().__aenter__()
        await ring.leave()
        assert "transport.sent" not in ring.counters

    run(body())


def test_a_member_that_stops_loses_its_lock(tmp_path: Path) -> None:
    async def body() -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        ring = await Ring.connect("test", name="a", state_file=folder / "a.ring", config=FAST)

        async def hold() -> None:
            async with ring.token(timeout=LIMIT) as fence:
                shutil.rmtree(folder)
                cut = asyncio.create_task(Ring.connect(
                    "test", name="b", join=[ring.endpoint], config=FAST, timeout=0.5
                )._connect())  # fmt: skip
                await fence.lost.wait()
                with pytest.raises(WaitTimeout):
                    await cut

        with pytest.raises(TokenLost):
            await hold()
        await ring.leave()

    run(body())


def test_noise_is_counted_and_harms_nobody() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            with socket.socket(type=socket.SOCK_DGRAM) as stranger:
                for noise in (
                    b"",
                    b"RN",
                    b"GET / HTTP/1.1\r\n\r\n",
                    b"RN" + bytes(100),
                    bytes(9000),
                ):
                    stranger.sendto(noise, a.endpoint)
            await until(a, lambda: a.counters.get("truncated", 0) >= 2)
            async with b.token(timeout=LIMIT):
                pass
            assert a.counters["not_ours"] >= 1

    run(body())


def test_what_a_report_asks_for_is_done_after_the_report() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):
            told: list[str] = []

            def on_view(view: RingView) -> None:
                a._driver.run(lambda _: told.append("asked for"))
                told.append(names_of(view))

            a.on_view = on_view
            await b.leave()
            await until_view(a, lambda view: names_of(view) == "a")
            assert told == ["a", "asked for"]

    run(body())


def test_an_on_view_that_raises_ends_its_member_with_that_error_as_the_cause() -> None:
    async def body() -> None:
        async with founded("ab") as (a, b):

            def on_view(view: RingView) -> None:
                raise ZeroDivisionError(names_of(view))

            a.on_view = on_view
            await b.leave()
            with pytest.raises(NotMember, match="has left the ring: on_view raised Zero") as end:
                await a.wait_for_members(3, timeout=30)
            assert isinstance(end.value.__cause__, ZeroDivisionError)

    run(body())


def test_the_public_names_are_exported() -> None:
    assert raincheck.Ring is Ring
    assert raincheck.RingConfig is RingConfig
    assert raincheck.TokenLost is TokenLost
    assert issubclass(raincheck.TokenLost, raincheck.RaincheckError)
