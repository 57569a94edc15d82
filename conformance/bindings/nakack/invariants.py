"""The points of a trace at which NAKACK's invariants are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.nakack.handlers import Local, Rules, address, running, stream_of
from raincheck.model.nakack.promises import well_formed, within_bounds

_DELIVER: Final = ("Deliver",)


def _next(before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> bool | None:
    stream = stream_of(before.stream, event.source)
    if not outputs or stream is None:
        return None
    return bool(outputs[0].seqno == stream.delivered + 1)


def _of_member(before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> bool | None:
    return event.source in before.members if outputs else None


def _sent_in(before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> bool | None:
    return bool(outputs[0].view == before.view) if outputs else None


def _bounded(rules: Rules, _before: Local | None, me: Local) -> bool:
    return within_bounds(rules.window, rules.retain, me, stream_of(me.stream, address(me)))


def _ends(me: Local) -> Said:
    if running(me):
        yield "sent", me.sent
    for streams in (me.stream, me.departed):
        for who, stream in streams:
            yield "delivered", [list(who), stream.delivered]
    for who, at in me.acked:
        yield "acked", [list(who), at]


def _numbers(moments: Moments, topic: str) -> Iterator[tuple[Address, Address, int]]:
    for who, note in moments.noted(topic):
        (node, life), at = note.value
        yield who, (node, life), at


def delivered_was_sent(moments: Moments) -> Asking:
    """No member has delivered more of a stream in the end than was sent in the end."""
    sent = {who: note.value for who, note in moments.noted("sent")}
    count = 0
    for who, source, at in _numbers(moments, "delivered"):
        if source in sent and source not in moments.crashed:
            count += 1
            if at > sent[source]:
                but = f"{name(source)} has sent {sent[source]}"
                return Asking(count, broken(who, 0, [list(source), at], but))
    return Asking(count)


def acknowledged_was_delivered(moments: Moments) -> Asking:
    """No more of a stream is acknowledged in the end than its receiver delivered."""
    delivered = {
        (who, source): at
        for who, source, at in _numbers(moments, "delivered")
        if who not in moments.crashed
    }
    count = 0
    for who, member, at in _numbers(moments, "acked"):
        most = delivered.get((member, who))
        if most is not None:
            count += 1
            if at > most:
                but = f"{name(member)} has delivered {most}"
                return Asking(count, broken(who, 0, [list(member), at], but))
    return Asking(count)


def _left(before: Local | None, after: Local) -> Said:
    """The place in each member's stream up to which it was delivered when the view was left."""
    if before is not None and running(before) and running(after) and before.view != after.view:
        streams = [(who, each) for who, each in before.stream if who in before.members]
        yield "left", [before.view, [[list(who), each.delivered] for who, each in streams]]


def survivors_delivered_the_same(moments: Moments) -> Asking:
    """All who go on from a view have delivered each of its members' streams to one place.

    They have delivered the same then, since a stream is delivered without a gap.
    """
    known: dict[int, tuple[Address, Any]] = {}
    count = 0
    for who, note in moments.noted("left"):
        view, places = note.value
        other, same = known.setdefault(view, (who, places))
        if other == who:
            continue
        count += len(places)
        if same != places:
            return Asking(count, broken(who, note.index, note.value, f"{name(other)}: {same}"))
    return Asking(count)


def _joins(_before: Local, event: Any, _after: Local, _outputs: Any) -> Said:
    yield "joined", [event.view, [[list(who), at] for who, at in event.digest]]


def joined_at_the_cut(moments: Moments) -> Asking:
    """A joiner reads on where those who went on to its view had delivered each stream."""
    left = {note.value[0] + 1: (who, note.value[1]) for who, note in moments.noted("left")}
    count = 0
    for who, note in moments.noted("joined"):
        view, digest = note.value
        if view not in left:
            continue
        other, places = left[view]
        expected = {name(source): at for source, at in places}
        told = {name(source): at for source, at in digest if name(source) in expected}
        count += len(told)
        if any(at != expected[source] for source, at in told.items()):
            return Asking(count, broken(who, note.index, told, f"{name(other)}: {expected}"))
    return Asking(count)


_KEPT: Final = (
    "a trace has how much each member keeps, and not when a killed one was lost with it; "
    "stable.OnlyStablePurged and PurgedIsStable ask that nothing is forgotten too soon"
)

INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=("status", "members", "acked", "owed", "stream"),
                alone=well_formed,
                how="a member is in its view, and has a stream of each member",
            ),
        ),
        "Contiguous": (
            OfStep(
                actions=_DELIVER,
                holds=_next,
                how="each delivery is of the seqno after the last, from where the member joined",
            ),
            OfMembers(
                judge=joined_at_the_cut,
                how="the digest with which a member joins is where those who went on to its view "
                "had delivered the streams",
            ),
        ),
        "OnlyMembers": (
            OfStep(actions=_DELIVER, holds=_of_member, how="its sender is in the view"),
        ),
        "SendingView": (
            OfStep(actions=_DELIVER, holds=_sent_in, how="it was sent in the view at hand"),
        ),
        "NoCreation": (
            OfMembers(
                judge=delivered_was_sent,
                how="at the files' ends, which are a consistent cut; before them every message "
                "that arrived was sent, before",
            ),
        ),
        "Agreement": (
            OfMembers(
                judge=survivors_delivered_the_same,
                how="who goes on from a view has delivered as much of each stream in it",
            ),
        ),
        "NothingStuck": (
            Unshown(why="it speaks of what could still be done, and a trace has what was done"),
        ),
        "Recoverable": (Unshown(why=_KEPT),),
        "NoFutileAsk": (Unshown(why=_KEPT),),
        "Bounded": (
            OfState(
                reads=("sent", "acked", "stream"),
                holds=_bounded,
                asked=lambda _, me: running(me),
                how="window and `retain` are respected",
            ),
            OfMembers(
                judge=acknowledged_was_delivered,
                how="what is acknowledged at the files' ends is delivered there: both only grow",
            ),
        ),
    },
    changes=((("view",), _left),),
    says={"Join": _joins},
    ends=_ends,
)
