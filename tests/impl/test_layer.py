"""A stack is a list of layers: another one may stand in a place, or between two."""

from typing import Any

import pytest

from raincheck.impl.messages import Digest, Run, View
from raincheck.impl.sequencer.events import Data, Deliver, JoinRsp, SendJoinRsp
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.gossip_layer import stability_layer
from raincheck.impl.stack.group import LAYERS, Kinds
from raincheck.impl.stack.layer import Ground, Layer
from raincheck.impl.stack.ordering import order_layer
from raincheck.impl.stack.passing import Bundle, Found, Install, Joined


class Unordered(Layer):
    """In SEQUENCER's place: everybody multicasts, and delivers as it comes."""

    name = "unordered"

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.view: View
        self.sent = 0

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Deliver."""
        header = bundle.header
        run = Run(header.sender, header.first, header.size)
        self.above.up(Deliver(run, self.view.id.counter, bundle.payloads), now)

    def up(self, event: Any, now: float) -> None:
        """Let joiners in, who have nothing to know."""
        match event:
            case Found() | Joined() | Install():
                placed = event.rsp.placed if isinstance(event, Joined) else event.placed
                self.view = placed.view
                if isinstance(event, Install) and self.view.coordinator == self.me:
                    for joiner in self.view.joiners:
                        rsp = JoinRsp(self.view, (), Digest(), 1)
                        self.below.down(SendJoinRsp(joiner, rsp), now)
        self.above.up(event, now)

    def step(self, now: float) -> bool:
        """Multicast what there is to send, as far as the layers below let it pass."""
        if not self.ground.buffer or not self.may_multicast():
            return False
        payloads = self.ground.buffer.take(self.config.max_bundle - 512, 100)
        run = Run(self.me, self.sent + 1, payloads.count)
        self.sent = run.last
        self.multicast(Data(run, self.view.id.counter, payloads, run.first, 1), now)
        return True


class Counting(Layer):
    """In STABLE's place: counts what passes, and forgets nothing."""

    name = "counting"

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.bundles = 0

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Count."""
        self.bundles += 1
        self.above.pass_up(bundle, now)


def instead(place: type[Layer], other: type[Layer]) -> Kinds:
    """The stack with another layer in that place."""
    assert place in LAYERS
    return tuple(other if kind is place else kind for kind in LAYERS)


def orders(group: Simulator, *names: str) -> list[list[tuple[str, int]]]:
    """The messages that each has delivered: senders and numbers, in order."""
    return [
        [
            (run.sender.node, k)
            for run, _ in group[name].delivered
            for k in range(run.first, run.last + 1)
        ]
        for name in names
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_stack_without_an_order_delivers_everything_in_each_senders_order(seed: int) -> None:
    link = Link(loss=0.1, duplicate=0.05, delay=(0.0001, 0.01))
    group = Simulator(seed, link=link, kinds=instead(order_layer, Unordered))
    group.start("a", "b", "c", founders=True)
    for name in "abc":
        for step in range(20):
            group.at(0.01 * step, lambda name=name: group.send(name, [b"x"] * 3))
    group.run_until(lambda: all(group[name].messages == 180 for name in "abc"))

    found = orders(group, "a", "b", "c")
    for order in found:
        for sender in "abc":
            assert [k for who, k in order if who == sender] == list(range(1, 61))
    assert len(set(map(tuple, found))) > 1, "nobody has ordered them"


def test_its_views_change_as_ever() -> None:
    group = Simulator(1, kinds=instead(order_layer, Unordered))
    group.start("a", "b", "c", founders=True)
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c", "d"))
    for name in "bcd":
        group.send(name, [b"x"] * 5)
    group.leave("b")
    group.run_until(lambda: group["b"].left == "" and group.in_one_view("c", "d"))

    assert [group[name].messages for name in "bcd"] == [15, 15, 15]
    assert "sequencer" not in group["c"].stack.cores


def test_a_stack_whose_stable_only_counts_keeps_everything() -> None:
    group = Simulator(1, kinds=instead(stability_layer, Counting))
    group.start("a", "b", "c", founders=True)
    for step in range(20):
        group.at(0.01 * step, lambda: group.send("b", [b"x"] * 5))
    group.run(3.0)

    assert [group[name].messages for name in "abc"] == [100, 100, 100]
    for name in "abc":
        stack = group[name].stack
        assert stack._group.find(Counting).bundles == stack.buffered() == 20


class Spread(Layer):
    """A layer that has no business with anything."""


def transmitted(kinds: Kinds) -> list[Any]:
    """What a group with such stacks transmits: loads, a joiner, a crash."""
    seen: list[Any] = []

    class Watched(Simulator):
        def _transmit(self, node: Any, out: Any) -> None:
            seen.append((self.now, node.name, out))
            super()._transmit(node, out)

    group = Watched(3, link=Link(loss=0.1), kinds=kinds, with_state=True)
    group.start("a", "b", "c", founders=True)
    for name in "abc":
        group.send(name, [b"x" * 100] * 50)
    group.at(0.2, lambda: group.start("d"))
    group.at(0.5, lambda: group.crash("a"))
    group.run(4.0)
    assert group.in_one_view("b", "c", "d")
    return seen


@pytest.mark.parametrize("place", range(len(LAYERS) + 1))
def test_a_layer_between_two_passes_on_what_is_not_its_business(place: int) -> None:
    assert transmitted((*LAYERS[:place], Spread, *LAYERS[place:])) == transmitted(LAYERS)
