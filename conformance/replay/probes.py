"""What must be refused: inputs whose guard is false in the model, offered to the real core.

A walk shows only what is enabled. Here, in each local state, every input that the model's handler
refuses is offered too: the core must raise NotEnabled and stay as it is. Which conjunct of which
guard was false is counted, so that a guard that was never tried shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from raincheck.conformance.bindings.sequencer import reading as mapping
from raincheck.impl import messages as wire
from raincheck.impl.errors import NotEnabled
from raincheck.impl.sequencer import events as impl
from raincheck.model.machine.machine import Conjunct, Refused
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import handlers as model
from raincheck.model.sequencer.handlers import Local

from .group import Group

DRAINED: Final = "DrainOnLeave => position[p][n] = Len(stream[n])"
"""What the network knows and tells the core with the event."""

GUARDS: Final = {
    "Send": ('status[n] = "member"', "HoldSends => resend[n] = <<>>"),
    "ReceiveForward": ("Running(n)",),
    "ReceiveData": (
        "Running(n)",
        "c \\in NodesOf(CurrentView(n))",
        "ViewTag => d.view <= view[n]",
        "ExactNext => IsNext(n, m)",
    ),
    "InstallView": ("Running(n)", "v = view[n] + 1", "Address(n) \\in Members(new)"),
    "Join": ('status[n] = "joining"',),
    "Resend": ("Running(n)", "resend[n] # <<>>"),
    "Leave": ('status[n] = "member"',),
    "Stop": ('status[n] = "leaving"', "DrainOnLeave => forwardTable[n] = {}", DRAINED),
}
"""The conjuncts of each handler's guard that speak of the node alone, as the model names them."""


class Offer(NamedTuple):
    """An input as the core takes it, and the model's answer to it."""

    action: str
    event: impl.Event
    answer: model.Answer


class Mistake(NamedTuple):
    """A core took what it had to refuse, was changed by what it refused, or failed at it."""

    node: str
    action: str
    problem: str
    conjuncts: tuple[str, ...]


class Probes:
    """Offers each refusable input once per local state, and counts the guards' outcomes."""

    def __init__(self) -> None:
        self.refused: Counter[tuple[str, str]] = Counter()
        self._done: set[object] = set()

    def offer(self, group: Group) -> Mistake | None:
        """Offer to every core what its present state must refuse; return the first mistake."""
        for i, gone in enumerate(group.gone):
            if gone is None:
                me = group.local(i)
                heads = tuple(
                    parcel.tagged if (parcel := group.unread(i, j)) else None
                    for j in range(len(group.cores))
                )
                key = (group.constants.rules, me, heads, len(group.views))
                if key not in self._done:
                    self._done.add(key)
                    mistake = self._offer_to(group, i, me)
                    if mistake is not None:
                        return mistake
        return None

    def _offer_to(self, group: Group, i: int, me: Local) -> Mistake | None:
        core = group.cores[i]
        for action, event, answer in _offers(group, i, me):
            if not isinstance(answer, Refused):
                continue
            false = tuple(conjunct.text for conjunct in answer.conjuncts)
            self.refused.update((action, text) for text in false)
            try:
                core.handle(event)
            except NotEnabled:
                if group.local(i) != me:
                    return Mistake(me.node, action, "refuses, but changes its state", false)
            except Exception as error:  # noqa: BLE001 - whatever a damaged core raises is a finding
                return Mistake(me.node, action, f"raises {type(error).__name__}: {error}", false)
            else:
                return Mistake(me.node, action, "accepts what its guard forbids", false)
        return None

    def untried(self) -> list[str]:
        """Return the guard conjuncts that were never false, as `Action: conjunct`."""
        return [
            f"{action}: {text}"
            for action, texts in GUARDS.items()
            for text in texts
            if (action, text) not in self.refused
        ]


def _offers(group: Group, i: int, me: Local) -> Iterator[Offer]:
    """Inputs for the node, each with what the model's handler says of it."""
    rules, mine = group.constants.rules, wire.Address(*model.address(group.constants.rules, me))
    one = mapping.payloads(me.node, me.said + 1, 1)
    yield Offer("Send", impl.Send(one), model.send(rules, me))
    yield Offer("Resend", impl.Resend(1), model.resend(rules, me))
    yield Offer("Leave", impl.Leave(), model.leave(me))
    yield Offer("Stop", impl.Stop(drained=True), model.stop(rules, me))
    if rules.drain_on_leave:
        undrained = Refused((Conjunct(DRAINED, {}),))
        yield Offer("Stop", impl.Stop(drained=False), undrained)
    if not model.running(me):
        run = Run(Address(*mine), 1, 1, 1)
        forward = impl.Forward(wire.Run(mine, 1, 1), 1, mapping.payloads(me.node, 1, 1), 1, 0)
        answer = model.receive_forward(rules, me, model.Forward(run, 1, Address(*mine)))
        yield Offer("ReceiveForward", impl.ReceiveForward(mine, forward), answer)
    last = group.wire_view(len(group.views))
    rsp = impl.JoinRsp(last, (), wire.Digest(), 0)
    members = mapping.addresses(last.members)
    yield Offer("Join", impl.Join(last.coordinator, rsp), model.join(me, 1, members, ()))
    for number in (me.view, me.view + 1, me.view + 2):
        others = tuple(who for who in members if who.node != me.node)
        for inside in (members, others):
            if inside and number:
                yield _install(rules, me, number, inside)
    for j, node in enumerate(group.constants.nodes):
        parcel = group.unread(i, j)
        if parcel is not None and len(parcel.tagged) == 1:
            messages, view = parcel.tagged[0]
            answer = model.receive_data(rules, me, node, model.Data(messages, view))
            yield Offer("ReceiveData", group.data_event(i, j), answer)


def _install(rules: model.Rules, me: Local, number: int, members: tuple[Address, ...]) -> Offer:
    inside = tuple(wire.Address(*member) for member in members)
    view = wire.View(wire.ViewId(number, inside[0]), inside)
    answer = model.install_view(rules, me, number, members)
    return Offer("InstallView", impl.InstallView(view), answer)
