"""The points of a trace at which MERGE2's invariants are evaluated."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.following.writing import encode
from raincheck.conformance.trace.invariants.asked import Invariants, OfMembers, OfState, Unshown
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, event, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.merge2.events import NO_MERGE, Install, Suspended
from raincheck.model.merge2.handlers import Local
from raincheck.model.merge2.promises import coordinates_first, goes_up, well_formed


def _installs(before: Local | None, after: Local) -> Said:
    if before is None or before.view != after.view:
        yield "view", after.view


def _is_cut(_before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, Suspended):
            yield "cut", (output.merge, sorted(event.members))


def _decides(before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, Install):
            yield "decided", (output.view, sorted(answer.sender for answer in before.answers))


def _finishes(before: Local, _event: Any, _after: Local, _outputs: Any) -> Said:
    yield "finishes", (before.view, sorted(answer.sender for answer in before.answers))


def _suspects(before: Local, event: Any, _after: Local, _outputs: Any) -> Said:
    yield "suspects", (before.merge, event.member)


def _leaves_out(before: Local, _event: Any, after: Local, _outputs: Any) -> Said:
    if before.merge != after.merge and after.view.merge == NO_MERGE:
        gone = sorted({*before.view.members} - {*after.view.members})
        yield "left out", (before.merge, gone)


def _ends(local: Local) -> Said:
    yield "ends", local.merge


def _who(moments: Moments, process: Any) -> Address | None:
    """Return the process of that address whose file is there; of a name alone, it lives once."""
    if isinstance(process, str):
        return next((who for who in moments.reports if who[0] == process), None)
    who = (process[0], process[1])
    return who if who in moments.reports else None


def _installed(moments: Moments, who: Address, view: Any) -> int | None:
    """Return the event by which a process installed a view; None if it never did."""
    notes = moments.noted_by(who, "view")
    return next((note.index for note in notes if note.value == view), None)


def _doubted(moments: Moments) -> set[bytes]:
    """Return the merges in which somebody was suspected, each with who that was."""
    return {encode(note.value) for _, note in moments.noted("suspects")}


def _through(moments: Moments, who: Address, view: Any) -> bool:
    """Whether a process installed a merged view and was in that merge no more in the end."""
    ends = [last.value for last in moments.noted_by(who, "ends")]
    return _installed(moments, who, view) is not None and view[2] not in ends


def _apart(moments: Moments, who: Address, merge: Any) -> bool:
    """Whether a process left that merge by a view without a member that has not crashed.

    Failure detection is at work in a merge that is decided. A wrong suspicion then makes a half
    merge, which heals.
    """
    return any(
        each not in moments.crashed
        for note in moments.noted_by(who, "left out")
        if note.value[0] == merge
        for each in (_who(moments, process) for process in note.value[1])
    )


def one_view_an_id(moments: Moments) -> Asking:
    """No two members install different views under one id."""
    known: dict[bytes, tuple[str, Any]] = {}
    count = 0
    for who, note in moments.noted("view"):
        called = encode(note.value[0])
        other, same = known.setdefault(called, (event(who, note.index), note.value))
        count += 1
        if same != note.value:
            but = f"{same} at {other}"
            return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


def one_view_a_merge(moments: Moments) -> Asking:
    """One merge gives one view."""
    known: dict[bytes, tuple[str, Any]] = {}
    count = 0
    for who, note in moments.noted("view"):
        if note.value[2] == [*NO_MERGE]:
            continue
        merge = encode(note.value[2])
        other, same = known.setdefault(merge, (event(who, note.index), note.value))
        count += 1
        if same != note.value:
            but = f"{same} at {other}"
            return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


def merged_were_there(moments: Moments) -> Asking:
    """The members of a merged view were in the cut of their side, as its coordinator recorded."""
    there: dict[bytes, set[bytes]] = {}
    for _, note in moments.noted("cut"):
        merge, members = note.value
        there.setdefault(encode(merge), set()).update(map(encode, members))
    count = 0
    for who, note in moments.noted("decided"):
        _, members, merge = note.value[0]
        count += 1
        cut = there.get(encode(merge), set())
        absent = next((each for each in members if encode(each) not in cut), None)
        if absent is not None:
            but = f"{absent} was in no cut of that merge"
            return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


def decided_is_installed(moments: Moments) -> Asking:
    """The coordinators of a merge that is decided have its view in the end, or are still in it."""
    doubted, count = _doubted(moments), 0
    for who, note in moments.noted("decided"):
        view, coordinators = note.value
        of = [each for node in coordinators if (each := _who(moments, node)) is not None]
        gone = any(each in moments.crashed and not _through(moments, each, view) for each in of)
        if gone or any(encode([view[2], node]) in doubted for node in coordinators):
            continue
        for each in of:
            if each in moments.crashed or _apart(moments, each, view[2]):
                continue
            count += 1
            ends = [last.value for last in moments.noted_by(each, "ends")]
            if _installed(moments, each, view) is None and view[2] not in ends:
                but = f"{name(each)} has not installed it and is in that merge no more"
                return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


def installed_before_resume(moments: Moments) -> Asking:
    """When a leader lets all go on, the coordinators of the sides have installed the view."""
    doubted, count = _doubted(moments), 0
    for who, note in moments.noted("finishes"):
        view, coordinators = note.value
        for node in coordinators:
            each = _who(moments, node)
            if each is None or each == who or encode([view[2], node]) in doubted:
                continue
            if each in moments.crashed and not moments.heard(each, who, note.index):
                continue
            count += 1
            if not moments.before(each, _installed(moments, each, view), who, note.index):
                but = f"{name(each)} has not installed it by then"
                return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


def fewer_merges_than_groups(moments: Moments) -> Asking:
    """There are fewer merges than groups, as long as nobody is left out."""
    views = list(moments.noted("view"))
    groups = {encode(note.value) for _, note in views if note.index == 0}
    left_out = any(note.index and note.value[2] == [*NO_MERGE] for _, note in views)
    if moments.crashed or left_out:
        return Asking(0)
    count = 0
    for who, note in moments.noted("decided"):
        count += 1
        if count >= len(groups):
            but = f"there were {len(groups)} groups"
            return Asking(count, broken(who, note.index, note.value, but))
    return Asking(count)


_DELIVERED: Final = Unshown(why="MERGE2's records have no multicasts: NAKACK delivers them")

INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=("stage", "merge", "waiting", "answers"),
                alone=well_formed,
                how="the stages of a merge and its parts fit together",
            ),
        ),
        "OneViewPerId": (
            OfMembers(judge=one_view_an_id, how="over all views installed, by all members"),
        ),
        "OneViewPerMerge": (
            OfMembers(judge=one_view_a_merge, how="over all merged views installed"),
        ),
        "Monotone": (
            OfState(
                reads=("view",),
                holds=lambda _, before, me: goes_up(before and before.view, me),
                how="a member is in its view, which has a higher number than the one before",
            ),
        ),
        "OneCoordinator": (
            OfState(
                reads=("view", "coordinates"),
                alone=coordinates_first,
                how="a member is coordinator if it is the first in its view",
            ),
        ),
        "MembersAreThere": (
            OfMembers(
                judge=merged_were_there,
                how="who is in a merged view, beside the cuts that the coordinators recorded",
            ),
        ),
        "AllOrNothing": (
            OfMembers(
                judge=decided_is_installed,
                how="over the coordinators of each merge that is decided, at the end of their "
                "files, if none has crashed in it or is suspected",
            ),
        ),
        "AcksBeforeResume": (
            OfMembers(
                judge=installed_before_resume,
                how="before a leader lets all go on, the coordinators that nobody suspects have "
                "installed the view",
            ),
        ),
        "InOrder": (_DELIVERED,),
        "OneView": (_DELIVERED,),
        "SameMessages": (_DELIVERED,),
        "AtTheCut": (_DELIVERED,),
        "FewMerges": (
            OfMembers(
                judge=fewer_merges_than_groups,
                how="the merges that are decided, beside the views in which the files begin, if "
                "nobody is left out",
            ),
        ),
    },
    changes=((("view",), _installs),),
    says={
        "Flushed": _is_cut,
        "Decide": _decides,
        "Finish": _finishes,
        "Suspect": _suspects,
        "InstallView": _leaves_out,
    },
    ends=_ends,
)
