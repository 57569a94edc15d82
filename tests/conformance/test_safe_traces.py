"""Traces of SEQUENCER with safe delivery: written, followed by the model, and judged uniformly."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

import raincheck
from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.field.stack.layer_traces import SEQUENCER
from raincheck.conformance.judges.plan import plan
from raincheck.conformance.judges.planted_sequencer_safe import safe_story
from raincheck.conformance.judges.sequencer_story import A, B, C, Change, on, sets
from raincheck.conformance.spark import pipeline
from raincheck.conformance.trace.events import Event, Released
from raincheck.conformance.trace.findings import HOLDS, VIOLATED
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.damage import copy, damage
from raincheck.conformance.trace.sequencer.direct import Direct
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.tracegen import Shape, Trace, Walk, write_trace
from raincheck.conformance.verbs.conform import run_results
from raincheck.impl.simulation.group import Link
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel
from raincheck.impl.stack.config import StackConfig
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Rules

SAFE = Rules(delivery="safe")


def judged(folder: Path, trace: Trace, killed: tuple[Address, ...] = ()) -> RunVerdict:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    write_trace(folder, trace, killed)
    [verdict] = check_paths([folder])
    return verdict


@pytest.mark.parametrize("synchronous", [False, True])
def test_the_decomposed_verdict_on_safe_walks_is_the_direct_one(
    tmp_path: Path, synchronous: bool
) -> None:
    shape = Shape(steps=90, crashes=2, synchronous=synchronous, rules=SAFE)
    actions, verdicts = Counter[str](), Counter[str]()
    for seed in range(16):
        walk = Walk(seed, shape).run()
        actions.update(event.action for event in walk.events)
        good = walk.files()
        assert judged(tmp_path / "walk", good).verdict == Direct(good).verdict == HOLDS
        for fault in range(3):
            name, trace = damage(good, seed * 10 + fault)
            direct, found = Direct(trace), judged(tmp_path / "walk", trace)

            assert found.verdict == direct.verdict, (seed, fault, name, direct.violated)
            verdicts[found.verdict] += 1

    assert min(actions[name] for name in ("Acknowledge", "ReceiveAck", "Announce")) > 10
    assert actions["ReceiveSafe"] > 10
    assert verdicts[VIOLATED] > 10


def _without_ack(trace: Trace) -> None:
    """c never acknowledges, and a has not heard it; the rest is as before."""
    for who, action, number in ((C, "Acknowledge", 0), (A, "ReceiveAck", 1)):
        records = trace[who]
        gone = [e for e in records if isinstance(e, Event) and e.action == action][number]
        records.remove(gone)
        for index, record in enumerate(records):
            if index:
                record.index = index - (index == len(records) - 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without_ack, "all > announced[n]"),
        (on(B, "Acknowledge", sets(changed__told=2)), "told: 2, not 3"),
        (on(C, "ReceiveData", sets(changed__held=1)), "held: 1, not 2"),
        (on(A, "ReceiveAck", sets(changed__heard=(("b", 0, 9),))), "heard:"),
        (on(A, "Announce", sets(changed__announced=9)), "announced: 9, not 3"),
        (
            on(C, "ReceiveSafe", sets(changed__released=Released(1, (("a", 0, 1, 2),)))),
            "released:",
        ),
        (
            on(B, "InstallView", sets(changed__released=Released(2, (("b", 0, 2, 1),)))),
            "released:",
        ),
        (
            on(
                B,
                "ReceiveSafe",
                sets(received=("SAFE", "a", 0, 2), args__position=2),
            ),
            "released:",
        ),
    ],
)
def test_a_lie_about_what_is_held_or_safe_is_found(
    tmp_path: Path, change: Change, words: str
) -> None:
    good = safe_story().files()
    assert judged(tmp_path / "good", good).verdict == HOLDS
    trace = copy(good)
    change(trace)

    found = judged(tmp_path / "bad", trace)

    assert found.verdict == VIOLATED
    said = [str(each) for finding in found.findings for each in finding.conjuncts]
    said += [
        f"{each.name}: {each.recorded}, not {each.expected}"
        for finding in found.findings
        for each in finding.differences
    ]
    assert any(words in each for each in said), said


def too_soon() -> tuple[Trace, tuple[Address, ...]]:
    """a announces what c has not received; a and b deliver it and are killed, c goes on with d."""
    script = Script("abcd", rules=SAFE)
    script.do("a", "Send", 1).each("ab", "ReceiveData", "a").do("b", "Acknowledge")
    script.step(script.who("a"), "ReceiveAck", (B, 1))
    here = script.world.processes[A]
    here.me = here.me._replace(heard=tuple((Address(name, 0), 1) for name in "bcd"))
    script.do("a", "Announce")
    for name in "ab":
        script.step(script.who(name), "ReceiveSafe", (A, 1))
    script.decide("cd").install("cd").leave("cd")
    return script.files("ab"), (A, B)


def test_what_is_delivered_too_soon_breaks_the_uniform_promises_of_a_safe_group(
    tmp_path: Path,
) -> None:
    trace, killed = too_soon()
    found = judged(tmp_path / "bad", trace, killed)

    assert found.verdict == VIOLATED  # a's announcement is no step of the model
    assert found.safe
    results = {each.name.split(": ")[1]: each for each in run_results(found, strict=False)[1:]}
    assert (results["UniformAgreement"].verdict, results["UniformAgreement"].expected) == (
        VIOLATED,
        HOLDS,
    )
    assert results["Agreement"].verdict != VIOLATED

    for header, *_ in trace.values():
        header.constants = {}
    shown = judged(tmp_path / "agreed", trace, killed)
    assert not shown.safe


def test_real_members_write_such_traces_whatever_the_network_does(tmp_path: Path) -> None:
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        group = TracedGroup(
            folder,
            (SEQUENCER,),
            seed=seed,
            config=StackConfig(delivery="safe"),
            link=Link(loss=0.05, duplicate=0.1, delay=(0.001, 0.01)),
        )
        group.start("a", "b", "c", founders=True)
        for step in range(30):
            for name in "bc":
                group.at(step * 0.02, partial(group.send, name, [b"x"] * 5))
        group.at(0.35, partial(group.crash, "a"))
        group.at(0.9, partial(group.start, "d"))
        group.run(3.0)
        group.leave("b")
        group.run(2.0)
        group.end()

        [found] = check_paths([folder])

        assert found.verdict == HOLDS, found.first
        assert found.safe
        assert not found.other_design
        assert found.actions["ReceiveSafe"] > 10
        kept = {each.name: each.verdict for each in found.promises}
        assert kept["UniformAgreement"] == kept["UniformTotalOrder"] == HOLDS


def test_a_channel_with_safe_delivery_takes_trace(tmp_path: Path) -> None:
    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            first = None
            for number, name in enumerate("ab", 1):
                settings = SimulatedChannel(
                    cluster="shop", name=name, incarnation=0, bind=(f"10.0.0.{number}", 7000),
                    network=network, initial_hosts=[("10.0.0.1", 7000)], delivery="safe",
                    trace=tmp_path, nodes=("a", "b"),
                )  # fmt: skip
                channel = await exits.enter_async_context(raincheck.Channel.connecting(settings))
                first = first or channel
            assert first is not None
            await first.wait_for_members(2)
            await channel.send_many([b"1", b"2"])
            async for _ in first:
                break

    run(story())
    [found] = check_paths([tmp_path])

    assert found.verdict == HOLDS, found.first
    assert found.actions["ReceiveSafe"] >= 2


def test_both_engines_say_the_same_of_safe_traces(tmp_path: Path) -> None:
    trace, killed = too_soon()
    write_trace(tmp_path / "soon", trace, killed)
    for seed in range(8):
        shape = Shape(steps=80, synchronous=True, rules=SAFE)
        walk = Walk(seed, shape, run=f"s{seed}").run().files()
        write_trace(tmp_path / str(seed), walk if seed % 2 else damage(walk, seed)[1])

    local = check_paths([tmp_path])

    assert {each.verdict for each in local} >= {HOLDS, VIOLATED}
    assert pipeline.check_paths(plan(), [tmp_path]) == local
