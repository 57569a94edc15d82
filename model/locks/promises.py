"""The promises of LOCKS: the twin of the invariants at the end of `spec/Locks.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

from .events import Epoch, Fence, Held
from .handlers import Local, Rules, may_hold, passed, read, says
from .state import Constants, Given, State


def type_ok(rules: Rules, state: State) -> bool:
    """Every variable has a value of its kind."""
    return (
        all(well_formed(rules, me) for me in state.locals)
        and all(up or not me.wishes for up, me in zip(state.up, state.locals, strict=True))
        and len({token.epoch for token in state.tokens}) == len(state.tokens)
    )


def well_formed(rules: Rules, me: Local) -> bool:
    """A member's variables fit together."""
    return (
        (me.base is not None or not me.table)
        and {each.request for each in me.held} <= {wish.request for wish in me.wishes}
        and all(wish.request <= me.requests for wish in me.wishes)
        and all(
            not may_hold(rules, me.table, i)
            for i, each in enumerate(me.table)
            if each.fence is None
        )
    )


def one_writer_or_readers(state: State) -> bool:
    """Of the requests that hold a name, one is a writer's, or all are readers'."""
    return one_writes([each for me in state.locals for each in me.held])


def one_writes(held: Iterable[Held]) -> bool:
    """Of those that hold a name, one is a writer, or all are readers."""
    return all(g.name != h.name or g.mode == h.mode == "read" for g, h in combinations(held, 2))


def fence_unique(state: State) -> bool:
    """No two requests have the same fence."""
    given = {each for told in state.given for each in told}
    return len({each.fence for each in given}) == len(given)


def key(fence: Fence) -> tuple[int, int, int]:
    """Return what fences are compared by: the number of the epoch, not its maker."""
    return fence.epoch.n, fence.place, fence.turn


def fences_monotone(state: State) -> bool:
    """A fence is greater than those told before, unless it is late, or both are readers'."""
    return all(
        _grows(earlier, later)
        for before, after in combinations(state.given, 2)
        for earlier in before
        for later in after
    )


def _grows(earlier: Given, later: Given) -> bool:
    asked = earlier.name == later.name and not later.late
    readers = earlier.mode == later.mode == "read"
    return not asked or readers or key(later.fence) > key(earlier.fence)


def one_current(state: State) -> bool:
    """The same of members that know the newest epoch."""
    held = [
        each
        for me in state.locals
        for each in me.held
        if me.base is not None and me.base.n == state.newest
    ]
    return one_writes(held)


def nobody_passes(state: State) -> bool:
    """Nobody holds a name before another that asked earlier and that it is in the way of."""
    return all(map(passes_nobody, state.locals))


def passes_nobody(me: Local) -> bool:
    """The same of one table."""
    return not any(
        each.fence is not None and passed(me.table, i) for i, each in enumerate(me.table)
    )


def faithful(rules: Rules, first: str, state: State) -> bool:
    """A good table is all that was posted, up to what the member has had."""
    for up, me, copy in zip(state.up, state.locals, state.copies, strict=True):
        if up and me.base is not None and me.base == copy.epoch:
            true = Local(first, 0, None, None, Epoch(1, first))
            for post in filter(says, state.posts[me.base.n - 1][: copy.size]):
                true = read(rules, true, post)
            if (true.base, true.table) != (me.base, me.table):
                return False
    return True


def invariants(constants: Constants) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants, by name."""
    rules, first = constants.rules, constants.nodes[0]
    return {
        "TypeOK": lambda state: type_ok(rules, state),
        "OneWriterOrReaders": one_writer_or_readers,
        "OneCurrent": one_current,
        "FenceUnique": fence_unique,
        "FencesMonotone": fences_monotone,
        "NobodyPasses": nobody_passes,
        "Faithful": lambda state: faithful(rules, first, state),
    }
