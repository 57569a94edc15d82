"""The traces of real members' state transfers over sockets conform to the model."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.aio.channel import Channel
from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder, attach, detach
from raincheck.impl.recording.writer import TraceWriter
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.state_transfer import events as core_events
from raincheck.impl.state_transfer.core import Repairs, StateTransfer
from raincheck.model.machine.machine import Accepted, Refused

pytestmark = pytest.mark.sockets

BINDING = binding_of("state_transfer")
ALL = Repairs()
STACK = StackConfig(join_timeout=0.2, join_interval=0.02, state_window=4)


def join(name: str, hosts: list[Channel], **settings: Any) -> Any:
    endpoints = [channel.endpoint for channel in hosts]
    return Channel.connect("test", name=name, initial_hosts=endpoints, stack=STACK, **settings)


async def applied(channel: Channel) -> None:
    """An application that takes its messages."""
    async for _ in channel:
        pass


async def transfers(folder: Path, repairs: Repairs = ALL) -> None:
    """Three members; b fetches the state twice, and once the first provider fails half-way."""
    failures = [OSError("a disk")]

    def failing() -> Iterator[bytes]:
        for _ in range(5):
            yield bytes(100_000)
        if failures:
            raise failures.pop()

    async def set_state(chunks: AsyncIterator[bytes]) -> None:
        async for _ in chunks:
            pass

    async with (
        join("a", [], get_state=failing) as a,
        join("b", [a]) as b,
        join("c", [a], get_state=lambda: bytes(900_000)) as c,
    ):
        works = [asyncio.create_task(applied(channel)) for channel in (a, b, c)]
        for channel in (a, b, c):
            await channel.wait_for_members(3, timeout=20)
        b._callbacks.desk._set_state = set_state
        recorded = []
        for channel in (a, b, c):
            writer = TraceWriter(folder, "run", channel.address, protocol="state_transfer")
            who = channel.address
            recorder = Recorder(
                FromBinding(BINDING), "run", who, "abc", writer, constants={"window": 4}
            )
            core = channel._stack.state.core
            core.repairs = repairs
            recorder.begin(core)
            attach(core, recorder)
            recorded.append((core, recorder, writer))
        await b.fetch_state(timeout=20)
        await b.send(b"between")
        await b.drain(timeout=20)
        await b.fetch_state(timeout=20)
        await a.send(b"behind")
        await a.drain(timeout=20)
        for core, recorder, writer in recorded:
            recorder.footer(core)
            detach(core)
            writer.close()
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)


def test_real_transfers_conform_and_a_changed_number_does_not(tmp_path: Path) -> None:
    asyncio.run(transfers(tmp_path))

    (verdict,) = check_paths([tmp_path])

    assert (verdict.findings, verdict.problems) == ([], [])
    assert verdict.verdict == "holds"
    path = next(tmp_path.glob("run.b.*"))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    actions = [record.get("action") for record in records]
    assert {"Ask", "ReceiveGo", "ReceiveChunk", "Take", "ReceiveRefuse", "StateSet"} <= {*actions}

    taken = next(record for record in records if record.get("action") == "ReceiveChunk")
    taken["args"]["cut"] += 1
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    (verdict,) = check_paths([tmp_path])
    assert verdict.verdict == "violated"


def test_a_provider_that_heeds_no_credit_is_found_in_the_traces(tmp_path: Path) -> None:
    asyncio.run(transfers(tmp_path, Repairs(credits=False)))

    (verdict,) = check_paths([tmp_path])

    assert verdict.verdict == "violated"
    first = verdict.findings[0]
    assert (first.action, first.reason) == ("Read", "Read is not enabled")
    assert [each.text for each in first.conjuncts] == [
        "Credits => serving[n][r].next <= serving[n][r].upto"
    ]


def drawn(draw: random.Random) -> Any:
    """What may happen to a member, views included."""
    names = [Address(name, 0) for name in "abcd"]
    one, number = draw.choice(names), draw.randrange(3)
    some = tuple(draw.sample(names, draw.randint(1, 4)))
    return draw.choice(
        [
            core_events.InstallView(some),
            core_events.Join(one, some),
            core_events.ReceiveJoin(one),
            core_events.ReceiveAsk(one),
            core_events.Ask(),
            core_events.Begin(number),
            core_events.Suspect(one),
            core_events.ReceiveGo(one, number, some),
            core_events.ReceiveRequest(one, number, 2),
            core_events.ReceiveDone(one, True),
        ]
    )


@pytest.mark.parametrize("seed", range(20))
def test_views_come_and_go_in_the_model_as_in_the_core(seed: int) -> None:
    draw, described = random.Random(seed), FromBinding(BINDING)
    rules = BINDING.rules(window=16)
    core = StateTransfer(Address("a", 0))
    local, taken = BINDING.core_local(core), set()
    for _ in range(100):
        event = drawn(draw)
        name = type(event).__name__
        answer = BINDING.traced_handler(name)(rules, local, described._input(event))
        if isinstance(answer, Refused):
            with pytest.raises(NotEnabled):
                core.handle(event)
            continue
        assert isinstance(answer, Accepted)
        assert BINDING.model_outputs(core.handle(event)) == answer.outputs
        local = answer.local
        assert BINDING.core_local(core) == local
        taken.add(name)
    assert {"InstallView", "ReceiveJoin", "Suspect", "ReceiveGo"} <= taken


@pytest.mark.parametrize("phase", ["idle", "set"])
def test_a_process_that_has_asked_before_does_not_join(phase: str) -> None:
    local = BINDING.core_local(StateTransfer(Address("d", 0)))._replace(phase=phase)
    join = BINDING.field_inputs["Join"](("a", 0), (("a", 0), ("d", 0)))

    answer = BINDING.traced_handler("Join")(BINDING.rules(), local, join)

    assert isinstance(answer, Accepted if phase == "idle" else Refused)
