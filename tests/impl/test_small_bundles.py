"""Groups with the smallest bundles: they merge, remember and refuse as others do (virtual time)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import WireError
from raincheck.impl.merge2.events import MergeId
from raincheck.impl.messages import Address, Digest, Payloads, View, ViewId
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import MERGES, StackConfig
from raincheck.impl.stack.merge_checks import too_many
from raincheck.impl.stack.primary_layer import FORMER
from raincheck.impl.wire.datagrams import LARGEST, Codec
from raincheck.impl.wire.headers import (
    DataHeader,
    Excluded,
    Fid,
    FlushCompleted,
    Header,
    MergeMessage,
    NewViewBody,
    PlacedView,
    UnicastHeader,
)
from raincheck.impl.wire.merge_bodies import InstallMergeView, Side

from .primary_judge import Judged, primary_config

SMALL = StackConfig(on_merge="callback", max_bundle=2048)
CODEC = Codec("raincheck", 2048)
PLACE = ("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 65_535)
FAR = 1 << 33


def delivered_once(group: Simulator, names: str) -> None:
    """Have each of these send, and all of them deliver it."""
    before = {name: group[name].messages for name in names}
    for name in names:
        group.send(name, [b"x"])
    group.run(0.5)
    assert {group[name].messages - before[name] for name in names} == {len(names)}


def test_a_group_of_sixteen_forms_merges_and_goes_on() -> None:
    names = "abcdefghijklmnop"
    group = Simulator(1, config=SMALL)
    group.start("a")
    group.run_until(lambda: group.in_one_view("a"))
    group.start(*names[1:])
    group.run_until(lambda: group.in_one_view(*names), 20.0)
    group.partition(names[:5], names[5:])
    parts = names[:5], names[5:]
    group.run_until(lambda: all(group.in_one_view(*part) for part in parts), 20.0)
    group.heal()
    group.run_until(lambda: group.in_one_view(*names), 20.0)
    delivered_once(group, names)
    assert not any(node.stack.counters["oversized"] for node in group.up)


def test_a_message_of_a_former_member_comes_once_however_small_bundles_are() -> None:
    config = primary_config(5, on_merge="callback", max_bundle=2048)
    group = Judged(5, config=config, with_state=False, link=Link(delay=(0.01, 0.01)))
    group.start(*"abcde", founders=True)
    group.run(1.0)
    group.send("d", [b"sequenced, and d does not know it"])
    group.run(0.015)
    group.partition("abce", "d")
    group.run_until(lambda: group.primary("abce"), 20.0)
    assert group["a"].messages == 1
    assert group["d"].stack.pending == 1
    group.partition("abc", "d", "e")  # e is the former member that was a member last
    group.run_until(lambda: group.primary("abc"), 20.0)
    group.heal()
    group.run_until(lambda: group.primary("abcde"), 20.0)
    group.run(1.0)
    assert group["d"].stack.pending == 0
    assert [group[name].messages for name in "abce"] == [1, 1, 1, 1]
    assert group.problems == []


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 64), st.integers(2, 220), st.integers(2, 16), st.sampled_from([0, FORMER]))
def test_what_is_said_of_a_merge_that_is_begun_fits_into_a_datagram(
    letters: int, count: int, sides: int, former: int
) -> None:
    members = [Address("x" * letters, FAR + n) for n in range(count)]
    parts = [tuple(members[n::sides]) for n in range(min(sides, count))]
    while too_many(parts, former):
        parts = [part[: max(1, 2 * len(part) // 3)] for part in parts]
    for header in _said(parts, former, "f" * 64):
        assert len(CODEC.encode(header)) <= LARGEST


def test_the_largest_group_of_short_names_has_188_members_and_of_long_ones_68() -> None:
    def most(letters: int) -> int:
        members = [Address("x" * letters, n) for n in range(400)]
        return next(
            n for n in range(1, 400) if too_many([members[: n // 2], members[n // 2 : n]], FORMER)
        )

    assert [most(letters) - 1 for letters in (1, 21, 64)] == [188, 120, 68]


def _said(parts: list[tuple[Address, ...]], former: int, name: str) -> list[Header]:
    """Messages of a merge of these sides, whose figures are all as long as they get."""
    members = tuple(sorted(member for part in parts for member in part))
    first, merge = members[0], MergeId(members[0], FAR)
    gone = tuple((Address(name, FAR + n), FAR) for n in range(former))
    made = []
    for part in parts:
        at = tuple((member, FAR) for member in part)
        places = tuple(PLACE for _ in part)
        made.append(
            Side(part[0], ViewId(FAR, part[0]), part, places, at, Digest(at), Digest(at), FAR)
            ._replace(delivered=gone)
        )  # fmt: skip
    view = View(ViewId(FAR, first), members)
    places = tuple(PLACE for _ in members)
    placed = PlacedView(view._replace(joiners=members[1:]), places, merge, tuple(made))
    digest = Digest(tuple((member, FAR) for member in members))
    bodies = (
        NewViewBody(placed),
        FlushCompleted(Fid(FAR, first, FAR), digest, (PlacedView(view, places), placed)),
    )
    install = InstallMergeView(merge, view, tuple(made))
    return [
        MergeMessage(first, first, FAR, FAR, "callback", install),
        *(UnicastHeader(first, first, 0, FAR, FAR, body) for body in bodies),
    ]


@pytest.mark.parametrize("other", [{"max_bundle": 4096}, {"max_message": 1 << 20}], ids=str)
def test_groups_whose_sizes_differ_do_not_merge_and_both_say_why(other: dict[str, Any]) -> None:
    group = Judged(2)  # a group with primary views gives way to nobody
    group.partition("a", "b")
    group.settings["b"] = other
    group.start("a", "b")
    group.run_until(lambda: group.in_one_view("a") and group.in_one_view("b"))
    group.heal()
    group.run(10.0)
    ((name, size),) = other.items()
    common = "'state' primary=majority expected_votes=2"
    for who, mine, theirs in (
        ("a", common, f"{common} {name}={size}"),
        ("b", f"{common} {name}={size}", common),
    ):
        said = [report.detail for report in group[who].dropped if report.reason == "merge_refused"]
        assert said
        assert f"has on_merge={theirs}, this group has {mine}; give all members" in said[0]
        assert group.in_one_view(who)
        assert group[who].left is None


def test_what_groups_compare_fits_into_its_field_whatever_they_have() -> None:
    for merges in MERGES[1:]:
        most = StackConfig(
            on_merge=merges, primary="majority", expected_votes=1_000_000, tie_breaker=False,
            delivery="safe", max_bundle=1 << 20, max_message=1 << 30,
        )  # fmt: skip
        a = Address("a", 0)
        notice = Excluded(a, a, View(ViewId(1, a), (a,)), most.merging)
        assert CODEC.decode(CODEC.encode(notice)).header == notice


def test_what_has_no_messages_may_be_larger_than_a_bundle_and_a_bundle_may_not() -> None:
    a = Address("a", 0)
    content = Payloads.pack([bytes(2048)])
    with pytest.raises(WireError) as refused:
        CODEC.decode(CODEC.encode(DataHeader(a, 1, a, 1, 1, ViewId(1, a), 1, 1), content))
    assert (refused.value.reason, "at most 2048" in refused.value.detail) == ("oversized", True)
    members = tuple(Address("x" * 64, n) for n in range(500))
    notice = Excluded(a, a, View(ViewId(1, members[0]), members))
    assert 2048 < len(CODEC.encode(notice)) <= LARGEST
    assert CODEC.decode(CODEC.encode(notice)).header == notice
