"""The promises of MERGE2: the twin of the invariants at the end of `spec/Merge2.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from .events import NO_MERGE, MergeId, View, ViewId
from .handlers import Local, leads
from .state import Constants, State

STAGES = ("idle", "waiting", "flushing", "answered", "installing", "cancelled", "installed")


def running(state: State, i: int) -> bool:
    """Tell whether the node runs."""
    return state.status[i] == "member"


def type_ok(constants: Constants, state: State) -> bool:
    """Every variable has a value of its kind."""
    nodes = constants.nodes
    return all(
        well_formed(me)
        and me.known <= set(nodes)
        and (held is None or held.view.id.counter > me.view.id.counter)
        and latch in (*nodes, "")
        and all(read <= len(stream) for read, stream in zip(position, state.stream, strict=True))
        for me, held, latch, position in zip(
            state.locals, state.held, state.latch, state.position, strict=True
        )
    ) and all(
        message.source != message.content.to and running(state, nodes.index(message.content.to))
        for message in state.net
    )


def well_formed(me: Local) -> bool:
    """A member's own part of `type_ok`."""
    answered = {answer.sender for answer in me.answers}
    return (
        me.stage in STAGES
        and (me.merge == NO_MERGE) == (me.stage in ("idle", "waiting"))
        and (leads(me) or not (me.waiting or me.answers))
        and (not answered & me.waiting or me.stage in ("installing", "installed"))
    )


def one_view_per_id(state: State) -> bool:
    """No two members, dead ones included, ever install different views under one view id (R5)."""
    found: dict[ViewId, View] = {}
    return all(found.setdefault(view.id, view) == view for path in state.path for view in path)


def one_view_per_merge(state: State) -> bool:
    """One merge gives one view (R5)."""
    found: dict[MergeId, View] = {}
    return all(
        view.merge == NO_MERGE or found.setdefault(view.merge, view) == view
        for path in state.path
        for view in path
    )


def monotone(state: State) -> bool:
    """A member is in its view, and the numbers of its views grow (R5)."""
    return all(
        me.view == path[-1]
        and goes_up(None, me)
        and all(one.id.counter < other.id.counter for one, other in pairwise(path))
        for me, path in zip(state.locals, state.path, strict=True)
    )


def goes_up(before: View | None, me: Local) -> bool:
    """A member's own part of `monotone`: it is in its view, which is later than the one before."""
    later = before is None or before == me.view or before.id.counter < me.view.id.counter
    return later and me.node in me.view.members


def one_coordinator(state: State) -> bool:
    """Of those that have a view, the first in it coordinates, and nobody else does (R5, R7)."""
    return all(coordinates_first(me) for i, me in enumerate(state.locals) if running(state, i))


def coordinates_first(me: Local) -> bool:
    """A member's own part of `one_coordinator`: it coordinates if it is the first."""
    return me.coordinates == (me.view.members[0] == me.node)


def members_are_there(constants: Constants, state: State) -> bool:
    """A merged view has those that answered, who are in the cut while their coordinator runs."""
    index = {name: i for i, name in enumerate(constants.nodes)}
    deciding = {me.merge: me for me in state.locals if me.stage == "installing" and leads(me)}
    return all(
        any(
            p in answer.members
            and (not running(state, index[answer.sender]) or state.cut[index[p]] == decided.merge)
            for answer in deciding[decided.merge].answers
        )
        for decided in state.decided
        if decided.merge in deciding
        for p in decided.view.members
    )


def all_or_nothing(constants: Constants, state: State) -> bool:
    """If no coordinator of a decided merge crashes, all of its sides install its view (R6)."""
    index = {name: i for i, name in enumerate(constants.nodes)}
    for merge, view, of in state.decided:
        if not all(running(state, index[c]) for c in of):
            continue
        still = [state.locals[index[c]] for c in of if state.locals[index[c]].merge == merge]
        for p in map(index.__getitem__, view.members):
            held = state.held[p]
            if not (
                not running(state, p)
                or view in state.path[p]
                or (held is not None and held.view == view)
                or any(state.locals[p].view == c.view for c in still)
            ):
                return False
    return True


def acks_before_resume(constants: Constants, state: State) -> bool:
    """Nobody goes on in a merged view before all its running members have installed it."""
    index = {name: i for i, name in enumerate(constants.nodes)}
    return all(
        me.view in state.path[index[p]]
        for i, me in enumerate(state.locals)
        if running(state, i) and not state.latch[i] and me.view.merge != NO_MERGE
        for p in me.view.members
        if running(state, index[p])
    )


def in_order(state: State) -> bool:
    """Nothing is delivered again, or before something older of its sender."""
    for delivered in state.delivered:
        last: dict[str, int] = {}
        for sender, number, _ in delivered:
            if number <= last.get(sender, 0):
                return False
            last[sender] = number
    return True


def one_view(state: State) -> bool:
    """No two members deliver one message in different views."""
    views: dict[tuple[str, int], ViewId] = {}
    return all(
        views.setdefault((each.sender, each.number), each.view) == each.view
        for delivered in state.delivered
        for each in delivered
    )


def same_messages(state: State) -> bool:
    """Members that go on together from a view to the next have delivered the same in it."""
    found: dict[tuple[View, View], frozenset[tuple[str, int]]] = {}
    return all(
        found.setdefault((one, other), messages) == messages
        for one, other, messages in _steps(state)
    )


def _steps(state: State) -> Iterator[tuple[View, View, frozenset[tuple[str, int]]]]:
    for path, delivered in zip(state.path, state.delivered, strict=True):
        for one, other in pairwise(path):
            yield one, other, frozenset((d.sender, d.number) for d in delivered if d.view == one.id)


def at_the_cut(constants: Constants, state: State) -> bool:
    """In a merged view, members read each other's streams from where it begins (R7)."""
    nodes = range(len(constants.nodes))
    return all(
        _reads_from_its_beginning(state, n, s, constants.nodes[s])
        for n in nodes
        for s in nodes
        if running(state, n)
        and running(state, s)
        and state.locals[n].view == state.locals[s].view
        and state.locals[n].view.merge != NO_MERGE
    )


def _reads_from_its_beginning(state: State, n: int, s: int, sender: str) -> bool:
    view, read = state.locals[n].view.id, state.position[n][s]
    delivered = {each.number for each in state.delivered[n] if each.sender == sender}
    return all(
        (of != view or number in delivered) if number <= read else of == view
        for number, of in enumerate(state.stream[s], 1)
    )


def few_merges(constants: Constants, state: State) -> bool:
    """There are fewer merges than groups, as long as nobody is left out."""
    left_out = any(
        not running(state, i) or any(view.merge == NO_MERGE for view in path[1:])
        for i, path in enumerate(state.path)
    )
    return left_out or len(state.decided) < len(constants.sides)


def invariants(constants: Constants) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants, by name."""
    return {
        "TypeOK": lambda state: type_ok(constants, state),
        "OneViewPerId": one_view_per_id,
        "OneViewPerMerge": one_view_per_merge,
        "Monotone": monotone,
        "OneCoordinator": one_coordinator,
        "MembersAreThere": lambda state: members_are_there(constants, state),
        "AllOrNothing": lambda state: all_or_nothing(constants, state),
        "AcksBeforeResume": lambda state: acks_before_resume(constants, state),
        "InOrder": in_order,
        "OneView": one_view,
        "SameMessages": same_messages,
        "AtTheCut": lambda state: at_the_cut(constants, state),
        "FewMerges": lambda state: few_merges(constants, state),
    }
