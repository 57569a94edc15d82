"""The 911 of Raincore: who starves asks round the ring, and so does who wants to join.

First it asks whether the token is lost ("ask": the text's 911), then for promises to take no token
of an earlier epoch ("claim"). With the promises of enough members it makes the token anew.
"""

from __future__ import annotations

from collections.abc import Collection

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from . import events as ev
from .events import LIMIT, ZERO, Call911, Effect, Epoch, Nodelist
from .lists import after, last_view, quorum, sound
from .local import RingState


class Calling(RingState):
    """A member's handlers of starvation, and of 911s."""

    # ------------------------------------------------------------------ starving

    def _hungry_timeout(self, _event: ev.HungryTimeout) -> list[Effect]:
        """Event 7: the token has not come for so long that it may be lost."""
        self._guard("HungryTimeout", token_state="hungry")
        if self.me not in self.last_token.nodelist:
            raise NotEnabled("HungryTimeout", {"n is on its list": self.last_token.nodelist})
        return self._starve()

    def _starving_timeout(self, _event: ev.StarvingTimeout) -> list[Effect]:
        """Event 8: call again; a joiner asks its next contact."""
        self._guard("StarvingTimeout", token_state="starving")
        self._next_contact()
        return self._ask()

    def _gap(self, _event: ev.Gap) -> list[Effect]:
        """What this member had before it stood still must not be trusted: the others may have given
        it up, and a token that came meanwhile may be an old one.
        """
        self._guard("Gap")
        if not self.repairs.minds_gaps:
            return []
        if self.token_state == "hungry" and self.me in self.last_token.nodelist:
            return self._starve()
        if self.token_state == "eating":
            self._to_chaos()
        return []

    def _starve(self, *, claim: bool = False) -> list[Effect]:
        """Starve: enter chaos, and call 911."""
        self.token_state = "starving"
        self._to_chaos()
        return self._ask(claim=claim)

    def _ask(self, *, claim: bool = False) -> list[Effect]:
        """Begin a new attempt; answers to earlier ones do not count any more."""
        self.attempt += 1
        self.phase = "ask"
        self.wanted = ZERO
        return self._claim() if claim else [self._call(), ev.Timer("starving")]

    def _claim(self) -> list[Effect]:
        """Ask for promises not to take a token of an epoch before a new one."""
        n = 1 + max(self.heard, self.promised.n, self.last_token.epoch.n)
        if n > LIMIT:
            return [ev.Timer("starving")]
        self.phase = "claim"
        self.wanted = self.promised = Epoch(n, self.me)
        return [self._call(frozenset({self.me})), ev.Timer("starving")]

    def _call(self, granted: frozenset[Address] = frozenset()) -> Call911:
        """Return the 911 of this attempt: round the ring, or from a joiner to its first contact."""
        nodelist, to = self.asked(), self._contact()
        copy = self.last_token
        return Call911(
            to=after(nodelist, self.me, to),
            orig=self.me,
            current=self.me,
            nodelist=nodelist,
            epoch=copy.epoch,
            seq=copy.seq,
            attempt=self.attempt,
            phase=self.phase,
            claim=self.wanted,
            granted=granted,
        )

    def asked(self) -> Nodelist:
        """Whom a 911 goes round: all whose promises may be needed; as written, the last view."""
        nodelist = self._electorate(self.last_token)
        if not self.repairs.promises:
            nodelist = last_view(self.global_view) or nodelist
        # A leaver is not on the list any more.
        return nodelist if self.me in nodelist or not nodelist else (self.me, *nodelist)

    def _contact(self) -> Address:
        return self.contacts[0] if self.contacts else self.me

    def _next_contact(self) -> None:
        if not self.last_token.nodelist:
            self.contacts = (*self.contacts[1:], *self.contacts[:1])

    # ------------------------------------------------------------------ 911

    def _receive911(self, event: ev.Receive911) -> list[Effect]:
        """Event 3: the answer to this member's 911, a starving member's 911, or a joiner's."""
        self._guard("Receive911")
        call = event.call
        if not sound(call):
            return []
        if call.orig == self.me:
            return self._answered(call)
        if call.status != "yes":
            return []
        if not self._of_member(call):
            if call.orig not in self.new_nodes:
                self.new_nodes = (*self.new_nodes, call.orig)
            return []
        if self._vetoes(call):
            return [
                call._replace(to=call.orig, current=self.me, status="no", promised=self.promised)
            ]
        if call.phase == "claim":
            self.promised = call.claim
            call = call._replace(granted=call.granted | {self.me})
        return [call._replace(to=after(call.nodelist, self.me, call.orig), current=self.me)]

    def _of_member(self, call: Call911) -> bool:
        """Return whether the originator is in the ring, as far as this member knows."""
        if not self.repairs.promises:
            return call.orig in (last_view(self.global_view) or self.last_token.nodelist)
        copy = self.last_token
        later = call.number > copy.number and self.me in call.nodelist
        return call.orig in copy.nodelist or later

    def _vetoes(self, call: Call911) -> bool:
        """Return whether this member vetoes: it has the token, a newer copy, or made a promise."""
        number = self.last_token.number
        return (
            (self.repairs.holder_vetoes and self.token_state == "eating")
            or number > call.number
            or (number == call.number and self.me > call.orig)
            or (call.phase == "claim" and call.claim <= self.promised)
        )

    def _answered(self, call: Call911) -> list[Effect]:
        """Handle this member's 911 when it is back, unopposed or vetoed."""
        if self.token_state != "starving":
            return []
        if call.status != "yes":
            self.heard = max(self.heard, call.promised.n)
            return []
        if not self.last_token.nodelist:
            return []  # a joiner cannot regenerate the token
        fresh = (call.attempt, call.phase) == (self.attempt, self.phase)
        if self.repairs.fresh_attempts and not fresh:
            return []
        if self.repairs.promises and call.phase == "ask":
            return self._claim()
        if self.repairs.promises and self.promised != self.wanted:
            return []  # this member has granted a later claim since
        return self._regenerate(call.granted)

    def _regenerate(self, granted: frozenset[Address]) -> list[Effect]:
        """Regenerate the token from the copy, if enough members have promised."""
        token = self.last_token
        nodelist = token.nodelist
        if not self._decides(granted if self.repairs.promises else nodelist):
            self.phase = "none"
            self.wanted = ZERO
            return []
        token = token._replace(to=self.me, current=self.me, seen=frozenset({self.me}))
        if self.repairs.promises:
            token = token._replace(epoch=self.wanted)
            nodelist = tuple(member for member in self._electorate(token) if member in granted)
        if nodelist != token.nodelist:
            self._change(token, nodelist)
            token = self.last_token
        return self._eat(token)

    def _decides(self, members: Collection[Address]) -> bool:
        """Return whether these members may decide for the ring."""
        return not self.repairs.majority or quorum(members, self.last_token)

    def _undelivered911(self, event: ev.Undelivered911) -> list[Effect]:
        """Event 5: the next one is asked; if there is none, the 911 goes to its originator."""
        self._guard("Undelivered911")
        call = event.call
        if call.status != "yes":
            return []
        if call.to == call.orig:
            return []
        if not call.nodelist:
            self._next_contact()
            return [call._replace(to=self._contact(), current=self.me)]
        return [call._replace(to=after(call.nodelist, call.to, call.orig), current=self.me)]
