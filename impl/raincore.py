"""Raincore as implemented: a pure state machine, one instance per member.

Skeleton: the attributes and what goes in and out are final, the handlers come next.
"""

from __future__ import annotations

from dataclasses import dataclass

from .messages import Address
from .raincore_events import NO_TOKEN, ZERO, Effect, Epoch, Event, Nodelist, Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the seed's holes, by the spec's constants. Only tests turn any of them off."""

    holder_vetoes: bool = True
    promises: bool = True
    fresh_attempts: bool = True
    failure_claims: bool = True
    majority: bool = True
    bound_index: bool = True
    fills_holes: bool = True
    one_founder: bool = True
    incarnations: bool = True
    seen_by_all: bool = True


class Raincore:
    """The state of one member (Fig. 8); while it eats, the token is its `last_token`."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None) -> None:
        """A process that has not been initialised."""
        self.repairs = repairs or Repairs()
        self.me = me if self.repairs.incarnations else Address(me.node, 0)
        self.up = "new"  # then "up", "down" or "left"
        self.view_state = "chaos"  # "agreement", "chaos" or "reserve"
        self.token_state = "starving"  # "eating", "hungry" or "starving"
        self.global_view: tuple[Nodelist, ...] = ()
        self.global_view_number = 0
        self.reserved = 0  # the index kept free for the view that is coming; 0: none
        self.last_token: Token = NO_TOKEN
        self.new_nodes: tuple[Address, ...] = ()
        self.promised: Epoch = ZERO
        self.attempt = 0
        self.phase = "none"  # of the 911 outstanding: "ask" or "claim"
        self.wanted: Epoch = ZERO
        self.heard = 0
        self.contacts: tuple[Address, ...] = ()
        self.leaving = False
        self.outbox = 0  # multicasts that wait for the token
        self.said = 0  # own multicasts that a token has had so far
        self.last_ordinal = 0

    @property
    def locked(self) -> bool:
        """Whether this member has the ring's lock: it eats, and its view is not in chaos."""
        return self.up == "up" and self.token_state == "eating" and self.view_state != "chaos"

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        raise NotImplementedError(event)
