"""The local state of a member of a Raincore ring, and the steps of its handlers."""

from __future__ import annotations

from dataclasses import dataclass

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from . import events as ev
from .events import NO_TOKEN, ZERO, Effect, Epoch, Nodelist, Settled, Token
from .lists import acked, entry, merged, posted, with_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the seed's holes, by the spec's constants. Only tests turn any of them off."""

    holder_vetoes: bool = True
    promises: bool = True
    fresh_attempts: bool = True
    failure_claims: bool = True
    majority: bool = True
    asks_all: bool = True
    bound_index: bool = True
    fills_holes: bool = True
    one_founder: bool = True
    incarnations: bool = True
    seen_by_all: bool = True
    minds_gaps: bool = True


class RingState:
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
        self.awaited: frozenset[Address] = frozenset()  # who wants the token, since it went on

    @property
    def locked(self) -> bool:
        """Whether this member has the ring's lock: it eats, and its view state is not chaos."""
        return self.up == "up" and self.token_state == "eating" and self.view_state != "chaos"

    def _guard(self, action: str, **wanted: object) -> None:
        """Raise NotEnabled unless the member is up and these attributes have these values."""
        wanted = {"up": "up", **wanted}
        false = {
            f"{name} = {value!r}": getattr(self, name)
            for name, value in wanted.items()
            if getattr(self, name) != value
        }
        if false:
            raise NotEnabled(action, false)

    # ------------------------------------------------------------------ the view state

    def _to_chaos(self) -> None:
        """From any view state; a slot that was reserved is free again."""
        self.view_state = "chaos"
        self.reserved = 0

    def _round(self, token: Token, *, same: bool) -> tuple[list[Effect], Token]:
        """Take the token for one more round: update the view state (Fig. 9), commit if due."""
        bound = self.repairs.bound_index
        everybody = token.seen.issuperset(token.nodelist)
        effects = self._fill(token)
        committed = False
        if self.view_state == "agreement":
            if not same:
                self.view_state = "chaos"
        elif self.view_state == "chaos":
            # The ring may have gone on without a starving member: one more round is needed.
            sure = everybody and self.token_state != "starving"
            if same and (sure or not self.repairs.seen_by_all):
                self.view_state = "reserve"
                if not bound:
                    token = token._replace(global_view_number=self.global_view_number + 1)
                self.reserved = token.global_view_number
        elif not same or everybody or not self.repairs.seen_by_all:
            committed = same
            effects += self._commit(self.reserved, token.nodelist if same else ())
            self.view_state = "agreement" if same else "chaos"
            self.reserved = 0
        if bound and (everybody or committed):
            token = self._settled(token)
        return effects + self._fill(token), token

    def _settled(self, token: Token) -> Token:
        """Return the token with its list settled; it remembers the settled list before."""
        settled = Settled(token.global_view_number, token.nodelist)
        before = token.before if settled == token.settled else token.settled
        return self._kept(token._replace(settled=settled, before=before, pending=()))

    def _electorate(self, token: Token) -> Nodelist:
        """Return whose promises may count: the list, then others on lists that may be settled.

        A majority may need one that was left out of the list.
        """
        if not self.repairs.asks_all:
            return token.nodelist
        return merged(token.nodelist, token.settled.nodelist, *token.pending)

    def _kept(self, token: Token) -> Token:
        """Return the token with mail places only for members that may still come back."""
        electorate = self._electorate(token)
        return token._replace(acks=tuple(ack for ack in token.acks if ack[0] in electorate))

    def _commit(self, at: int, view: Nodelist) -> list[Effect]:
        """Put a view, or NULL, at that index; NULL takes no view's place."""
        there = entry(self.global_view, at)
        if there == view or (there and not view):
            return []
        self.global_view = with_entry(self.global_view, at, view)
        return [ev.Committed(at, view)] if view else []

    # ------------------------------------------------------------------ the token

    def _eat(self, token: Token) -> list[Effect]:
        """Hold a token that has just arrived, or was made here."""
        self._hold(token)
        self.token_state = "eating"
        self.promised = max(self.promised, token.epoch)
        self.phase = "none"
        self.wanted = ZERO
        return [ev.Eats(token.epoch, token.seq), ev.Timer("eating")]

    def _hold(self, token: Token) -> None:
        """Keep this as the token."""
        self.last_token = token
        self.global_view_number = max(self.global_view_number, token.global_view_number)

    def _fill(self, token: Token) -> list[Effect]:
        """Commit the view before the settled one, if this member was in it and has missed it.

        All on the list of the settled one have held a token that said so; of the settled one
        itself its last reader could be alone in knowing.
        """
        at, nodelist = token.before
        stayed = self.me in nodelist and self.me in token.settled.nodelist
        missed = at and stayed and not entry(self.global_view, at)
        return self._commit(at, nodelist) if missed and self.repairs.fills_holes else []

    def _change(self, token: Token, nodelist: Nodelist) -> None:
        """Put another list on the token that this member has, and let its rounds begin."""
        self._to_chaos()
        self._hold(self._proposed(token, nodelist))

    def _proposed(self, token: Token, nodelist: Nodelist) -> Token:
        """Return the token with that list, at the next index."""
        number, pending = token.global_view_number, token.pending
        if self.repairs.bound_index:
            number, pending = number + 1, (*pending, nodelist)
        token = token._replace(
            to=self.me,
            current=self.me,
            nodelist=nodelist,
            global_view_number=number,
            pending=pending,
            seen=frozenset({self.me}),
        )
        return self._kept(token)

    def _pass_to(self, to: Address) -> list[Effect]:
        """Send the token, and keep a copy."""
        token = self.last_token
        self.last_token = token._replace(to=to, current=self.me, seq=token.seq + 1)
        self.token_state = "hungry"
        return [self.last_token, ev.Timer("hungry")]

    # ------------------------------------------------------------------ mail

    def _read_mail(self) -> list[Effect]:
        """Deliver what is new here; what all have had leaves the token."""
        token = self.last_token
        if not any(member == self.me for member, _ in token.acks):
            self.last_ordinal = token.top  # new, or long left out: it reads from now on
        new = [each for each in token.mail if each.ordinal > self.last_ordinal]
        if new:
            self.last_ordinal = new[-1].ordinal
        self.last_token = acked(token, self.me, self.last_ordinal)
        return [ev.Deliver(each.origin, each.k) for each in new]

    def _post_mail(self) -> list[Effect]:
        """Put waiting messages on the token, and deliver them here at once."""
        if not self.outbox:
            return []
        self.last_token = posted(self.last_token, self.me, self.said, self.outbox)
        self.said += self.outbox
        self.outbox = 0
        return self._read_mail()
