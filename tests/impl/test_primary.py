"""PRIMARY's core: which side of a partition goes on, with any views, crashes and processes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, ViewId
from raincheck.impl.primary.core import NO_VIEW, Primary
from raincheck.impl.primary.decision import Repairs, has_majority
from raincheck.impl.primary.events import (
    Attempt,
    Decide,
    Form,
    Info,
    InstallView,
    Session,
    SetVotes,
)

A, B, C = (Address(name, 0) for name in "abc")


class Processes:
    """Processes that are put into views, of which some carry out only a part of the two rounds."""

    def __init__(self, names: str, seed: int, repairs: Repairs | None = None) -> None:
        self.random, self.repairs, self.expected = Random(seed), repairs, len(names)
        self.cores = {name: self._begun(name, 0) for name in names}
        self.views: dict[str, int] = dict.fromkeys(names, 0)
        self.formed: dict[Session, set[Address]] = {}

    def _begun(self, name: str, life: int) -> Primary:
        return Primary(Address(name, life), expected=self.expected, repairs=self.repairs)

    def restart(self, name: str) -> None:
        """Let a process crash and come back, with nothing but its name."""
        self.cores[name] = self._begun(name, self.cores[name].me.incarnation + 1)

    def view(self, names: str, deciding: str, forming: str) -> None:
        """Put these into a view, in which only some decide, and of them only some form it."""
        counter = 1 + max(self.views[name] for name in names)
        self.views |= dict.fromkeys(names, counter)
        mine = [self.cores[name] for name in names]
        members = frozenset(core.me for core in mine)
        view = ViewId(counter, min(members))
        infos = [effect for core in mine for effect in core.handle(InstallView(view, members))]
        told = tuple(sorted(each for each in infos if isinstance(each, Info)))
        attempted = set()
        for name in deciding:
            for effect in self.cores[name].handle(Decide(told)):
                assert isinstance(effect, Attempt)
                attempted.add(effect.sender)
        if attempted == members:
            for name in forming:
                core = self.cores[name]
                core.handle(Form(members))
                assert core.last is not None
                self.formed.setdefault(core.last, set()).add(core.me)

    def some(self, names: str) -> str:
        """Return all of these, or any of them."""
        if self.random.random() < 0.5:
            return names
        return "".join(name for name in names if self.random.random() < 0.6)

    def flap(self) -> None:
        """Let the network part the processes anew, or one of them crash."""
        names = "".join(self.cores)
        if self.random.random() < 0.1:
            self.restart(self.random.choice(names))
        sides = ["", "", ""]
        for name in names:
            sides[self.random.choice((0, 0, 0, 1, 2))] += name
        for side in filter(None, sides):
            self.view(side, self.some(side), self.some(side))


def problem(formed: dict[Session, set[Address]]) -> str:
    """What is wrong with the primary views that were formed; "" if nothing is."""
    histories: dict[ViewId, list[Session]] = {}
    for each in formed:
        histories.setdefault(each.history, []).append(each)
    for chain in histories.values():
        for before, after in pairwise(sorted(chain)):
            if before.number == after.number:
                return f"two primary views at {after.number}"
            if not has_majority(before.votes, dict(after.votes)):
                return f"{after.number} has no majority of {before.number}"
    return ""


def test_views_that_come_and_go_give_one_chain() -> None:
    most = 0
    for seed in range(30):
        processes = Processes("abcde", seed)
        processes.view("abcde", "abcde", "abcde")
        for _ in range(40):
            processes.flap()
        assert problem(processes.formed) == "", seed
        most = max(most, len(processes.formed))
    assert most > 5


@pytest.mark.parametrize(
    "undone", [{"tie": "half"}, {"lives": False}, {"remembers": False}], ids=str
)
def test_the_chain_breaks_without_a_rule(undone: dict[str, object]) -> None:
    repairs = Repairs(**undone)  # type: ignore[arg-type]
    found = set()
    for seed in range(80):
        processes = Processes("abcd", seed, repairs)
        processes.view("abcd", "abcd", "abcd")
        for _ in range(40):
            processes.flap()
        found.add(problem(processes.formed))
    assert found - {""}


@pytest.mark.parametrize("from_formed", [True, False])
def test_a_history_does_not_go_on_from_what_was_only_attempted(from_formed: bool) -> None:
    processes = Processes("abc", 0, Repairs(from_formed=from_formed))
    processes.view("abc", deciding="abc", forming="")
    processes.view("ab", deciding="a", forming="")
    assert (processes.cores["a"].stage == "refused") is from_formed
    processes.view("abc", "abc", "abc")
    assert all(core.primary for core in processes.cores.values())


def test_the_side_with_the_majority_goes_on_and_the_other_comes_back() -> None:
    processes = Processes("abc", 0)
    processes.view("abc", "abc", "abc")
    processes.view("ab", "ab", "ab")
    processes.view("c", "c", "")
    assert [core.primary for core in processes.cores.values()] == [True, True, False]
    assert processes.cores["c"].stage == "refused"

    processes.view("abc", "abc", "abc")
    assert all(core.primary for core in processes.cores.values())
    assert len({core.last for core in processes.cores.values()}) == 1


def test_a_majority_that_crashes_is_lost_until_an_operator_founds() -> None:
    processes = Processes("abc", 0)
    processes.view("abc", "abc", "abc")
    before = processes.cores["c"].last
    assert before is not None
    processes.restart("a")
    processes.restart("b")
    processes.view("abc", "abc", "")
    assert {core.stage for core in processes.cores.values()} == {"refused"}

    processes.cores["a"].found = True
    processes.view("abc", "abc", "abc")
    after = processes.cores["c"].last
    assert after is not None
    assert after.history != before.history
    assert after.number > before.number


def test_two_halves_that_have_never_met_found_nothing() -> None:
    processes = Processes("abcd", 0)
    processes.view("ab", "ab", "")
    processes.view("cd", "cd", "")
    processes.view("abc", "abc", "")
    assert not any(core.primary for core in processes.cores.values())


def test_what_is_not_enabled_changes_nothing() -> None:
    core = Primary(A, expected=2)
    with pytest.raises(NotEnabled, match="SetVotes"):
        core.handle(SetVotes(1))
    with pytest.raises(NotEnabled, match="AllHave"):
        core.handle(Form(frozenset((A, B))))
    assert (core.view, core.stage, core.attempts) == (NO_VIEW, "none", frozenset())

    view = ViewId(1, A)
    core.handle(InstallView(view, frozenset((A, B))))
    with pytest.raises(NotEnabled, match="INFO"):
        core.handle(Decide((Info(A, view, 1, False, None, frozenset()),)))
    assert core.stage == "asking"


def test_half_of_the_votes_needs_the_smallest_address() -> None:
    votes = ((A, 1), (B, 1), (C, 2))
    assert has_majority(votes, (A, B))
    assert not has_majority(votes, (C,))
    assert has_majority(votes, (B, C))
