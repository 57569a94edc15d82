"""GMS's part in merges: a side is suspended in its turn, and installs the merged view as any other.

MERGE2 says that the side is to be suspended (`Merging`). The flush has its turn in GMS's queue, as
that of a state transfer has; at its end MERGE2 is told the cut. The merged view is proposed to the
side, whose members hold it ready and install it; those of the other sides are its joiners here.
Nobody goes on before MERGE2 says so, or before the next view.
"""

from __future__ import annotations

from raincheck.impl.flush import events as flush
from raincheck.impl.gms.events import GoneOn, ProposeMerged, ReceiveNewView
from raincheck.impl.messages import Address, View
from raincheck.impl.wire.headers import (
    NewViewBody,
    PlacedView,
    StartFlush,
)

from .gms_bodies import arrival
from .gms_effects import GmsEffects
from .layer import Ground
from .merged import local
from .passing import (
    AtCut,
)


class GmsMerging(GmsEffects):
    """What GMS does for MERGE2."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._wanted = False  # a member wants the state
        self._early: tuple[Address, StartFlush] | None = None  # of a view that is held here
        self._merging = ""
        """This side's part in a merge: "wanted", "cut", or "installing"."""

    @property
    def _takes_state(self) -> bool:
        """Whether a member wants the state, and all may have it: not before a merge has ended."""
        return self._wanted and self._unresumed is None

    def _merge(self, wanted: bool, now: float) -> None:
        """Suspend the side when its turn has come, or let it go on."""
        if wanted:
            self._merging = "wanted"
        elif self._unresumed is not None:
            self._unresumed = None
            if self.core.phase == "idle":  # else the flush is one of a view change, which ends it
                self.above.up(flush.Resume(), now)
        elif self._merging in ("wanted", "cut"):
            self._merging = ""

    def _install_merged(self, placed: PlacedView, now: float) -> None:
        """Propose a merged view to the side, which is suspended."""
        if self._merging != "cut":
            return  # another member leads the side by now
        self._merging = "installing"
        self._places.learn([placed])
        self._do(ProposeMerged(local(placed, self.me).view), now)

    def _hold(self, source: Address, body: NewViewBody, now: float) -> None:
        """Hold a view ready that the leader wants to be installed."""
        placed = local(body.placed, self.me)
        if placed.sides and all(self.me not in side.members for side in placed.sides):
            self.ground.offends(source, "NEW_VIEW with a side that is not this member's")
            return
        self._places.learn([placed])
        self._departures.learn(placed.view.id, body.departures)
        if not placed.sides:
            self._do(arrival(source, body), now)
            return
        self._do(ReceiveNewView(source, placed.view, merged=True), now)

    def apart(self, theirs: View, now: float) -> None:
        """Take those for gone that have gone on in another view, without this member."""
        for member in theirs.members:
            if member in self.core.members and member != self.me:
                self._departures.note(member, f"it has gone on in {theirs}")
                self._do(GoneOn(member), now)

    def _stand_still(self, now: float) -> bool:
        """Tell MERGE2 the cut, once all is delivered; return whether there was something to do.

        A joiner of the view that this flush has installed was not flushed: it takes another turn.
        """
        if self._merging != "wanted" or not self._settled():
            return False
        self._merging = "cut"
        there = [member for member in self.core.members if member not in self.core.gone]
        self.above.up(AtCut(tuple(there)), now)
        return True

    @property
    def _cutting(self) -> bool:
        """Whether this flush is the merge's."""
        installed = self.core.proposal
        return self._merging in ("wanted", "cut") and not (installed and installed.joiners)
