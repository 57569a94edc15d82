"""The promises of the ring: kept by good runs, each broken by a fault planted in what is seen."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.findings import Promise
from raincheck.conformance.trace.ring.promises import NAMES, ring_promises
from raincheck.conformance.trace.ring.seen import (
    CRASHED,
    OPEN,
    Address,
    Agreed,
    Commit,
    Delivered,
    Eaten,
    Fence,
    Lock,
    RingSeen,
    Said,
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
    messages = [Delivered(A, 1, 3, 0.3), Delivered(B, 1, 4, 0.4), Delivered(B, 2, 4, 0.4)]
    seen = {
        who: RingSeen(
            commits=[Commit(1, ABC, 4, 0.4 + place)],
            states=[State("hungry", "chaos", 0, 0.0), State("eating", "agreement", 4, 0.4)],
            delivered=list(messages),
            said=[Said(1, 1), Said(2, 2)] if who != C else [],
            agreed=Agreed(ABC, 4),
            up="up",
            last=6,
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
    causality = HappensBefore(PASSES if origins is None else origins)
    promises = ring_promises(seen, causality, crashed, complete=whole)
    assert msgspec.json.decode(msgspec.json.encode(promises), type=list[Promise]) == promises
    return {promise.name: promise for promise in promises}


def broken(found: dict[str, Promise]) -> set[str]:
    return {name for name, promise in found.items() if promise.verdict == "violated"}


def test_a_good_run_keeps_every_promise() -> None:
    found = judged(good())

    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(NAMES, "holds")
    assert len(NAMES) == 9
    assert {name: each.judged for name, each in found.items()} == {
        "ConsistentHistory": {"members": 3, "views": 1},
        "FenceUnique": {"members": 3, "tokens": 4},
        "OneLock": {"members": 3, "locks": 4},
        "SevenStates": {"members": 3, "states": 2},
        "HeldByAll": {"members": 3, "views": 1},
        "NoHoles": {"members": 3, "views": 1},
        "AgreedOrder": {"members": 3, "messages": 3},
        "Integrity": {"members": 3, "messages": 3},
        "Fifo": {"members": 3, "messages": 2},
    }


def other_view(seen: Seen) -> None:
    seen[C].commits[0].members = (A, C)


def null_is_no_view(seen: Seen) -> None:
    """Not a fault: an entry that is NULL is no entry."""
    seen[C].commits[0].members = ()
    seen[C].agreed = None


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
    seen[B].commits.pop(0)


def inverted(seen: Seen) -> None:
    first, second, _ = seen[C].delivered
    seen[C].delivered[:2] = [second, first]


def twice(seen: Seen) -> None:
    seen[B].delivered.insert(1, Delivered(A, 1, 4, 0.9))


def out_of_nothing(seen: Seen) -> None:
    seen[B].delivered.append(Delivered(B, 3, 9, 0.9))


def out_of_nobody(seen: Seen) -> None:
    seen[B].delivered.append(Delivered(("z", 0), 1, 9, 0.9))


def too_soon(seen: Seen) -> None:
    """b says its second message in its event 4, and c has it in its event 3, of which b knows."""
    seen[B].said = [Said(1, 1), Said(2, 4)]
    seen[B].delivered[2].index = 4


def backwards(seen: Seen) -> None:
    for who in ABC:
        seen[who].delivered = [Delivered(A, 2, 4, 0.3), Delivered(A, 1, 4, 0.4)]


ALSO = {other_view: {"NoHoles"}, twice: {"Fifo"}}
"""What is broken by the same fault: c lacks the last view; a second time is no later place."""


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
        (twice, "Integrity", {"twice": True, "messages": [["a", 0, 1]]}),
        (out_of_nothing, "Integrity", {"never_sent": True}),
        (out_of_nobody, "Integrity", {"never_sent": True, "messages": [["z", 0, 1]]}),
        (too_soon, "Integrity", {"before_it_was_sent": True, "members": [["a", 0]]}),
        (backwards, "Fifo", {"messages": [["a", 0, 2], ["a", 0, 1]], "at": 0.4}),
    ],
)
def test_each_promise_is_broken_by_its_fault(
    fault: Callable[[Seen], None], promise: str, witness: dict[str, Any]
) -> None:
    seen = good()
    fault(seen)

    found = judged(seen)

    assert broken(found) == {promise} | ALSO.get(fault, set())
    assert found[promise].witness.items() >= witness.items()
    assert all(found[promise].judged.values())  # what is violated says of how much, too


def test_an_entry_that_is_null_contradicts_nobody() -> None:
    seen = good()
    null_is_no_view(seen)

    assert broken(judged(seen)) == set()


def test_a_view_is_compared_with_those_of_all_lives() -> None:
    seen = good()
    seen["c", 1] = RingSeen(commits=[Commit(1, (("c", 1),), 7, 3.0)])

    assert broken(judged(seen)) == {"ConsistentHistory", "HeldByAll"}


def died(seen: Seen, last: int) -> None:
    """b has died with the lock, after that event."""
    seen[B].locks[0] = Lock(fence(2), 1, 0, OPEN, 1.0)
    seen[B].last = last


def crashed(seen: Seen, last: int) -> None:
    """The same; it has come back, and its next process says so."""
    seen[B].locks[0] = Lock(fence(2), 1, last + 1, CRASHED, 1.0)


@pytest.mark.parametrize("ends", [died, crashed])
def test_of_a_holder_that_died_nobody_can_say_how_long_it_held(
    ends: Callable[[Seen, int], None],
) -> None:
    seen = good()
    ends(seen, 2)
    assert broken(judged(seen, crashed=(B,))) == set()
    ends(seen, 3)  # a and c have had it since, as b knows, which has it
    found = judged(seen, crashed=(B,))
    assert broken(found) == {"OneLock"}
    assert found["OneLock"].witness["members"] == [["b", 0], ["c", 0]]
    assert found["OneLock"].witness["fences"] == [[0, "", 0, 2], [0, "", 0, 3]]
    seen[A].locks.pop()
    seen[C].locks.clear()
    assert broken(judged(seen, crashed=(B,))) == set()


@pytest.mark.parametrize("ends", [died, crashed])
def test_a_holder_that_died_began_after_those_before_it(ends: Callable[[Seen, int], None]) -> None:
    seen = good()
    ends(seen, 2)
    seen[A].locks[0].end = 3  # b knows of a's event 2 only

    found = judged(seen, crashed=(B,))

    assert found["OneLock"].witness["members"] == [["a", 0], ["b", 0]]


def test_two_that_died_with_the_lock_accuse_each_other_if_each_knew_of_the_other() -> None:
    seen = {
        who: RingSeen(locks=[Lock(fence(place), 1)], last=3) for place, who in enumerate((A, B))
    }
    one_way = {(B, 2): [(A, 2)]}

    assert broken(judged(seen, one_way, (A, B))) == set()
    assert broken(judged(seen, one_way | {(A, 3): [(B, 1)]}, (A, B))) == {"OneLock"}


def test_locks_are_compared_in_the_order_in_which_they_were_had() -> None:
    """b's second one overlaps with c's, whatever the numbers say."""
    seen = good()
    seen[C].locks[0].end = 3
    seen[B].locks.append(Lock(fence(1), 3, 4, "", 3.5))
    seen[A].locks.pop()

    assert judged(seen)["OneLock"].witness["members"] == [["c", 0], ["b", 0]]


def test_a_late_holder_of_an_older_epoch_is_left_to_the_fences() -> None:
    seen = good()
    never_let_go(seen)
    for who in (B, C):
        seen[who].locks[0].first = fence(2, 1, "b")
    seen[A].locks.pop()

    assert broken(judged(seen)) == set()


def test_a_hole_is_none_for_who_is_not_in_the_view() -> None:
    seen = good()
    a_hole(seen)
    for who in ABC:
        seen[who].agreed = None
        seen[who].commits[0].members = (A, B) if who == B else (A, C)

    assert broken(judged(seen)) == set()


def test_a_hole_is_none_for_who_lacks_the_next_one_as_well() -> None:
    seen = good()
    for who in (A, C):
        seen[who].commits += [Commit(2, (A, C), 5, 0.5), Commit(3, ABC, 6, 0.6)]
    seen[B].commits = [Commit(3, ABC, 6, 0.6)]
    for who in ABC:
        seen[who].agreed = None

    found = judged(seen)

    assert broken(found) == set()
    assert found["NoHoles"].judged == {"members": 2, "views": 2}


def filled(seen: Seen, origins: Origins) -> None:
    """b has view 2 in its event 5, and 1, which it is in, in its event 6 only."""
    for who in ABC:
        seen[who].agreed = None
    seen[B].commits = [Commit(2, (A, B), 5, 0.5), Commit(1, ABC, 6, 0.6)]
    seen[A].commits.append(Commit(2, (A, B), 6, 0.7))
    origins[A, 6] = [(B, 6)]


def test_a_hole_that_is_filled_later_was_one() -> None:
    seen, origins = good(), dict(PASSES)
    filled(seen, origins)

    promise = judged(seen, origins)["NoHoles"]

    assert promise.witness == {
        "index": 1, "members": [["b", 0]], "events": [5], "view": ["a.0", "b.0", "c.0"],
        "lacking": "b.0 has the one at 2, and not this one", "at": 0.5,
    }  # fmt: skip


def test_what_was_filled_before_another_committed_it_was_no_hole() -> None:
    seen, origins = good(), dict(PASSES)
    filled(seen, origins)
    seen[A].commits[0].index = 6
    seen[C].commits[0].members = (C,)  # another view at the same index does not ask for this one

    assert "NoHoles" not in broken(judged(seen, origins))


def test_the_next_view_is_the_next_that_was_committed_by_then() -> None:
    """b has 3, and not 1, which it is in; 2 comes between, of which only who commits 3 may know."""
    seen, origins = good(), dict(PASSES)
    for who in ABC:
        seen[who].agreed = None
    seen[B].commits = [Commit(3, ABC, 6, 0.6)]
    seen[A].commits.append(Commit(2, (A, C), 5, 0.5))

    assert broken(judged(seen, {**origins, (B, 6): [(A, 5)]})) == set()
    del origins[B, 3]  # b has not heard of it
    assert broken(judged(seen, {**origins, (C, 3): [(A, 5)]})) >= {"NoHoles"}


def test_what_comes_between_counts_if_who_committed_the_first_knew_of_it() -> None:
    seen, origins = good(), {**PASSES, (C, 3): [(A, 5)]}
    del origins[B, 3]
    for who in ABC:
        seen[who].agreed = None
    seen[A].commits = [Commit(2, (A, C), 5, 0.5)]
    seen[B].commits = [Commit(3, (B,), 6, 0.6)]
    seen[C].commits = [Commit(1, (B, C), 4, 0.4)]

    assert "NoHoles" not in broken(judged(seen, origins))
    del origins[C, 3]
    assert "NoHoles" in broken(judged(seen, origins))


def test_a_hole_is_found_whoever_came_last_is_named_first() -> None:
    seen = {
        A: RingSeen(commits=[Commit(3, (A, B), 9)]),
        B: RingSeen(commits=[Commit(2, (B,), 8), Commit(3, (A, B), 9)]),
        C: RingSeen(commits=[Commit(1, (B, C), 1)]),
    }

    assert judged(seen, {})["NoHoles"].witness["members"] == [["b", 0]]


def test_what_is_lost_again_asks_for_nothing() -> None:
    """b had 2, and lost it before c had 1."""
    seen = {
        B: RingSeen(commits=[Commit(2, (B,), 5), Commit(2, (), 6)]),
        C: RingSeen(commits=[Commit(1, (B, C), 2)]),
    }

    assert "NoHoles" not in broken(judged(seen, {(C, 1): [(B, 6)]}))
    assert "NoHoles" in broken(judged(seen, {(C, 1): [(B, 5)]}))


def test_a_view_that_was_lost_again_is_a_hole() -> None:
    seen = good()
    for who in ABC:
        seen[who].commits.append(Commit(2, ABC, 5, 0.5))
        seen[who].agreed = None
    seen[C].commits.append(Commit(1, (), 6, 0.6))

    found = judged(seen)["NoHoles"]

    assert (found.witness["members"], found.witness["events"]) == ([["c", 0]], [6])


# ---------------------------------------------------------------- when all agree


def lacks_the_last(seen: Seen) -> None:
    seen[B].commits.clear()


def test_when_all_agree_whoever_is_in_the_last_view_has_it() -> None:
    seen = good()
    lacks_the_last(seen)

    found = judged(seen)["NoHoles"]

    assert found.verdict == "violated"
    assert found.witness["lacking"] == "all agree, and b.0 has not the last one"
    assert (found.witness["index"], found.witness["members"]) == (1, [["b", 0]])


def another_list(seen: Seen) -> None:
    seen[C].agreed = Agreed((A, C), 4)


def somebody_else_runs(seen: Seen) -> None:
    seen["d", 0] = RingSeen(up="up", last=1)


def not_at_one_time(seen: Seen) -> None:
    """c agrees only after b, of whose event 3 it knows, has ceased to."""
    seen[B].agreed = Agreed(ABC, 2, 3)


def never(seen: Seen) -> None:
    seen[A].agreed = None


def one_without_a_file(seen: Seen) -> None:
    for who in ABC:
        seen[who].agreed = Agreed((*ABC, ("z", 0)), 4)


@pytest.mark.parametrize(
    "how", [another_list, somebody_else_runs, not_at_one_time, never, one_without_a_file]
)
def test_where_not_all_agree_the_last_view_is_not_asked_for(how: Callable[[Seen], None]) -> None:
    seen = good()
    lacks_the_last(seen)
    how(seen)

    found = judged(seen)["NoHoles"]

    assert found.verdict == "inconclusive"
    assert found.judged == {"members": 0, "views": 0}
    assert found.reason.startswith("nobody is in a view and has the next one")


@pytest.mark.parametrize("up", ["left", "down", "crashed"])
def test_who_does_not_run_any_more_does_not_have_to_agree(up: str) -> None:
    seen = good()
    lacks_the_last(seen)
    seen["d", 0] = RingSeen(up="up" if up == "crashed" else up, last=1)

    found = judged(seen, crashed=(("d", 0),) if up == "crashed" else ())

    assert found["NoHoles"].verdict == "violated"


def test_agreement_that_ended_later_was_one() -> None:
    seen = good()
    lacks_the_last(seen)
    for who in ABC:
        seen[who].agreed = Agreed(ABC, 4, 5)
    assert judged(seen)["NoHoles"].verdict == "inconclusive"  # c knows of a's event 5 in its third

    origins = {**PASSES, (B, 3): [(A, 4)]}
    assert judged(seen, origins)["NoHoles"].verdict == "violated"
    seen[B].commits = [Commit(1, ABC, 6, 0.6)]  # too late
    seen[A].commits.append(Commit(2, (A,), 6, 0.6))  # after that time
    assert judged(seen, origins)["NoHoles"].witness["index"] == 1
    seen[B].commits = [Commit(1, ABC, 2, 0.2), Commit(1, (), 3, 0.3)]  # not any more
    seen[A].commits.pop()
    assert judged(seen, origins)["NoHoles"].witness["index"] == 1


def test_who_was_in_the_last_view_and_does_not_run_any_more_may_lack_it() -> None:
    seen, gone = good(), ("d", 0)
    for who in ABC:
        seen[who].commits[0].members = (*ABC, gone)
    seen[gone] = RingSeen(up="left", agreed=Agreed((gone,), 1, 2), eaten=[Eaten(fence(0), 0)])

    assert broken(judged(seen)) == set()


def test_the_earliest_witness_is_reported() -> None:
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
    assert all(all(each.judged.values()) for each in found.values())


def test_where_a_record_is_missing_nobody_is_blamed_for_what_it_may_have_said() -> None:
    for fault, promise in (
        (both_locked, "OneLock"),
        (never_held, "HeldByAll"),
        (a_hole, "NoHoles"),
        (out_of_nothing, "Integrity"),
        (out_of_nobody, "Integrity"),
        (too_soon, "Integrity"),
    ):
        seen = good()
        fault(seen)

        found = ring_promises(seen, HappensBefore(PASSES), (), complete=False, whole=False)

        assert {each.name: each.verdict for each in found}[promise] == "inconclusive"


# ---------------------------------------------------------------- over how much


def test_what_never_happened_was_not_kept() -> None:
    found = judged({who: RingSeen() for who in ABC})

    assert {each.verdict for each in found.values()} == {"inconclusive"}
    assert {name: each.reason for name, each in found.items()} == {
        "ConsistentHistory": "no two members have committed a view at the same index",
        "FenceUnique": "no two members held the token",
        "OneLock": "no two members had the lock in the same epoch and lived to let it go",
        "SevenStates": "no member that was up went from one state to another",
        "HeldByAll": "no view was committed by an event",
        "NoHoles": "nobody is in a view and has the next one, and never did all agree in the end",
        "AgreedOrder": "no two members delivered the same two messages",
        "Integrity": "nothing was delivered",
        "Fifo": "nobody delivered two messages of one sender",
    }
    assert {count for each in found.values() for count in each.judged.values()} == {0}


def alone(seen: Seen) -> None:
    """Only a has committed a view."""
    for who in (B, C):
        seen[who].commits.clear()
        seen[who].agreed = None


def apart(seen: Seen) -> None:
    """Each has committed one at an index of its own."""
    for place, who in enumerate(ABC, 1):
        seen[who].commits = [Commit(place, (who,), 4, 0.4)]
        seen[who].agreed = None


def one_holder(seen: Seen) -> None:
    from_the_beginning(seen)
    seen[B].eaten.clear()
    seen[C].eaten.clear()


def one_lock_each_epoch(seen: Seen) -> None:
    for place, who in enumerate(ABC):
        for each in seen[who].locks:
            each.first = fence(1, place)


def one_that_lived(seen: Seen) -> None:
    """Each but a has died with the lock."""
    for who in (B, C):
        seen[who].locks[0].how = CRASHED


def one_state_each(seen: Seen) -> None:
    for place, each in enumerate(seen.values()):
        each.states = [State("hungry", "chaos", place), State("eating", "chaos", 9, up=False)]


def from_the_beginning(seen: Seen) -> None:
    for each in seen.values():
        each.commits[0].index = 0


def only_lost(seen: Seen) -> None:
    """What was there from the beginning is gone."""
    from_the_beginning(seen)
    for each in seen.values():
        each.agreed = None
        each.commits.append(Commit(1, (), 4, 0.4))


def one_in_common(seen: Seen) -> None:
    seen[A].delivered = [Delivered(A, 1, 4), Delivered(A, 2, 4)]
    seen[B].delivered = [Delivered(A, 1, 4), Delivered(B, 1, 4), Delivered(B, 2, 4)]
    seen[C].delivered = [Delivered(A, 2, 4), Delivered(B, 2, 4)]


def one_of_each(seen: Seen) -> None:
    for each in seen.values():
        each.delivered.pop()


@pytest.mark.parametrize(
    ("how", "promise"),
    [
        (alone, "ConsistentHistory"),
        (apart, "ConsistentHistory"),
        (apart, "NoHoles"),
        (one_holder, "FenceUnique"),
        (one_lock_each_epoch, "OneLock"),
        (one_that_lived, "OneLock"),
        (one_state_each, "SevenStates"),
        (from_the_beginning, "HeldByAll"),
        (only_lost, "HeldByAll"),
        (one_in_common, "AgreedOrder"),
        (one_of_each, "Fifo"),
    ],
)
def test_what_could_not_have_come_out_otherwise_is_inconclusive(
    how: Callable[[Seen], None], promise: str
) -> None:
    seen = good()
    how(seen)

    found = judged(seen)

    assert (found[promise].verdict, broken(found)) == ("inconclusive", set())
    assert set(found[promise].judged.values()) == {0}


def test_only_those_are_counted_who_were_asked() -> None:
    seen = good()
    seen[C] = RingSeen(up="left")

    found = {name: each.judged for name, each in judged(seen).items()}

    assert found["ConsistentHistory"] == {"members": 2, "views": 1}
    assert found["FenceUnique"] == {"members": 2, "tokens": 3}
    assert found["OneLock"] == {"members": 2, "locks": 3}
    assert found["SevenStates"] == {"members": 2, "states": 2}
    assert found["HeldByAll"] == {"members": 2, "views": 1}
    assert found["AgreedOrder"] == {"members": 2, "messages": 3}
    assert found["Integrity"] == {"members": 2, "messages": 3}
    assert found["Fifo"] == {"members": 2, "messages": 2}


# ---------------------------------------------------------------- lives, and orders


def test_what_a_member_has_forgotten_it_has_not_held() -> None:
    """As written its next life has the same name."""
    seen = good()
    seen[B].forgot = [3]

    assert "HeldByAll" in broken(judged(seen))
    assert judged(seen)["HeldByAll"].witness["lacking"] == "b.0 had not held the token"
    seen[B].eaten.append(Eaten(fence(9), 3))  # by the event itself nobody holds anything
    assert "HeldByAll" in broken(judged(seen))
    seen[B].eaten.append(Eaten(fence(10), 4))
    for who in (A, C):
        seen[who].commits.clear()
    assert "HeldByAll" not in broken(judged(seen))


def test_of_several_lives_the_last_one_counts() -> None:
    seen = good()
    seen[B].forgot = [2, 3]
    seen[B].eaten.append(Eaten(fence(9), 3))
    for who in (A, C):
        seen[who].commits.clear()

    assert "HeldByAll" in broken(judged(seen))


def test_whoever_has_no_file_has_not_held_the_token() -> None:
    seen = good()
    seen[A].commits.append(Commit(2, (A, ("z", 0)), 5, 0.5))

    assert judged(seen)["HeldByAll"].witness["lacking"] == "z.0 had not held the token"


def test_how_a_member_began_is_known_to_all() -> None:
    """a had the token when the ring was formed, and has said nothing since."""
    seen = {
        A: RingSeen(eaten=[Eaten(fence(1), 0)]),
        B: RingSeen(eaten=[Eaten(fence(2), 1)], commits=[Commit(1, (A, B), 2)]),
    }

    assert broken(judged(seen, {})) == set()
    seen[A].eaten[0].index = 1
    assert broken(judged(seen, {})) == {"HeldByAll"}


def test_two_lives_of_one_name_are_two_holders() -> None:
    seen = good()
    seen["b", 1] = RingSeen(eaten=[Eaten(fence(2), 9, 5.0)])

    assert judged(seen)["FenceUnique"].witness["members"] == [["b", 0], ["b", 1]]


def test_who_has_the_lock_in_the_end_has_it_whether_or_not_anybody_knows() -> None:
    seen = {
        who: RingSeen(locks=[Lock(fence(place), 1)], last=3) for place, who in enumerate((A, B))
    }

    assert broken(judged(seen, {})) == {"OneLock"}
    assert judged(seen, {})["OneLock"].judged == {"members": 2, "locks": 2}
    seen[B].locks[0].first = fence(1, 0, "b")  # an epoch of its own
    assert broken(judged(seen, {})) == set()


def test_how_soon_it_was_is_said_only_where_both_records_say() -> None:
    seen = good()
    other_view(seen)
    seen[C].commits[0].at = None

    assert "at" not in judged(seen)["ConsistentHistory"].witness


def test_a_message_that_is_delivered_again_was_delivered_the_first_time() -> None:
    seen = good()
    inverted(seen)
    before = judged(seen)["AgreedOrder"].witness
    seen[C].delivered.append(Delivered(A, 1, 6, 7.5))

    assert judged(seen)["AgreedOrder"].witness == before


def test_a_state_is_judged_after_its_member_has_left() -> None:
    seen = good()
    seen[C].states.append(State("starving", "agreement", 7, 0.7, up=False))

    assert broken(judged(seen)) == {"SevenStates"}


def test_a_circle_leaves_what_asks_for_an_order_undecided() -> None:
    circle = deepcopy(PASSES) | {(A, 1): [(C, 9)], (B, 1): [(A, 2)], (C, 1): [(A, 9)]}
    seen = good()
    both_locked(seen)

    found = judged(seen, circle)

    undecided = {name for name, each in found.items() if each.verdict == "inconclusive"}
    assert undecided == {"OneLock", "HeldByAll", "NoHoles", "Integrity"}
    assert {found[name].reason for name in undecided} == {"no order of the events is possible"}
    assert {each.verdict for each in found.values()} == {"inconclusive", "holds"}


# ---------------------------------------------------------------- what happened before what


def test_order_comes_from_messages_alone() -> None:
    causality = HappensBefore(PASSES)

    assert causality.whole
    assert causality.before(A, 2, B, 1)
    assert causality.before(A, 2, C, 1)  # through b
    assert causality.before(A, 2, A, 2)
    assert not causality.before(A, 3, B, 1)
    assert not causality.before(B, 1, A, 3)
    assert causality.before(B, 2, A, 4)
    assert not causality.before(C, 3, B, 3)


def test_a_circle_is_noticed_and_what_comes_before_it_is_known() -> None:
    causality = HappensBefore(
        {(B, 1): [(A, 1)], (A, 5): [(B, 7)], (B, 6): [(A, 6)], (C, 1): [(B, 1)]}
    )

    assert not causality.whole
    assert causality.before(A, 1, B, 1)


def test_the_place_of_an_event_is_after_those_of_all_that_happened_before_it() -> None:
    causality = HappensBefore(PASSES)
    events = [(who, index) for who in ABC for index in range(1, 7)]

    for one in events:
        for two in events:
            if one != two and causality.before(*one, *two):
                assert causality.place(*one) < causality.place(*two)
