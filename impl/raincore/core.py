"""Raincore as implemented: a pure state machine, one instance per member.

No sockets, no clocks, no randomness, no threads, no asyncio. `handle` takes an event of
`events.py` and returns the effects, to be carried out in order. A handler whose guard is
false raises NotEnabled and changes nothing; a message that is late, replayed or malformed is no
error and is ignored.

The token goes round the ring; who has it eats. A change of the nodelist is made by the holder and
takes three rounds: chaos, reserve, agreement, when all commit the list at the same index of their
history. A member that starves asks round the ring with a 911: first whether the token is lost, then
("claim") for promises to take no token of an earlier epoch; those who promise are the new ring.

What it assumes: the Transport Manager delivers a message at most once or reports a failure, perhaps
falsely; members keep their state when they come back, or come back as another incarnation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from . import events as ev
from .calls import Calling
from .events import Effect, Event, Nodelist, Token
from .lists import after, first_token, inserted, sound, without
from .local import Repairs

__all__ = ["Raincore", "Repairs"]


class Raincore(Calling):
    """One member: its events, numbered as in the text, and what it does at each."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None) -> None:
        """A process that has not been initialised."""
        super().__init__(me, repairs=repairs)
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            ev.Initialise: self._initialise,
            ev.ReceiveToken: self._receive_token,
            ev.Receive911: self._receive911,
            ev.TokenUndelivered: self._token_undelivered,
            ev.Undelivered911: self._undelivered911,
            ev.EatingTimeout: self._eating_timeout,
            ev.HungryTimeout: self._hungry_timeout,
            ev.StarvingTimeout: self._starving_timeout,
            ev.Gap: self._gap,
            ev.TokenDelivered: self._token_delivered,
            ev.Multicast: self._multicast,
            ev.Wanted: self._wanted,
            ev.Leave: self._leave,
            ev.Recover: self._recover,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    # ------------------------------------------------------------------ its life

    def _initialise(self, event: ev.Initialise) -> list[Effect]:
        """Event 1: the first founder makes the token; a joiner asks its first contact."""
        if self.up != "new":
            raise NotEnabled("Initialise", {"up = 'new'": self.up})
        if event.role == "joiner":
            if not event.contacts:
                raise NotEnabled("Initialise", {"contacts # <<>>": event.contacts})
            self.up = "up"
            self.contacts = event.contacts
            return self._ask()
        founders = event.founders
        if founders.count(self.me) != 1 or len(set(founders)) != len(founders):
            raise NotEnabled("Initialise", {"n is a founder, each is named once": founders})
        self.up = "up"
        first = first_token(founders, bound=self.repairs.bound_index)
        if self.repairs.one_founder and self.me != founders[0]:
            self._hold(first)
            self.token_state = "hungry"
            return [ev.Timer("hungry")]
        return self._eat(
            first._replace(to=self.me, current=self.me, seq=1, seen=frozenset({self.me}))
        )

    def _recover(self, _event: ev.Recover) -> list[Effect]:
        """Come back with the kept state, and ask to be admitted again (Fig. 14)."""
        self._guard("Recover", up="down")
        self.up = "up"
        self.leaving = False
        self.awaited = frozenset()
        return self._starve()

    def _leave(self, _event: ev.Leave) -> list[Effect]:
        """Begin to leave: with the next token the member takes itself off the list."""
        self._guard("Leave", leaving=False)
        self.leaving = True
        return []

    def _token_delivered(self, _event: ev.TokenDelivered) -> list[Effect]:
        """The others have the token without this leaver on its list: it is gone."""
        self._guard("TokenDelivered", token_state="hungry")
        if self.me in self.last_token.nodelist:
            raise NotEnabled("TokenDelivered", {"n is off its list": self.last_token.nodelist})
        self.up = "left"
        return []

    def _multicast(self, _event: ev.Multicast) -> list[Effect]:
        """Queue one more message for the next token."""
        self._guard("Multicast", leaving=False)
        self.outbox += 1
        return []

    def _wanted(self, event: ev.Wanted) -> list[Effect]:
        """Remember until the token goes on that another member wants it: it need not rest."""
        self._guard("Wanted")
        if event.by == self.me or event.by not in self.last_token.nodelist:
            raise NotEnabled("Wanted", {"by is another member of n's list": event.by})
        self.awaited |= {event.by}
        return []

    # ------------------------------------------------------------------ the token

    def _receive_token(self, event: ev.ReceiveToken) -> list[Effect]:
        """Event 2: accept a token that is newer than all before, drop any other."""
        self._guard("ReceiveToken")
        token, copy = event.token, self.last_token
        if not sound(token) or not self._acceptable(token):
            return []
        same = token.nodelist == copy.nodelist
        if self.repairs.bound_index:
            same = same and token.global_view_number == copy.global_view_number
        token = token._replace(to=self.me, current=self.me, seen=token.seen | {self.me})
        committed, token = self._round(token, same=same)
        eats = self._eat(token)
        return [*committed, *self._read_mail(), *eats]

    def _acceptable(self, token: Token) -> bool:
        """Return whether the token is for this member, and newer than its copy and its promise."""
        promises, copy = self.repairs.promises, self.last_token
        return (
            self.me in token.nodelist
            and token.number > copy.number
            and (not promises or token.epoch >= self.promised)
            and (self.token_state != "eating" or (promises and token.epoch > copy.epoch))
        )

    def _eating_timeout(self, _event: ev.EatingTimeout) -> list[Effect]:
        """Event 6: newcomers are put on the list, or a leaver off it; mail; to the next."""
        self._guard("EatingTimeout", token_state="eating")
        self.awaited = frozenset()
        nodelist = self.last_token.nodelist
        new = tuple(each for each in self.new_nodes if each not in nodelist)
        shorter, longer = without(nodelist, self.me), inserted(nodelist, self.me, new)
        leaves = self.leaving and self._decides({*shorter, self.me})
        joins = new and not leaves and self._decides({*longer, self.me})
        if leaves or joins or not new:
            self.new_nodes = ()  # joiners that a leaver does not admit will ask again
        delivered = self._post_mail()
        if not joins and not (shorter if leaves else nodelist):
            self.up = "left"  # nobody else is on the list
            return delivered
        if leaves:
            self._propose(shorter, frozenset())  # a list that this member does not hold any more
            return [*delivered, *self._pass_to(after(nodelist, self.me, shorter[0]))]
        if joins:
            self._propose(longer, frozenset({self.me}))
            return [*delivered, *self._pass_to(new[0])]
        if nodelist == (self.me,):
            return [*self._alone(), *delivered, ev.Timer("eating")]
        return [*delivered, *self._pass_to(after(nodelist, self.me, nodelist[0]))]

    def _propose(self, nodelist: Nodelist, seen: frozenset[Address]) -> None:
        """Change the list while eating: the changed token gets a number of its own."""
        token = self.last_token
        self._change(token._replace(seq=token.seq + 1), nodelist)
        self.last_token = self.last_token._replace(seen=seen)

    def _alone(self) -> list[Effect]:
        """Go the token's rounds alone: there is nobody to pass it to."""
        if not self.repairs.failure_claims:
            return []
        effects, token = self._round(self.last_token, same=True)
        self._hold(token)
        return effects

    def _token_undelivered(self, event: ev.TokenUndelivered) -> list[Effect]:
        """Event 4: the token may be lost, or the next member may have it all the same."""
        self._guard("TokenUndelivered")
        token = self.last_token
        if self.token_state != "hungry" or token != event.token:
            return []
        if self.repairs.failure_claims:
            return self._starve(claim=self.repairs.promises)
        # As the text has it: the next member is taken off the list, and the token sent on.
        nodelist = without(token.nodelist, token.to)
        if not self._decides(nodelist):
            self._to_chaos()
            self.token_state = "starving"
            return [ev.Timer("starving")]
        if not nodelist:
            self.up = "left"
            return []
        self._change(token, nodelist)
        if nodelist == (self.me,):
            return self._alone_as_written()
        return self._pass_to(after(token.nodelist, token.to, self.me))

    def _alone_as_written(self) -> list[Effect]:
        """Commit the list of the only member left at once."""
        token = self.last_token
        at = token.global_view_number
        if self.repairs.bound_index:
            token = self._settled(token)
        else:
            at = self.global_view_number + 1
            token = token._replace(global_view_number=at)
        committed = self._commit(at, token.nodelist)
        self.view_state = "agreement"
        return [*committed, *self._eat(token)]
