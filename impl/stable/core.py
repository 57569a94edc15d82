"""STABLE: which multicasts have been delivered by all members, so that nobody has to keep them.

The twin of `spec/Stable.tla` (Bela Ban; seeds/design-issues.txt, "pbcast.STABLE protocol"): one
handler per action, with the action's name in snake_case and its guard first. `handle` takes an
event of `stable_events.py` and returns the effects, to be carried out in order. A handler whose
guard is false raises NotEnabled and changes nothing.

Every member multicasts how far it has delivered each stream, again and again. A digest is a vote;
the lowest of all members' votes is what all have delivered. Whoever has counted all votes
multicasts that as STABILITY, after a random delay and unless somebody else was faster, and counts
anew. Whatever is lost is made up for by the next round, so nothing is ever sent again.

A vote says what one member had delivered once, and stays true. It may therefore be late, or come
twice; it must not be taken for a vote in another view, whose members are others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest

from .events import (
    Effect,
    Event,
    Heard,
    InstallView,
    Purge,
    ReceiveDigest,
    ReceiveStability,
    Resume,
    SendDigest,
    SendStability,
    Stability,
    StableDigest,
    Suspend,
    Vote,
)

__all__ = ["Repairs", "Stable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the seed's holes, by the spec's constants. Only tests turn any of them off."""

    vote_check: str = "view"
    foreign: str = "ignore"
    reset_on_view: bool = True
    atomic_vote: bool = True
    clear_votes: bool = True
    drop_late: bool = True
    cancel_covered: bool = True
    suspend_on_join: bool = True
    last_message: str = "digest"


