"""The points of a trace at which RAINCORE's invariants are evaluated."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.invariants.asked import Invariants, OfState, Promised, Unshown
from raincheck.model.raincore.promises import places_kept, well_formed

_LISTS: Final = (
    "a lemma of the lists at one moment, for AgreedOrder and ConsistentHistory, which are judged; "
    "with a network that splits the specification does not keep it"
)
_ROUNDS: Final = (
    "it counts rounds since the last disturbance, and no record says which was the last"
)

INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=(
                    *("view_state", "reserved", "phase", "wanted", "token_state"),
                    *("global_view", "global_view_number"),
                ),
                alone=well_formed,
                how="a member's states and its history fit together",
            ),
        ),
        **{
            name: (Promised(),)
            for name in (
                *("ConsistentHistory", "OneLock", "FenceUnique", "SevenStates", "HeldByAll"),
                *("NoHoles", "AgreedOrder", "Integrity", "Fifo"),
            )
        },
        "OneEater": (
            Unshown(
                why="in failures two members eat, each in an epoch of its own; OneLock and "
                "FenceUnique are judged"
            ),
        ),
        "OneLiveToken": (Unshown(why="it speaks of tokens under way to a member that takes them"),),
        "Granted": (
            Unshown(
                why="it speaks of the promises of others while a token is eaten, in which a file "
                "that was cut off after a crash has gaps; OneLock rests on it, and is judged"
            ),
        ),
        "OneGrant": (
            Unshown(
                why="between epochs it speaks of one moment at several members, and no record says "
                "who stands still; OneLock and FenceUnique are judged"
            ),
        ),
        "MajorityAsked": (Unshown(why="it speaks of who can reach whom"),),
        "MajorityListed": (Unshown(why="it holds where nobody leaves, which no record promises"),),
        "PlacesKept": (
            OfState(
                reads=("last_token",),
                alone=places_kept,
                asked=lambda _, me: me.up == "up",
                how="all members of the last settled list have their place in the mail",
            ),
        ),
        "Lemma31": (Unshown(why=_LISTS),),
        "Lemma32": (Unshown(why=_LISTS),),
        "Lemma33": (Unshown(why=_LISTS),),
        **{
            name: (Unshown(why=_ROUNDS),)
            for name in ("Rounds3", "Rounds4", "MCRounds3", "MCRounds4")
        },
    }
)
