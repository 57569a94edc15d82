"""Groups that could merge, of which a coordinator leaves or does not answer, in virtual time."""

from __future__ import annotations

import pytest

from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig

from .primary_judge import Judged, primary_config

MERGING = StackConfig(on_merge="callback")


def cut_while_sending(group: Judged, *parts: str, leaves: str) -> None:
    """Part the group, and have these send and leave before anybody has noticed.

    Whoever coordinates all of them is in the first part.
    """
    group.start(*"".join(parts), founders=True)
    group.run(0.5)
    group.partition(*parts)
    group.run(0.3)
    for name in leaves:
        group.send(name, [b"held"])
        group.leave(name)
    group.run(4.0)
    assert [group[name].stack.status for name in leaves] == ["leaving"] * len(leaves)
    assert group.problems == []


def stands_still(group: Simulator, name: str, duration: float) -> list[float]:
    """Return for how long that node's sends had to wait, each time, in so many seconds."""
    pauses, began = [], None
    for _ in range(round(duration / 0.005)):
        group.run(0.005)
        if group[name].stack.blocked:
            began = group.now if began is None else began
        elif began is not None:
            pauses.append(group.now - began)
            began = None
    return pauses if began is None else [*pauses, group.now - began]


@pytest.mark.parametrize("policy", ["callback", "state"])
@pytest.mark.parametrize(
    ("parts", "leaves"),
    [(("ab", "cd"), "c"), (("ab", "cd"), "cd"), (("cde", "ab"), "a"), (("bcd", "a"), "a")],
    ids=str,
)
def test_a_coordinator_that_leaves_merges_first_and_what_it_has_sent_is_delivered(
    parts: tuple[str, ...], leaves: str, policy: str
) -> None:
    names = "".join(parts)
    config = primary_config(len(names), on_merge=policy)
    group = Judged(len(names), config=config, with_state=policy == "state")
    cut_while_sending(group, *parts, leaves=leaves)
    rest = [name for name in names if name not in leaves]
    before = {name: group[name].messages for name in rest}
    group.heal()
    goes_on = next(name for name in rest if group[name].stack.primary)
    pauses = stands_still(group, goes_on, 5.0)
    assert [group[name].left for name in leaves] == [""] * len(leaves)
    assert [group[name].stack.pending for name in leaves] == [0] * len(leaves)
    assert group.primary("".join(rest))
    assert {group[name].messages - before[name] for name in rest} == {len(leaves)}
    assert len(pauses) <= 1 + len(leaves)  # the merge, and who leaves
    assert sum(pauses) < 0.1
    assert group.problems == []


def test_a_group_without_primary_views_merges_with_a_coordinator_that_leaves() -> None:
    group = Simulator(1, config=MERGING)
    group.start(*"abcd", founders=True)
    group.run(0.5)
    group.partition("ab", "cd")
    group.run_until(lambda: group.in_one_view("a", "b") and group.in_one_view("c", "d"))
    group.heal()
    group["c"].stack.hold(group.now)  # it cannot be done with leaving before it has merged
    group.send("d", [b"x"])
    group.leave("c")
    group.after(2.0, lambda: group.release("c"))
    pauses = stands_still(group, "a", 6.0)
    assert group["c"].left == ""
    assert group.in_one_view(*"abd")
    assert max(pauses) < 2.5


def test_a_coordinator_that_never_answers_costs_the_others_less_and_less() -> None:
    group = Simulator(1, config=MERGING)
    group.start(*"abcd", founders=True)
    group.run(0.5)
    group.partition("ab", "cd")
    group.run_until(lambda: group.in_one_view("a", "b") and group.in_one_view("c", "d"))
    deaf = group["c"].stack._group.merge
    deaf.receive = lambda *_: ""  # type: ignore[method-assign]
    group.heal()
    pauses = stands_still(group, "a", 60.0)
    assert 4 <= len(pauses) <= 8
    assert max(pauses) < 1.5  # as long as a suspicion takes, and what is left of a round
    assert sum(pauses) < 10.0
    del deaf.receive
    group.run_until(lambda: group.in_one_view(*"abcd"), 20.0)


def test_of_two_views_of_one_group_the_later_one_is_asked_to_merge() -> None:
    group = Simulator(1, config=MERGING)
    group.start("a", founders=True)
    found = group["a"].stack._group.merge.found
    c, d, e = (Address(name, 0) for name in "cde")

    def met(counter: int, *members: Address) -> set[Address]:
        here = ("10.0.0.9", 7000 + counter)
        view = View(ViewId(counter, members[0]), members)
        assert not found.met(view, members[0], here, here, group.now)
        return set(found.apart(group["a"].stack.members, group.now))

    assert met(2, c, d) == {c}
    assert met(1, e) == {c, e}
    assert met(3, d) == {d, e}  # c has left it
    found.installed(View(ViewId(4, d), (group["a"].address, d)))
    assert set(found.apart((group["a"].address,), group.now)) == {e}
