"""The promises of the ring: kept by good runs, each broken by a fault planted in what is seen."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from raincheck.conformance.traces.findings import Promise
from raincheck.conformance.traces.happened import Happened
from raincheck.conformance.traces.ringpromises import NAMES, ring_promises
from raincheck.conformance.traces.ringseen import (
    CRASHED,
    OPEN,
    Address,
    Commit,
    Delivered,
    Eaten,
    Entry,
    Fence,
    Lock,
    RingSeen,
    State,
)

A, B, C = ("a", 0), ("b", 0), ("c", 0)
ABC = (A, B, C)
Seen = dict[Address, RingSeen]
Origins = dict[tuple[Address, int], list[tuple[Address, int]]]


def fence(seq: int, epoch: int = 0, by: str = "") -> Fence:
    return (epoch, by, 0, seq)


def good() -> Seen:
    """A round and a half: a, b, c, a hold the token; all commit; a's and b's messages arrive."""
    messages = [Delivered(A, 1, 3, 0.3), Delivered(B, 1, 4, 0.4)]
    seen = {
        who: RingSeen(
            commits=[Commit(1, ABC, 4, 0.4 + place)],
            states=[State("hungry", "chaos", 0, 0.0), State("eating", "agreement", 4, 0.4)],
            delivered=list(messages),
            history=[Entry(1, ABC)],
            said=1,
            last_at=9.0,
        )
        for place, who in enumerate(ABC)
    }
    for place, who in enumerate((A, B, C, A)):
        start = 1 if place < 3 else 4
        at = float(place)
        seen[who].eaten.append(Eaten(fence(place + 1), start, at))
        seen[who].locks.append(Lock(fence(place + 1), start, start + 1, "", at))
    return seen


PASSES: Origins = {(B, 1): [(A, 2)], (C, 1): [(B, 2)], (A, 4): [(C, 2)], (B, 3): [(A, 5)],
                   (C, 3): [(B, 3)]}  # fmt: skip
"""Each lets go of the token in its second event, and the next one takes it in its first; then word
of all of it goes round once more."""


def judged(
    seen: Seen,
    origins: Origins | None = None,
    crashed: tuple[Address, ...] = (),
    whole: bool = True,
) -> dict[str, Promise]:
    happened = Happened(PASSES if origins is None else origins)
    promises = ring_promises(seen, happened, crashed, complete=whole)
    assert msgspec.json.decode(msgspec.json.encode(promises), type=list[Promise]) == promises
    return {promise.name: promise for promise in promises}


def broken(found: dict[str, Promise]) -> set[str]:
    return {name for name, promise in found.items() if promise.verdict == "violated"}


def test_a_good_run_keeps_every_promise() -> None:
    found = judged(good())

    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(NAMES, "holds")
    assert len(NAMES) == 9


def other_view(seen: Seen) -> None:
    seen[C].commits[0].members = (A, C)


def null_is_no_view(seen: Seen) -> None:
    """Not a fault: an entry that is NULL is no entry."""
    seen[C].commits.clear()
    seen[C].history = [Entry(1, ())]


def same_number(seen: Seen) -> None:
    seen[C].eaten.append(Eaten(fence(2), 9, 5.0))


def both_locked(seen: Seen) -> None:
    """b lets go only after c has begun."""
    seen[B].locks[0].end = 3


def never_let_go(seen: Seen) -> None:
    seen[A].locks[0] = Lock(fence(1), 1, 0, OPEN, 0.0)


def impossible(seen: Seen) -> None:
    seen[B].states.append(State("starving", "reserve", 5, 0.5))


def too_early(seen: Seen) -> None:
    seen[A].commits[0].index = 1


def never_held(seen: Seen) -> None:
    seen[C].eaten.clear()


def a_hole(seen: Seen) -> None:
    """b has the next view, and lacks the first one, which it is in."""
    for who in ABC:
        seen[who].commits.append(Commit(2, (A, B), 5, 0.5))
        seen[who].history = [Entry(1, ABC), Entry(2, (A, B))]
    seen[B].commits.pop(0)
    seen[B].history = [Entry(1, ()), Entry(2, (A, B))]


def inverted(seen: Seen) -> None:
    seen[C].delivered.reverse()


def twice(seen: Seen) -> None:
    seen[B].delivered.append(Delivered(B, 1, 9, 0.9))


def out_of_nothing(seen: Seen) -> None:
    seen[B].delivered.append(Delivered(B, 2, 9, 0.9))


def backwards(seen: Seen) -> None:
    for who in ABC:
        seen[who].said = 2
        seen[who].delivered = [Delivered(A, 2, 3, 0.3), Delivered(A, 1, 4, 0.4)]


@pytest.mark.parametrize(
    ("fault", "promise", "witness"),
    [
        (other_view, "ConsistentHistory", {"index": 1, "members": [["a", 0], ["c", 0]], "at": 2.4}),
        (same_number, "FenceUnique", {"fence": [0, "", 0, 2], "events": [1, 9], "at": 5.0}),
        (both_locked, "OneLock", {"members": [["b", 0], ["c", 0]], "at": 2.0}),
        (never_let_go, "OneLock", {"fences": [[0, "", 0, 1], [0, "", 0, 2]]}),
        (impossible, "SevenStates", {"state": "starving-reserve", "at": 0.5}),
        (too_early, "HeldByAll", {"lacking": "b.0 had not held the token"}),
        (never_held, "HeldByAll", {"lacking": "c.0 had not held the token"}),
        (a_hole, "NoHoles", {"index": 1, "members": [["b", 0]]}),
        (inverted, "AgreedOrder", {"messages": [["b", 0, 1], ["a", 0, 1]]}),
        (twice, "Integrity", {"twice": True, "messages": [["b", 0, 1]]}),
        (out_of_nothing, "Integrity", {"never_sent": True}),
        (backwards, "Fifo", {"messages": [["a", 0, 2], ["a", 0, 1]], "at": 0.4}),
    ],
)
def test_each_promise_is_broken_by_its_fault(
    fault: Callable[[Seen], None], promise: str, witness: dict[str, Any]
) -> None:
    seen = good()
    fault(seen)

    found = judged(seen)

    assert broken(found) == {promise}
    assert found[promise].witness.items() >= witness.items()


def test_an_entry_that_is_null_contradicts_nobody() -> None:
    seen = good()
    null_is_no_view(seen)

    assert broken(judged(seen)) == set()


def test_a_view_is_compared_with_those_of_all_lives() -> None:
    seen = good()
    seen["c", 1] = RingSeen(commits=[Commit(1, (("c", 1),), 7, 3.0)])

    assert broken(judged(seen)) == {"ConsistentHistory", "HeldByAll"}


def test_of_a_holder_that_died_nobody_can_say_how_long_it_held() -> None:
    seen = good()
    seen[B].locks[0] = Lock(fence(2), 1, 0, OPEN, 1.0)
    assert broken(judged(seen, crashed=(B,))) == set()
    seen[B].locks[0] = Lock(fence(2), 1, 5, CRASHED, 1.0)
    assert broken(judged(seen)) == set()


def test_a_late_holder_of_an_older_epoch_is_left_to_the_fences() -> None:
    seen = good()
    never_let_go(seen)
    for who in (B, C):
        seen[who].locks[0].first = fence(2, 1, "b")
    seen[A].locks.pop()

    assert broken(judged(seen)) == set()


def test_a_hole_is_none_for_who_is_not_in_the_view_or_lacks_the_next_one() -> None:
    seen = good()
    a_hole(seen)
    for who in ABC:
        seen[who].commits[-1].members = (A, C)
        seen[who].history[-1].members = (A, C)
    seen[B].history.pop()

    assert "NoHoles" not in broken(judged(seen))


def test_the_earliest_witness_is_told() -> None:
    seen = good()
    seen[C].eaten += [Eaten(fence(2), 9, 5.0), Eaten(fence(1), 12, 4.5)]

    assert judged(seen)["FenceUnique"].witness["at"] == 4.5


def test_without_all_records_nothing_holds_but_what_is_broken_stays_broken() -> None:
    seen = good()
    inverted(seen)

    found = judged(seen, whole=False)

    assert found.pop("AgreedOrder").verdict == "violated"
    assert {each.verdict for each in found.values()} == {"inconclusive"}
    assert {each.reason for each in found.values()} == {"not every record was checked"}


def test_where_a_record_is_missing_nobody_is_blamed_for_what_it_may_have_said() -> None:
    for fault, promise in (
        (both_locked, "OneLock"),
        (never_held, "HeldByAll"),
        (a_hole, "NoHoles"),
    ):
        seen = good()
        fault(seen)

        found = ring_promises(seen, Happened(PASSES), (), complete=False, whole=False)

        assert {each.name: each.verdict for each in found}[promise] == "inconclusive"


def test_what_never_happened_was_not_kept() -> None:
    found = judged({who: RingSeen() for who in ABC})

    assert {each.verdict for each in found.values()} == {"inconclusive"}
    assert found["OneLock"].reason == "nobody had the lock"
    assert found["Fifo"].reason == "nothing was delivered"


def test_a_circle_leaves_the_lock_undecided() -> None:
    circle = deepcopy(PASSES) | {(A, 1): [(A, 2)], (B, 1): [(A, 2)]}
    circle[A, 1] = [(C, 9)]
    circle[C, 1] = [(A, 9)]

    found = judged(good(), circle)

    assert found["OneLock"].verdict != "holds"
    assert found["Integrity"].verdict == "holds"


# ---------------------------------------------------------------- what happened before what


def test_order_comes_from_messages_alone() -> None:
    happened = Happened(PASSES)

    assert happened.whole
    assert happened.before(A, 2, B, 1)
    assert happened.before(A, 2, C, 1)  # through b
    assert happened.before(A, 2, A, 2)
    assert not happened.before(A, 3, B, 1)
    assert not happened.before(B, 1, A, 3)
    assert happened.before(B, 2, A, 4)
    assert not happened.before(C, 3, B, 3)


def test_a_circle_is_noticed_and_what_comes_before_it_is_known() -> None:
    happened = Happened({(B, 1): [(A, 1)], (A, 5): [(B, 7)], (B, 6): [(A, 6)]})

    assert not happened.whole
    assert happened.before(A, 1, B, 1)
