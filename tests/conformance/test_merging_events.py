"""What a merge does to the cores of GMS, FLUSH and STATE TRANSFER is what the models say of it.

No instance of their specifications has these events, so no walk has replayed them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.conversion import shaped
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.impl.errors import NotEnabled
from raincheck.impl.flush import events as flush
from raincheck.impl.flush.core import Flush
from raincheck.impl.gms import events as gms
from raincheck.impl.gms.core import Gms
from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.state_transfer import events as state
from raincheck.impl.state_transfer.core import StateTransfer
from raincheck.model.machine.machine import Refused

A, B, C, D = (Address(name, 0) for name in "abcd")
FIRST = View(ViewId(2, A), (A, B, C))


def merged(number: int, by: Address = D, *members: Address) -> View:
    return View(ViewId(number, by), members or (A, B, C, D), (D,))


def gms_at(me: Address, *events: Any) -> Gms:
    core = Gms(me)
    core.begin(FIRST)
    for event in events:
        core.handle(event)
    return core


def flush_at(me: Address, *events: Any) -> Flush:
    core = Flush(me)
    core.begin(2, (A, B, C))
    for event in events:
        core.handle(event)
    return core


def state_at(me: Address, *events: Any) -> StateTransfer:
    core = StateTransfer(me, (A, B, C))
    for event in events:
        core.handle(event)
    return core


SUSPENDED = (
    gms.RequestTransfer(),
    gms.BeginChange(),
    gms.Suspended(tuple(gms.Answer(each, FIRST) for each in (B, C))),
)


def installed(view: View) -> tuple[gms.Event, ...]:
    """Return the events after which the leader of a side has that merged view, and waits."""
    acks = (gms.ReceiveViewAck(each, view.id.counter) for each in (B, C))
    return *SUSPENDED, gms.ProposeMerged(view), *acks, gms.InstallView()


LED_BY_D = installed(merged(5, D, D, A, B, C))
FOLLOWS = (gms.ReceivePrepare(A, 2, (A, B, C)),)
STARTED = (flush.Suspend((A, B, C)),)
STEPS = [
    *((gms_at(A, *SUSPENDED), gms.ProposeMerged(merged(number))) for number in (5, 3)),
    (gms_at(A), gms.ProposeMerged(merged(5))),  # its side is not suspended
    (gms_at(B, *FOLLOWS), gms.ReceiveNewView(A, merged(5), merged=True)),
    (gms_at(B, *FOLLOWS), gms.ReceiveNewView(A, merged(3), merged=True)),
    (gms_at(B, *FOLLOWS), gms.ReceiveNewView(A, merged(2), merged=True)),  # not a later one
    (gms_at(B, *FOLLOWS), gms.ReceiveNewView(C, merged(5), merged=True)),  # of another leader
    (gms_at(B, *FOLLOWS), gms.ReceiveNewView(A, merged(5, D, A, C, D), merged=True)),
    (gms_at(B, *FOLLOWS), gms.ReceiveNewView(A, merged(5), merged=False)),
    *((gms_at(A, *LED_BY_D), gms.Suspect(who)) for who in (B, D)),
    (gms_at(A, *LED_BY_D, gms.GoneOn(D)), gms.Suspect(B)),  # it leads that view by now
    (gms_at(A, *installed(merged(5))), gms.Suspect(B)),
    (gms_at(B), gms.GoneOn(C)),
    (gms_at(B), gms.GoneOn(D)),
    (flush_at(B), flush.InstallView(7, (A, B, C, D), merged=True)),
    (flush_at(B), flush.InstallView(7, (A, B, C, D), merged=False)),
    (flush_at(B), flush.InstallView(2, (A, B, C, D), merged=True)),
    (flush_at(B), flush.InstallView(7, (A, C, D), merged=True)),
    (flush_at(A, *STARTED), flush.Yield()),
    (flush_at(A), flush.Yield()),
    (state_at(B), state.Merge(D)),
    (state_at(B, state.Merge(A)), state.AskAnew()),
    (state_at(B), state.AskAnew()),
    (state_at(B), state.InstallView((B, C), 7)),
    (state_at(D), state.Join(A, (A, B, C, D), 7)),
]
PROTOCOLS = {Gms: "gms", Flush: "flush", StateTransfer: "state_transfer"}


def said(described: FromBinding, effects: Iterable[Any]) -> list[Any]:
    return [parcel for effect in effects for parcel in described.sent(effect)]


@pytest.mark.parametrize(("core", "event"), STEPS, ids=lambda each: type(each).__name__)
def test_a_core_and_its_model_answer_alike(core: Any, event: Any) -> None:
    binding = binding_of(PROTOCOLS[type(core)]).merging
    assert binding is not None
    described, name = FromBinding(binding), type(event).__name__
    before = binding.core_local(core)
    answer = binding.traced_handler(name)(
        binding.rules(), before, shaped(described.args(event, ()), binding.traced_input(name))
    )
    try:
        effects = core.handle(event)
    except NotEnabled:
        assert isinstance(answer, Refused)
        assert binding.core_local(core) == before
        return

    assert not isinstance(answer, Refused)
    assert binding.compared(binding.core_local(core)) == binding.compared(answer.local)
    messages = [each for each in answer.outputs if type(each).__name__ in binding.channels]
    assert len(messages) == len(said(described, effects))
