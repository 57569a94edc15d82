"""The meaning of a flush's digests: which members lack which messages, and which have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raincheck.impl.messages import Address, Digest
from raincheck.impl.wire.headers import Fetch


def fetches_of(
    participants: Sequence[Address], completed: Mapping[Address, Digest]
) -> tuple[Fetch, ...]:
    """Return, for each stream on which digests differ, the highest seqno and its holder.

    The holder is the sender itself if it takes part, else the first participant in order. Who does
    not read a stream (its view has no such member) lacks nothing of it.
    """
    ends: dict[Address, list[tuple[int, Address]]] = {}
    for member in participants:
        for sender, at in completed[member].entries:
            ends.setdefault(sender, []).append((at, member))
    fetches = []
    for sender in sorted(ends):
        most = max(at for at, _ in ends[sender])
        if any(at < most for at, _ in ends[sender]):
            holders = [member for at, member in ends[sender] if at == most]
            fetches.append(Fetch(sender, most, sender if sender in holders else holders[0]))
    return tuple(fetches)


def lacks(digest: Digest, fetches: Sequence[Fetch]) -> bool:
    """Return whether a member with that digest has to fetch any of these."""
    ends = dict(digest.entries)
    return any(ends.get(sender, at) < at for sender, at, _ in fetches)
