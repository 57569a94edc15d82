"""A member that is gone in the midst of a view change is flushed out once, and the traces conform.

After FLUSH has suspended all, GMS decides without it and does not flush again. After the view is
decided, GMS finishes, and the next change takes it out.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.simulation.group import Flight
from raincheck.impl.wire.headers import JoinReq

LAYERS = ("gms", "flush", "nakack")


def changed(folder: Path, phase: str) -> TracedGroup:
    """d joins; c dies and comes back. Its JOIN and what b answers in this phase arrive at once."""
    group = TracedGroup(folder, LAYERS, manual=True)
    group.start("a", "b", "c", founders=True)
    leader = group["a"].stack

    def deliver(but: Callable[[Flight], bool] = lambda _: False) -> None:
        while there := [each for each in group.in_flight if not but(each)]:
            group.deliver(there[0])

    def leading(each: Flight) -> bool:
        return leader.cores["gms"].phase == phase and (each.source, each.to) == ("b", "a")

    def is_join(each: Flight) -> bool:
        header, _ = leader._outbox.codec.decode(each.data)
        return each.to == "a" and isinstance(header, JoinReq) and bool(header.cookie)

    def until(
        condition: Callable[[], bool], but: Callable[[Flight], bool] = lambda _: False
    ) -> None:
        for _ in range(1000):
            if condition():
                return
            group.advance(0.01)
            deliver(but)
        raise TimeoutError

    def asks(each: Flight) -> bool:
        return each.source == "c" and is_join(each)

    group.send("c", [b"of the old view"])
    deliver()
    group.start("d")
    until(lambda: leader.cores["gms"].phase == phase, leading)
    group.crash("c")
    group.restart("c")
    until(lambda: any(map(asks, group.in_flight)), lambda each: leading(each) or asks(each))
    waiting = [each for each in group.in_flight if leading(each) or asks(each)]
    together = sorted(waiting, key=asks)
    for each in together:
        group.in_flight.remove(each)
    leader.receive([(each.data, group[each.source].endpoint) for each in together], group.now)
    group._settle(group["a"])
    until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.end()
    return group


def actions(folder: Path, layer: str) -> list[dict[str, Any]]:
    """What the leader's layer did."""
    lines = (folder / f"run.a.0.{layer}.jsonl").read_text().splitlines()
    return [each for each in map(json.loads, lines) if each["kind"] == "event"]


def after_the_return(folder: Path, layer: str) -> list[str]:
    """The leader's actions of a layer from the one on in which it learns that c is gone."""
    first = {"gms": ("ReceiveJoin", "joiner", ["c", 1]), "flush": ("Suspect", "member", ["c", 0])}
    action, name, who = first[layer]
    done = actions(folder, layer)
    at = next(
        i
        for i, each in enumerate(done)
        if (each["action"], each["args"].get(name)) == (action, who)
    )
    return [each["action"] for each in done[at:]]


def test_a_member_that_is_gone_since_all_are_suspended_is_not_flushed_again(tmp_path: Path) -> None:
    group = changed(tmp_path, "flushing")

    assert after_the_return(tmp_path, "gms")[:2] == ["ReceiveJoin", "Suspended"]
    assert "Suspend" not in after_the_return(tmp_path, "flush")
    assert [view.id.counter for view in group["b"].views] == [1, 2]
    assert {(each.protocol, each.verdict) for each in check_paths([tmp_path])} == {
        (layer, "holds") for layer in (*LAYERS, "layers")
    }


@pytest.mark.parametrize("phase", ["installing", "finishing"])
def test_a_member_that_is_gone_since_the_view_is_decided_is_left_to_the_next_flush(
    tmp_path: Path, phase: str
) -> None:
    group = changed(tmp_path, phase)

    assert after_the_return(tmp_path, "gms").index("Finish") < after_the_return(
        tmp_path, "gms"
    ).index("BeginChange")
    flushed = after_the_return(tmp_path, "flush")
    assert flushed.index("Resume") < flushed.index("Suspend")
    assert [view.id.counter for view in group["b"].views] == [1, 2, 3]
    assert {(each.protocol, each.verdict) for each in check_paths([tmp_path])} == {
        (layer, "holds") for layer in (*LAYERS, "layers")
    }
