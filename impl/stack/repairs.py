"""The repairs of the layers beside SEQUENCER, so that a test can undo any of them. Not public."""

from __future__ import annotations

from dataclasses import dataclass, field

from raincheck.impl.flush import core as flush
from raincheck.impl.frag import core as frag
from raincheck.impl.gms import core as gms
from raincheck.impl.nakack import streams
from raincheck.impl.pbcast import core as pbcast
from raincheck.impl.primary import decision as primary
from raincheck.impl.stable import core as stable
from raincheck.impl.state_transfer import core as state_transfer
from raincheck.impl.total import core as total
from raincheck.impl.unicast import ends as unicast_ends


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRepairs:
    """The repairs of each layer that has some."""

    stable: stable.Repairs = field(default_factory=stable.Repairs)
    gms: gms.Repairs = field(default_factory=gms.Repairs)
    flush: flush.Repairs = field(default_factory=flush.Repairs)
    unicast: unicast_ends.Repairs = field(default_factory=unicast_ends.Repairs)
    nakack: streams.Repairs = field(default_factory=streams.Repairs)
    frag: frag.Repairs = field(default_factory=frag.Repairs)
    state: state_transfer.Repairs = field(default_factory=state_transfer.Repairs)
    pbcast: pbcast.Repairs = field(default_factory=pbcast.Repairs)
    primary: primary.Repairs = field(default_factory=primary.Repairs)
    total: total.Repairs = field(default_factory=total.Repairs)
