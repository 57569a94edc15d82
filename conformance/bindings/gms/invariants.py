"""The points of a trace at which GMS's invariants are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raincheck.conformance.trace.following.writing import encode
from raincheck.conformance.trace.invariants.asked import Invariants, OfMembers, OfState, Unshown
from raincheck.conformance.trace.invariants.moments import (
    Asking,
    Moments,
    Span,
    broken,
    event,
    name,
)
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.gms.events import Prepared
from raincheck.model.gms.handlers import Local, address, running
from raincheck.model.gms.promises import is_later, named_once, names_joiners, well_formed


def _is_there(before: Local | None, after: Local) -> Said:
    there = after.view if running(after) else None
    if before is None or (before.view if running(before) else None) != there:
        yield "there", there


def _has_installed(before: Local | None, after: Local) -> bool:
    return before is not None and after.view is not None and after.view != before.view


def _installs(before: Local | None, after: Local) -> Said:
    if before is not None and after.view is not None and after.view != before.view:
        yield "step", (before.view, after.view)


def _resumes(before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    if outputs and before.view is not None:
        yield "resume", before.view


def _leaves(_before: Local, _event: Any, _after: Local, _outputs: Any) -> Said:
    yield "leaves", True


def _suspects(_before: Local, event: Any, _after: Local, _outputs: Any) -> Said:
    yield "suspects", event.member


def _prepares(_before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, Prepared):
            yield "prepared", (event.sender, output.view, output.held)


def _answers(_before: Local, event: Any, _after: Local, _outputs: Any) -> Said:
    for answer in event.answers:
        yield "answered", answer


def _gone(moments: Moments) -> set[Address]:
    """Return the members that have crashed or left."""
    return {*moments.crashed, *(who for who, _ in moments.noted("leaves"))}


def accurate(moments: Moments) -> str:
    """Return who was suspected and had neither crashed nor left; "" if nobody was."""
    gone = _gone(moments)
    for who, note in moments.noted("suspects"):
        node, life = note.value
        suspect = (node, life)
        if suspect not in moments.reports:
            continue
        if suspect not in gone or moments.heard(suspect, who, note.index):
            where = event(who, note.index)
            return f"AccurateSuspicion: {where} suspects {node}.{life}, which has not crashed"
    return ""


def _number(view: Any) -> int:
    return 0 if view is None else int(view[0][0])


def _merges(moments: Moments) -> bool:
    """Whether groups merge: then there are several lines of views, which number them alike."""
    return any(report.merges for report in moments.reports.values())


def _shared(view: Any, merges: bool) -> Any:
    """Return a view as all its members have it: of a merged one each side has its own joiners."""
    return view[:2] if merges and view is not None else view


def one_view_a_number(moments: Moments) -> Asking:
    """No number belongs to two views that were installed, and none is left out.

    It is not asked of groups that merge: with two groups there are two sequences.
    """
    if _merges(moments):
        return Asking(0)
    known: dict[int, tuple[str, Any]] = {}
    count = 0
    for who, note in moments.noted("step"):
        before, view = note.value
        number = _number(view)
        other, same = known.setdefault(number, (event(who, note.index), view))
        count += 1
        if same != view:
            return Asking(count, broken(who, note.index, view, f"{same} at {other}"))
        if before is not None and _number(before) + 1 != number:
            return Asking(count, broken(who, note.index, view, f"{before} before it"))
    return Asking(count)


def one_history(moments: Moments) -> Asking:
    """An identifier names one membership, and all who install it come from the same view.

    A merged view's sides come from one each: those of a side have the same joiners.
    """
    views: dict[str, tuple[str, Any]] = {}
    befores: dict[str, tuple[str, Any]] = {}
    count, merges = 0, _merges(moments)
    for who, note in moments.noted("step"):
        before, view = note.value
        where = event(who, note.index)
        side = str([view[0], view[2]]) if merges else str(view[0])
        for known, called, value in (
            (views, str(view[0]), _shared(view, merges)),
            (befores, side, _shared(before, merges)),
        ):
            if value is None:
                continue
            other, same = known.setdefault(called, (where, value))
            if same != value:
                return Asking(count, broken(who, note.index, value, f"{same} at {other}"))
        count += 1
    return Asking(count)


def _pairs(moments: Moments) -> Iterator[tuple[Span, Span]]:
    """Yield the pairs of two members' views that are there in one consistent cut, the newer first.

    A member with the older one that was killed, or has left, counts as long as it has heard of the
    newer one: afterwards no message says when others knew that it is gone.
    """
    gone = _gone(moments)
    for one, other in moments.pairs("there"):
        if other.who in gone and not moments.heard(other.who, one.who, one.start):
            continue
        if _number(one.value) >= _number(other.value):
            yield one, other


def same_views_at_once(moments: Moments) -> Asking:
    """Two present members have the same view of a number, in groups that merge of an id."""
    count, merges = 0, _merges(moments)
    for one, other in _pairs(moments):
        alike = one.value[0] == other.value[0] if merges else True
        if alike and _number(one.value) == _number(other.value):
            count += 1
            if _shared(one.value, merges) != _shared(other.value, merges):
                but = f"{other.value} at {name(other.who)}, event {other.start}"
                return Asking(count, broken(one, one.start, one.value, but))
    return Asking(count)


def nobody_lost(moments: Moments) -> Asking:
    """A newer view has every member that is present with an older one, or the same.

    It is not asked of groups that merge: the members of another group are in none of its views.
    """
    if _merges(moments):
        return Asking(0)
    count = 0
    for one, other in _pairs(moments):
        count += 1
        if list(other.who) not in one.value[1]:
            but = f"{name(other.who)} is a member since its event {other.start}"
            return Asking(count, broken(one, one.start, one.value, but))
    return Asking(count)


def _has_suspected(moments: Moments, who: Address, other: Address, by: int) -> bool:
    """Whether a member had suspected another one since the last view that it has installed."""
    since = max((s.index for s in moments.noted_by(who, "step") if s.index < by), default=0)
    suspects = moments.noted_by(who, "suspects")
    return any(since < s.index < by and s.value == list(other) for s in suspects)


def installed_before_resume(moments: Moments) -> Asking:
    """When a leader lets FLUSH resume, whoever installs its view has done so, unless it is gone.

    Groups that merge come from wrong suspicions: whom the leader has suspected it does not await.
    """
    gone, merges = _gone(moments), _merges(moments)
    installed: dict[bytes, list[tuple[Address, int]]] = {}
    for who, step in moments.noted("step"):
        installed.setdefault(encode(step.value[1]), []).append((who, step.index))
    count = 0
    for who, note in moments.noted("resume"):
        for other, index in installed.get(encode(note.value), ()):
            if other == who or list(other) in note.value[2]:
                continue
            if other in gone and not moments.heard(other, who, note.index):
                continue
            if merges and _has_suspected(moments, who, other, note.index):
                continue
            count += 1
            if not moments.before(other, index, who, note.index):
                but = f"{name(other)} installs it by its event {index}"
                return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


_BELOW: Final = "GMS's records do not have the places in the multicasts' streams; "
_JOINERS: Final = Unshown(
    why=_BELOW + "nakack.Contiguous compares a joiner's digest with the streams"
)

_CUT: Final = (
    "over views that are there in one consistent cut, of members that have not gone by then"
)

INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=(
                    "status",
                    "view",
                    "held",
                    "suspects",
                    "gone",
                    "phase",
                    "proposal",
                    "waiting",
                ),
                alone=well_formed,
                how="the phases of a change and its parts fit together",
            ),
        ),
        "SingleSequenceOfViews": (
            OfMembers(
                judge=one_view_a_number,
                rests_on=accurate,
                how="over all views installed, by all members in all lives",
            ),
        ),
        "SurvivorsAgree": (
            OfMembers(
                judge=same_views_at_once,
                rests_on=accurate,
                how=_CUT,
            ),
        ),
        "OneHistoryPerSide": (
            OfMembers(
                judge=one_history, how="over all views installed, by all members in all lives"
            ),
        ),
        "SelfInclusion": (
            OfState(
                reads=("view", "status"),
                holds=lambda rules, _, me: address(rules, me) in me.view.members,
                asked=lambda _, me: running(me) and me.view is not None,
                how="a member is in its view",
            ),
        ),
        "OncePerView": (
            OfState(
                reads=("view",),
                alone=lambda me: named_once(me.view),
                asked=lambda _, me: me.view is not None,
                how="nobody is in a view twice",
            ),
        ),
        "Monotone": (
            OfState(
                reads=("view",),
                holds=lambda _, before, me: is_later(before.view, me.view),
                asked=_has_installed,
                how="a member's next view has a higher number",
            ),
        ),
        "NobodyIsLost": (
            OfMembers(
                judge=nobody_lost,
                rests_on=accurate,
                how=_CUT,
            ),
        ),
        "JoinersAreNew": (
            OfState(
                reads=("view",),
                holds=lambda _, before, me: names_joiners(before.view, me.view),
                asked=lambda before, me: _has_installed(before, me) and before.view is not None,
                how="a view's joiners are not in the view before",
            ),
        ),
        "NothingSkipped": (_JOINERS,),
        "NothingAwaited": (_JOINERS,),
        "JoinerAtCut": (_JOINERS,),
        "SameBefore": (
            Unshown(why=_BELOW + "NAKACK's Agreement and SEQUENCER's VirtualSynchrony ask it"),
        ),
        "AcksBeforeResume": (
            OfMembers(
                judge=installed_before_resume,
                rests_on=accurate,
                how="before a leader resumes FLUSH, whoever installs its view has installed it",
            ),
        ),
    },
    changes=((("view", "status"), _is_there), (("view",), _installs)),
    says={
        "Finish": _resumes,
        "Suspect": _suspects,
        "Leave": _leaves,
        "ReceivePrepare": _prepares,
        "Suspended": _answers,
    },
)
