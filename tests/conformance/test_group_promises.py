"""Each promise of a group is really looked at: a good run, and one thing wrong with it at a time.

A group is played until it rests and found good. Then what its nodes know, or have written down, is
changed in one place, and the complaint about it must come, in its words. That nobody else would
complain in its place `test_judges.py` sees.
"""

import pytest

from raincheck.conformance.campaigns.promises import Broken, check, check_quiet, logs
from raincheck.conformance.judges.group_faults import (
    LOGS,
    QUIET,
    A,
    B,
    C,
    Y,
    Z,
    begins_to_join,
    lacks_the_very_last,
    rested,
    spelled,
)
from raincheck.impl.messages import Address, Run


def test_the_run_is_good_before_anything_is_planted() -> None:
    group = rested()

    check(logs(group))
    check_quiet(group)
    assert [view.id.counter for view in group["a"].views] == [1, 2, 3, 4]
    in_views = [(run.sender.node, run.first, run.size, v) for run, v in group["a"].delivered]
    assert in_views == [
        *(("a", 1, 3, 1), ("b", 1, 3, 1), ("c", 1, 3, 1)),
        *(("b", 4, 1, 2), ("c", 4, 1, 2), ("a", 4, 1, 2)),
        *(("b", 5, 1, 4), ("a", 5, 1, 4)),
    ]
    assert [(log.address, log.complete, log.sent, log.from_state) for log in logs(group)] == [
        (A, True, 5, False), (B, True, 5, False), (C, False, 4, False),
        (Z, True, 0, True), (Y, True, 0, True),
    ]  # fmt: skip


# ---------------------------------------------------------------------- a group at rest


@pytest.mark.parametrize("what", QUIET)
def test_the_reason_why_a_group_does_not_rest_is_reported(what: str) -> None:
    plant, words = QUIET[what]
    group = rested()
    check_quiet(group)

    plant(group)

    with pytest.raises(Broken) as broken:
        check_quiet(group)
    assert str(broken.value) == spelled(group, words)


def test_a_few_signs_of_life_may_be_lost_in_a_group_at_rest() -> None:
    group = rested()
    group.partition("aby", "z")
    group.run(0.7)

    waits = group["a"].stack.missing(group.now)
    assert [(str(who), why.split()[0]) for who, why in waits.items()] == [("z.0", "silent")]
    check_quiet(group)


def test_a_state_that_nobody_has_any_more_is_not_missed() -> None:
    group = rested()
    for number, node in enumerate(group.up):
        node.app.transferred = False
        node.app.checksum = number
    check_quiet(group)

    group["b"].app.transferred = True
    with pytest.raises(Broken, match=r"a did not get the group's state, which \['b'\] have"):
        check_quiet(group)


def test_where_applications_have_no_state_none_is_compared() -> None:
    group = rested()
    group["y"].app.checksum = 1
    group.with_state = False
    check_quiet(group)


# ---------------------------------------------------------------------- what was delivered


@pytest.mark.parametrize("what", LOGS)
def test_logs_that_break_a_promise_are_reported(what: str) -> None:
    plant, words = LOGS[what]
    group = rested()
    check(logs(group), uniform=True)

    plant(group)

    with pytest.raises(Broken) as broken:
        check(logs(group), uniform=True)
    assert str(broken.value) == spelled(group, words)


def test_less_is_promised_of_who_crashed() -> None:
    """It may lack the last of its view, and what it sent last may be lost."""
    group = rested()
    group["c"].delivered.remove((Run(A, 4, 1), 2))
    group["c"].sent = 9
    check(logs(group))

    lacks_the_very_last(group)
    with pytest.raises(Broken, match=r"^virtual synchrony: in view 4"):
        check(logs(group))
    group.crash("b")  # and nobody has noticed yet
    check(logs(group))


def test_nothing_is_promised_of_who_was_not_let_in() -> None:
    group = rested()
    begins_to_join(group)
    group.send("n", [b"early"])
    assert (group["n"].sent, group["n"].views) == (1, [])
    check(logs(group))


def test_what_a_joiner_sent_before_its_state_is_in_that() -> None:
    group = rested()
    group["y"].sent = 9
    check(logs(group))

    group["y"].app.transferred = None
    with pytest.raises(Broken, match=r"^lost: y\.0 sent 9 and delivered 0 of them$"):
        check(logs(group))


def test_nothing_is_lost_of_who_left_in_good_order() -> None:
    group = rested()
    group.leave("b")
    group.run(1.0)
    assert group["b"].left == ""
    check(logs(group))

    group["b"].sent = 6
    with pytest.raises(Broken, match=r"^lost: b\.0 sent 6 and delivered 5 of them$"):
        check(logs(group))
    group["b"].left = "excluded"
    check(logs(group))


def test_an_earlier_life_is_judged_too() -> None:
    group = rested()
    group.restart("c")
    group.run_until(lambda: group.in_one_view(*"abcyz"))
    lives = [(log.address, log.survives) for log in logs(group) if log.address.node == "c"]
    assert lives == [(C, False), (Address("c", 1), True)]
    check(logs(group))

    runs = group["c"].history[0][1]
    runs[3:5] = [runs[4], runs[3]]
    with pytest.raises(Broken, match=r"^total order: in view 2 a\.0 .* where c\.0 delivered c"):
        check(logs(group))
