"""What MERGE2's messages carry between the coordinators of two groups.

Law of this file: types and bounds only; `stack/merge_checks.py` says what of it can be true.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta, Struct

from raincheck.impl.merge2.events import MergeId
from raincheck.impl.messages import Address, Count, Digest, Table, View, ViewId

from .primary_bodies import NO_STANDING, Standing

Place: TypeAlias = tuple[
    Annotated[str, Meta(min_length=1, max_length=64)], Annotated[int, Meta(ge=0, le=65_535)]
]


class Side(NamedTuple):
    """A group at its cut, in its last view: who is there, and where the others begin to read.

    `table`, `digest` and `clock` are SEQUENCER's, `bundles` is NAKACK's, as in JOIN_RSP;
    `standing` is PRIMARY's, and so is `delivered`: how far the group has delivered former members.
    """

    coordinator: Address
    view: ViewId
    members: tuple[Address, ...]
    places: tuple[Place, ...]
    table: Table
    digest: Digest
    bundles: Digest
    clock: Count
    standing: Standing = NO_STANDING
    delivered: Table = ()


class MergeReq(Struct, frozen=True, array_like=True, tag="Q", gc=False):
    """MERGE_REQ: have your side flushed, and answer."""

    merge: MergeId


class MergeRsp(Struct, frozen=True, array_like=True, tag="R", gc=False):
    """MERGE_RSP: the side at its cut, or a rejection."""

    merge: MergeId
    side: Side | None


class InstallMergeView(Struct, frozen=True, array_like=True, tag="I", gc=False):
    """INSTALL_MERGE_VIEW: the merged view, and the sides it is made of."""

    merge: MergeId
    view: View
    sides: tuple[Side, ...]


class MergeInstalled(Struct, frozen=True, array_like=True, tag="D", gc=False):
    """INSTALLED: my side has that view; or it is not in that merge."""

    merge: MergeId
    done: bool


class MergeResume(Struct, frozen=True, array_like=True, tag="G", gc=False):
    """RESUME: all have installed the view, go on."""

    merge: MergeId


class MergeCancel(Struct, frozen=True, array_like=True, tag="X", gc=False):
    """CANCEL: the merge goes on without you."""

    merge: MergeId


class MergeAlive(Struct, frozen=True, array_like=True, tag="L", gc=False):
    """I am here, and still in that merge."""

    merge: MergeId


MergeBody: TypeAlias = (
    MergeReq | MergeRsp | InstallMergeView | MergeInstalled | MergeResume | MergeCancel | MergeAlive
)
