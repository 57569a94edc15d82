"""The state of a whole MERGE2 system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Merge2.tla` and the CONSTANTS of `spec/MCMerge2.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record

from .events import (
    Answer,
    Digest,
    MergeId,
    Nodes,
    SendCancel,
    SendFound,
    Sending,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    View,
    ViewId,
)
from .handlers import Local, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCMerge2.tla`."""

    nodes: tuple[str, ...]
    sides: frozenset[frozenset[str]]
    founders: Nodes
    ghosts: Nodes
    told: frozenset[str]
    crashers: Nodes
    max_crashes: int
    senders: Nodes
    max_said: int
    doubters: Nodes
    max_doubts: int
    max_lost: int
    max_merges: int
    accurate_suspicion: bool
    virtual_synchrony: bool
    side_agrees: bool
    checks_view: bool
    rules: Rules


class Message(NamedTuple):
    """A message under way from a coordinator.

    `kind` is the type's name: tuples of two types are equal if their fields are.
    """

    kind: str
    source: str
    content: Sending


class Held(NamedTuple):
    """The view that a member is about to install, and its digest."""

    view: View
    digest: Digest


class Delivered(NamedTuple):
    """A delivery: whose multicast, which of them, and in which view."""

    sender: str
    number: int
    view: ViewId


class Decided(NamedTuple):
    """A merge that was decided, its view, and the coordinators of its sides."""

    merge: MergeId
    view: View
    of: Nodes


Row: TypeAlias = tuple[str, ...]
Counts: TypeAlias = tuple[int, ...]


class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    status: Row
    net: frozenset[Message]
    held: tuple[Held | None, ...]
    latch: Row
    stream: tuple[tuple[ViewId, ...], ...]
    position: tuple[Counts, ...]
    path: tuple[tuple[View, ...], ...]
    delivered: tuple[tuple[Delivered, ...], ...]
    decided: frozenset[Decided]
    cut: tuple[MergeId, ...]
    doubts: int = 0
    losses: int = 0


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Merge2.tla`."""
    nodes = constants.nodes

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(nodes, values, strict=True))

    def answer(each: Answer) -> Value:
        sender, number, members, digest = each
        fields: dict[Value, Value] = {"from": sender, "number": number, "members": members}
        fields["digest"] = function(digest)
        return function(fields.items())

    def message(each: Message) -> Value:
        _, source, content = each
        fields: dict[Value, Value] = {"from": source, "to": content.to}
        if not isinstance(content, SendFound):
            fields["merge"] = tuple(content.merge)
        match content:
            case SendFound():
                fields["type"] = "FOUND"
            case SendMergeReq():
                fields["type"] = "MERGE_REQ"
            case SendMergeRsp(_, _, given):
                fields |= {"type": "MERGE_RSP", "accepted": given is not None}
                if given is not None:
                    fields["answer"] = answer(given)
            case SendInstallMergeView(_, _, view, digest):
                fields |= {"type": "INSTALL_MERGE_VIEW", "view": _view(view)}
                fields["digest"] = function(digest)
            case SendInstalled(_, _, done):
                fields |= {"type": "INSTALLED", "done": done}
            case SendResume():
                fields["type"] = "RESUME"
            case SendCancel():
                fields["type"] = "CANCEL"
        return function(fields.items())

    locals_ = state.locals
    return {
        "status": per_node(state.status),
        "view": per_node(_view(me.view) for me in locals_),
        "coordinates": per_node(me.coordinates for me in locals_),
        "known": per_node(me.known for me in locals_),
        "entered": per_node(frozenset(map(tuple, me.entered)) for me in locals_),
        "stage": per_node(me.stage for me in locals_),
        "merge": per_node(tuple(me.merge) for me in locals_),
        "waiting": per_node(me.waiting for me in locals_),
        "answers": per_node(frozenset(map(answer, me.answers)) for me in locals_),
        "net": frozenset(map(message, state.net)),
        "held": per_node(
            () if each is None else (record(view=_view(each.view), digest=function(each.digest)),)
            for each in state.held
        ),
        "latch": per_node(state.latch),
        "stream": per_node(tuple(map(tuple, each)) for each in state.stream),
        "position": per_node(map(per_node, state.position)),
        "path": per_node(tuple(map(_view, each)) for each in state.path),
        "delivered": per_node(tuple(map(_delivered, each)) for each in state.delivered),
        "decided": frozenset(
            record(merge=tuple(each.merge), view=_view(each.view), of=each.of)
            for each in state.decided
        ),
        "cut": per_node(map(tuple, state.cut)),
        "doubts": state.doubts,
        "losses": state.losses,
    }


def _view(view: View) -> Value:
    return record(id=tuple(view.id), members=view.members, merge=tuple(view.merge))


def _delivered(each: Delivered) -> Value:
    sender, number, view = each
    return function([("from", sender), ("number", number), ("view", tuple(view))])
