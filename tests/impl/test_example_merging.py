"""`examples/replicated_counter.py` across a partition, in virtual time."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType

import pytest

import raincheck
from raincheck.impl.messages import Endpoint
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel

PLACES: dict[str, Endpoint] = {name: (f"10.0.0.{n}", 7000) for n, name in enumerate("abc", 1)}
OPERATIONS = 150


@pytest.fixture
def example() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "replicated_counter.py"
    spec = importlib.util.spec_from_file_location("replicated_counter", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("on_merge", "primary"),
    [("state", False), ("callback", False), ("state", True), ("callback", True)],
)
def test_counters_that_were_parted_end_with_the_number_of_the_prevailing_side(
    on_merge: str, primary: bool, example: ModuleType
) -> None:
    found: dict[str, tuple[int, int]] = {}
    alone: list[int] = []

    async def parted() -> None:
        network = SimulatedNetwork()
        replicas, following = {}, []
        async with AsyncExitStack() as exits:
            channels = {}
            for seed, (name, place) in enumerate(PLACES.items()):
                replica = replicas[name] = example.Replica(
                    argparse.Namespace(
                        operations=OPERATIONS, seed=seed, pause=0.02, members=3, on_merge=on_merge
                    )
                )
                config = SimulatedChannel(
                    cluster="counter", name=name, incarnation=1, bind=place, network=network,
                    initial_hosts=[PLACES["a"]], on_merge=on_merge,
                    primary_timeout=60.0 if primary else None,
                    primary="majority" if primary else None,
                    expected_votes=3 if primary else None,
                    get_state=replica.counter.get_state, set_state=replica.counter.set_state,
                )  # fmt: skip
                channel = await exits.enter_async_context(raincheck.Channel.connecting(config))
                channels[name] = channel
            await channels["a"].wait_for_members(3)
            following = [asyncio.create_task(replicas[n].follow(c)) for n, c in channels.items()]
            await asyncio.sleep(0.5)
            network.silent.add(PLACES["c"])
            await asyncio.sleep(4)
            alone.append(replicas["c"].counter.operations)
            network.silent.clear()
            await asyncio.gather(*following)
            for name, replica in replicas.items():
                found[name] = replica.counter.value, replica.counter.operations

    run(parted())

    assert len(set(found.values())) == 1
    (_, operations), *_ = found.values()
    if primary:  # c has waited, and all that it was given to send has come in the end
        assert alone[0] < 0.6 * OPERATIONS
        assert operations == 3 * OPERATIONS
        return
    assert alone[0] > OPERATIONS / 2  # c has gone on by itself
    assert 2 * OPERATIONS <= operations < 3 * OPERATIONS  # and what it has done is lost
