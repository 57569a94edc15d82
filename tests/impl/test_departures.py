"""Each member is told with a view who is no longer in it, and why."""

import pytest

from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.departures import LEFT, UNKNOWN, Departures
from raincheck.impl.stack.reports import ViewInstalled

A, B, C = (Address(node, 0) for node in "abc")


def view(counter: int, *members: Address, joiners: tuple[Address, ...] = ()) -> View:
    return View(ViewId(counter, members[0]), members, joiners)


@pytest.fixture
def group() -> Simulator:
    group = Simulator(1)
    group.start("a", "b", "c", "d", founders=True)
    group.run(0.1)
    return group


def departures(group: Simulator, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """What each member's views say, from now on."""
    seen: dict[str, list[object]] = {}
    reported = group._reported

    def report(node: object, what: object) -> None:
        if isinstance(what, ViewInstalled):
            seen.setdefault(node.name, []).append(what.departures)  # type: ignore[attr-defined]
        reported(node, what)  # type: ignore[arg-type]

    monkeypatch.setattr(group, "_reported", report)
    return seen


def test_who_leaves_is_named_as_one_that_has_left_by_all(
    group: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = departures(group, monkeypatch)
    group.leave("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    assert seen == {name: [((Address("d", 0), LEFT),)] for name in "abc"}


def test_who_is_silent_is_named_with_that_reason_by_all(
    group: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = departures(group, monkeypatch)
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c", "d"))
    assert seen == {name: [((A, "silent for too long"),)] for name in "bcd"}


def test_who_comes_back_as_another_incarnation_is_named_so(
    group: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = departures(group, monkeypatch)
    group.crash("d")
    group.restart("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    named = [each for views in (seen[name] for name in "abc") for view in views for each in view]
    assert named == [(Address("d", 0), "it is back as d.1")] * 3


def test_the_leaders_word_goes_before_ones_own() -> None:
    reasons = Departures()
    reasons.note(B, "silent for too long")
    reasons.learn(ViewId(2, A), [(B, LEFT)])
    assert reasons.between(view(1, A, B, C), view(2, A, C)) == ((B, LEFT),)


def test_who_was_heard_again_is_not_named_with_an_old_reason() -> None:
    reasons = Departures()
    reasons.note(B, "silent for too long")
    reasons.forget(B)
    assert reasons.between(view(1, A, B), view(2, A)) == ((B, UNKNOWN),)
    reasons.note(B, LEFT)
    reasons.forget(B)
    assert reasons.between(view(1, A, B), view(2, A)) == ((B, LEFT),)


def test_reasons_are_kept_for_members_only() -> None:
    reasons = Departures()
    reasons.note(B, "silent for too long")
    reasons.learn(ViewId(2, A), [(B, "silent for too long")])
    reasons.installed(view(2, A, C))
    assert not reasons._here
    assert not reasons._sent
