"""Handover's binding."""

from __future__ import annotations

from typing import Any

from raincheck.conformance.bindings.binding import DATAGRAM, FIFO, Binding
from raincheck.impl.handover import core  # type: ignore[import-not-found]
from raincheck.impl.messages import Address
from raincheck.model.handover import handlers as model  # type: ignore[import-not-found]


def make_core(rules: Any, local: Any) -> Any:
    """A core in the state in which a node begins."""
    repairs = core.Repairs(fresh_only=rules.fresh_only, thanks=rules.thanks)
    peers = tuple(Address(peer, 0) for peer in local.peers)
    made = core.Handover(Address(local.node, 0), peers, repairs=repairs)
    made.holds, made.turn = local.holds, local.turn
    return made


BINDING = Binding(
    protocol="handover",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(model.Token, model.Thanks, model.Held),
    make_core=make_core,
    events=vars(core),
    switches={"fresh_only": False, "thanks": False},
    channels={"Token": DATAGRAM, "Thanks": FIFO},
    renamed={"TokenBody": "Token"},
    extra=frozenset({"payload"}),
    uncompared=frozenset({"ghost"}),
    ignored=frozenset({"Timer"}),
)