class Stable:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None) -> None:
        self.me = me
        self.repairs = repairs or Repairs()
        self.view = 0
        self.members: tuple[Address, ...] = ()
        self.electorate: set[Address] = set()  # whose votes are counted
        self.heard_from: set[Address] = set()  # members that have still to vote (the seed's name)
        self.vector: dict[Address, int] = {}  # the lowest of the votes counted
        self.heard: dict[Address, int] = {}  # the highest received of the votes: "stability" only
        self.latest: dict[Address, int] = {}  # the others' latest votes
        self.in_hand: dict[Address, dict[Address, int]] = {}  # merged, but not counted yet
        self.pending: dict[Address, int] | None = None  # STABILITY, waiting for its random delay
        self.suspended = False
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            SendDigest: self._send_digest,
            ReceiveDigest: self._receive_digest,
            Vote: self._vote,
            SendStability: self._send_stability,
            ReceiveStability: self._receive_stability,
            Suspend: self._suspend,
            Resume: self._resume,
            InstallView: self._install_view,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    # ------------------------------------------------------------------ the handlers

    def _send_digest(self, event: SendDigest) -> list[Effect]:
        """Periodically, or after a number of bytes: the digest is multicast (R1, R2)."""
        self._guard("SendDigest", "view[n] > 0", self.view > 0, self.view)
        self._guard("SendDigest", "~suspended[n]", not self.suspended, self.suspended)
        delivered, received = event
        others = tuple(member for member in self.members if member != self.me)
        effect = StableDigest(others, self.view, delivered, received)
        self._count(self.me, self.view, delivered, received)
        return [effect]

    def _receive_digest(self, event: ReceiveDigest) -> list[Effect]:
        """The digest of another member (R3, R6, R7)."""
        self._guard("ReceiveDigest", "view[n] > 0", self.view > 0, self.view)
        sender, view, delivered, received = event
        if self.suspended or not self._count(sender, view, delivered, received):
            return []
        return [Heard(sender, received)] if self.repairs.last_message == "digest" else []

    def _vote(self, event: Vote) -> list[Effect]:
        """The vote is counted apart from its digest (STB-F2)."""
        in_hand = self.in_hand.get(event.sender)
        self._guard("Vote", "s in DOMAIN inHand[n]", in_hand is not None, event.sender)
        assert in_hand is not None
        del self.in_hand[event.sender]
        self._tick_off(event.sender, in_hand)
        return []

    def _send_stability(self, _event: SendStability) -> list[Effect]:
        """All have voted, and the delay is over (R4)."""
        pending = self.pending
        self._guard("SendStability", "pending[n] # <<>>", pending is not None, ())
        self._guard("SendStability", "~suspended[n]", not self.suspended, self.suspended)
        assert pending is not None
        clear = self.repairs.clear_votes
        to = tuple(member for member in self.members if member != self.me or not clear)
        digest, heard = _digest(pending), _digest(self.heard)
        effects: list[Effect] = [Stability(to, self.view, digest, heard)]
        self.pending = None
        if clear:  # otherwise its own copy comes back from the network first
            self._reset()
            effects.append(Purge(digest))
            if self.repairs.last_message == "stability":
                effects.append(Heard(self.me, heard))
        return effects

    def _receive_stability(self, event: ReceiveStability) -> list[Effect]:
        """STABILITY: purge, and send none of one's own (R4, R5, R7)."""
        self._guard("ReceiveStability", "view[n] > 0", self.view > 0, self.view)
        sender, view, digest, received = event
        if self.suspended or not self._is_ours(view, digest, self.members):
            return []
        effects: list[Effect] = [Purge(digest)]
        if self.repairs.last_message == "stability":
            effects.append(Heard(sender, received))
        covered = dict(digest.entries)
        if not self.repairs.cancel_covered or all(
            covered.get(member, 0) >= at for member, at in self.vector.items()
        ):
            self._reset()
        return effects

    def _suspend(self, _event: Suspend) -> list[Effect]:
        """Joiners get a digest: no vote goes beyond it until they vote too."""
        self._guard("Suspend", "view[n] > 0", self.view > 0, self.view)
        if self.repairs.suspend_on_join:
            self.suspended = True
            self._reset()
        return []

    def _resume(self, _event: Resume) -> list[Effect]:
        """The view change was given up."""
        self._guard("Resume", "view[n] > 0", self.view > 0, self.view)
        self.suspended = False
        return []

    def _install_view(self, event: InstallView) -> list[Effect]:
        """Begin a round among the members of the new view, joiners included."""
        view, members = event
        self._guard("InstallView", "v > view[n]", view > self.view, view)
        self._guard("InstallView", "Address(n) in Members(new)", self.me in members, members)
        joining = self.view == 0
        self.view, self.members = view, members
        self.suspended = False
        self.latest.clear()
        if joining or self.repairs.reset_on_view:
            self._reset()
        return []

    # ------------------------------------------------------------------ their parts

    def _reset(self) -> None:
        """Begin a new round."""
        self.electorate = set(self.members)
        self.heard_from = set(self.members)
        self.vector, self.heard, self.in_hand = {}, {}, {}
        self.pending = None

    def _is_ours(self, view: int, digest: Digest, members: Collection[Address]) -> bool:
        """Return whether a message is of this member's view, as far as the repairs check it."""
        check = self.repairs.vote_check
        if check == "view":
            return view == self.view
        return check == "any" or {who for who, _ in digest.entries} == set(members)

    def _count(self, sender: Address, view: int, delivered: Digest, received: Digest) -> bool:
        """Count a digest; return whether it is of this member's view."""
        repairs = self.repairs
        ours = self._is_ours(view, delivered, self.electorate)
        if not ours:
            if repairs.foreign == "reset":
                self._reset()
            if repairs.foreign in ("list", "counted"):  # R6 to the letter
                self.electorate, self.heard_from = set(self.members), set(self.members)
            if repairs.foreign != "counted":
                return False
        if repairs.drop_late and sender != self.me:
            total = sum(at for _, at in delivered.entries)
            if total < self.latest.get(sender, 0):
                return ours  # an earlier vote of a member whose later one was counted
            self.latest[sender] = total
        _merge(self.vector, delivered, min)
        if repairs.last_message == "stability":
            _merge(self.heard, received, max)
        if repairs.atomic_vote:
            self._tick_off(sender, dict(self.vector))
        else:
            self.in_hand[sender] = dict(self.vector)
        return ours

    def _tick_off(self, sender: Address, lowest: dict[Address, int]) -> None:
        """The sender has voted; with the last of them, STABILITY is due (R4)."""
        if sender in self.heard_from:
            self.heard_from.remove(sender)
            if not self.heard_from:
                self.pending = lowest

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})


def _merge(vector: dict[Address, int], digest: Digest, better: Callable[[int, int], int]) -> None:
    for who, at in digest.entries:
        vector[who] = better(vector.get(who, at), at)


def _digest(vector: Mapping[Address, int]) -> Digest:
    return Digest(tuple(sorted(vector.items())))
