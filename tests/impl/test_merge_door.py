"""What other coordinators may say of a merge, and who is not heard (docs/protocols/merge2.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raincheck.impl.merge2.events import MergeId
from raincheck.impl.messages import Address, Digest, Endpoint, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.merge2_layer import Merge2Layer
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import JoinHint, MergeMessage
from raincheck.impl.wire.merge_bodies import (
    InstallMergeView,
    MergeBody,
    MergeCancel,
    MergeInstalled,
    MergeReq,
    MergeResume,
    MergeRsp,
    Side,
)

CODEC = Codec("raincheck", 60_000)
B, C, D = (Address(name, 0) for name in "bcd")
OTHER, LATER = Address("a", 7), Address("x", 7)
"""Coordinators of other groups: one that would lead a merge with b's group, one that would not."""
PLACE: Endpoint = ("10.9.9.9", 7000)
MERGE = MergeId(OTHER, 1)


def side(who: Address, view: int = 5, **fields: Any) -> Side:
    """A group of one at its cut."""
    bundles = Digest(((who, 4),))
    made = Side(who, ViewId(view, who), (who,), (PLACE,), ((who, 3),), Digest(), bundles, 9)
    return made._replace(**fields)


class Door:
    """A group b, c, d, and somebody outside who sends to b."""

    def __init__(self, **config: Any) -> None:
        self.group = Simulator(1, config=StackConfig(**{"on_merge": "callback"} | config))
        self.group.start("b", "c", "d", founders=True)
        self.group.send("c", [b"x"] * 3)
        self.group.run(0.3)
        self.stack = self.group["b"].stack

    @property
    def core(self) -> Any:
        """MERGE2's core of b."""
        return self.stack._group.find(Merge2Layer).core

    def says(
        self,
        body: MergeBody,
        source: Address = OTHER,
        *,
        place: Endpoint = PLACE,
        proved: bool = True,
        merges: str = "callback",
    ) -> list[Any]:
        """Somebody sends that; return what b answers there."""
        cookie = self.stack._ground.cookies.merger(source, place) if proved else 0
        message = MergeMessage(source, B, cookie, 77, merges, body)
        self.stack.receive([(CODEC.encode(message), place)], self.group.now)
        answers = []
        for out in self.stack.poll_datagrams():
            if place in out.to:
                answers.append(CODEC.decode(out.data)[0])
            else:
                self.group._transmit(self.group["b"], out)
        self.group._settle(self.group["b"])
        return answers

    def refused(self) -> list[str]:
        """What was refused so far, as it is reported."""
        self.group.run(1.1)
        return [r.detail for r in self.group["b"].dropped if r.reason == "merge_refused"]

    def goes_on(self) -> None:
        """The group is as before, and delivers."""
        self.group.run(6.0)
        assert self.group.in_one_view("b", "c", "d")
        before = self.group["d"].messages
        self.group.send("c", [b"after"] * 2)
        self.group.run(0.3)
        assert self.group["d"].messages == before + 2

    def answered(self) -> Side:
        """Have b's side flushed for a merge that a stranger leads; return its answer."""
        self.says(MergeReq(MERGE))
        self.group.run(0.05)
        cut = self.stack._group.find(Merge2Layer)._cut
        assert cut is not None
        return cut


def test_who_has_not_proved_its_place_is_given_a_cookie_and_nothing_else() -> None:
    door = Door()
    [hint] = door.says(MergeReq(MERGE), proved=False)
    assert isinstance(hint, JoinHint)
    assert (hint.question, hint.cookie) == (77, door.stack._ground.cookies.merger(OTHER, PLACE))
    assert door.core.stage == "idle"
    request = MergeMessage(OTHER, B, 0, 77, "callback", MergeReq(MERGE))
    assert len(CODEC.encode(hint)) <= len(CODEC.encode(request))
    door.goes_on()


def test_a_cookie_of_another_place_is_none() -> None:
    door = Door()
    cookie = door.stack._ground.cookies.merger(OTHER, PLACE)
    message = MergeMessage(OTHER, B, cookie, 77, "callback", MergeReq(MERGE))
    door.stack.receive([(CODEC.encode(message), ("10.9.9.8", 7000))], door.group.now)
    assert door.core.stage == "idle"


def test_a_group_that_does_not_merge_refuses_and_says_why() -> None:
    door = Door(on_merge="leave")
    assert door.says(MergeReq(MERGE)) == []
    [said] = door.refused()
    assert said == (
        "a.7 has on_merge='callback', this group has 'leave'; give all members of both the same"
    )
    door.goes_on()


def test_who_is_not_admitted_does_not_merge() -> None:
    door = Door(admit=["10.0.0.0/24"])
    assert door.says(MergeReq(MERGE)) == []
    assert door.refused() == ["a.7 is not admitted"]
    door.goes_on()


def test_a_message_in_a_members_name_must_come_from_its_place() -> None:
    door = Door()
    assert door.says(MergeReq(MergeId(C, 1)), C) == []
    assert door.stack.counters["forged"] == 1
    door.goes_on()


@pytest.mark.parametrize(
    ("body", "source", "why"),
    [
        (MergeReq(MergeId(LATER, 1)), OTHER, "MERGE_REQ of a merge that x.7 leads"),
        (MergeReq(MergeId(LATER, 1)), LATER, "MERGE_REQ of a merge that x.7 leads"),
        (MergeRsp(MergeId(B, 1), side(LATER)), OTHER, "a side whose coordinator is x.7"),
        (
            MergeRsp(
                MergeId(B, 1),
                side(
                    OTHER,
                    members=(OTHER, C),
                    places=(PLACE, PLACE),
                    bundles=Digest(((OTHER, 4), (C, 2))),
                ),
            ),
            OTHER,
            "a side with c.0, who is a member here",
        ),
        (
            MergeRsp(MergeId(B, 1), side(OTHER, digest=Digest(((D, 4),)))),
            OTHER,
            "a side that speaks for processes that are not its members",
        ),
        (
            MergeRsp(MergeId(B, 1), side(OTHER, clock=1 << 50)),
            OTHER,
            f"a side with the view 5 and the clock {1 << 50}",
        ),
        (
            MergeRsp(MergeId(B, 1), side(OTHER, view=1 << 50)),
            OTHER,
            f"a side with the view {1 << 50}",
        ),
        (
            MergeRsp(MergeId(B, 1), side(OTHER, bundles=Digest(((OTHER, 4), (OTHER, 5))))),
            OTHER,
            "a side with two digests of a member",
        ),
    ],
)
def test_what_cannot_be_true_is_refused_counted_and_named(
    body: MergeBody, source: Address, why: str
) -> None:
    door = Door()
    door.says(body, source)
    assert door.stack.counters["merge_refused"] == 1
    [said] = door.refused()
    assert said.startswith(f"{source} sent {why}")
    assert door.core.stage == "idle"
    door.goes_on()


def installation(mine: Side, **fields: Any) -> InstallMergeView:
    """The merged view of b's side and a stranger's."""
    theirs = side(OTHER)
    number = max(mine.view.counter, theirs.view.counter) + 1
    members = tuple(sorted((*mine.members, OTHER)))
    body = InstallMergeView(MERGE, View(ViewId(number, OTHER), members), (theirs, mine))
    return InstallMergeView(MERGE, fields.get("view", body.view), fields.get("sides", body.sides))


def test_a_merged_view_that_is_true_is_installed() -> None:
    """So that what follows is refused for what is wrong with it, and for nothing else."""
    door = Door()
    mine = door.answered()
    door.says(installation(mine))
    door.group.run(0.1)
    assert door.stack.view is not None
    assert OTHER in door.stack.view.members
    assert door.stack.counters["merge_refused"] == 0


def lies(mine: Side) -> dict[str, InstallMergeView]:
    """Merged views that cannot be, and what is said of them."""
    good = installation(mine)
    ours, theirs = mine, side(OTHER)
    return {
        "otherwise than it has answered": installation(
            mine, sides=(theirs, ours._replace(bundles=Digest(((B, 9), (C, 9), (D, 9)))))
        ),
        "without its leader's side": installation(mine, sides=(side(LATER), ours)),
        "not those of its sides": installation(
            mine, view=good.view._replace(members=(OTHER, *mine.members[:2]))
        ),
        "with the id 99": installation(mine, view=good.view._replace(id=ViewId(99, OTHER))),
        "that are not its members": installation(
            mine, sides=(theirs._replace(table=((C, 99),)), ours)
        ),
        "not of its members": installation(mine, sides=(theirs._replace(bundles=Digest()), ours)),
    }


@pytest.mark.parametrize("why", lies(side(B)))
def test_a_merged_view_that_cannot_be_is_not_installed(why: str) -> None:
    door = Door()
    mine = door.answered()
    assert door.core.stage == "answered"
    door.says(lies(mine)[why])
    assert why in " ".join(door.refused())
    assert door.stack.view is not None
    assert door.stack.view.id.counter == 1
    door.goes_on()  # its leader says no more, so it is given up


@pytest.mark.parametrize(
    "body",
    [MergeResume(MERGE), MergeCancel(MERGE), MergeInstalled(MERGE, True), MergeRsp(MERGE, None)],
)
def test_messages_of_no_merge_that_is_known_change_nothing(body: MergeBody) -> None:
    door = Door()
    door.says(body)
    assert door.core.stage == "idle"
    door.goes_on()


def test_a_merge_that_was_given_up_is_not_begun_again_by_a_replay() -> None:
    door = Door()
    door.answered()
    door.goes_on()
    [rejection] = door.says(MergeReq(MERGE))
    assert rejection.body == MergeRsp(MERGE, None)
    door.goes_on()


def test_a_leader_that_is_there_and_never_decides_is_given_up_in_the_end() -> None:
    door = Door(flush_timeout=2.0, application_timeout=1.0)
    door.answered()
    for _ in range(100):
        door.says(MergeReq(MERGE))
        door.group.run(0.1)
    assert door.core.stage == "idle"
    door.goes_on()


def test_what_is_kept_of_strangers_is_bounded() -> None:
    door = Door()
    for number in range(500):
        who = Address(f"{'as'[number % 2]}{number}", 0)
        place = (f"10.8.{number // 250}.{number % 250}", 7000)
        door.says(MergeReq(MergeId(who, 1)), who, place=place)
        door.says(MergeInstalled(MergeId(who, 1), True), who, place=place)
    layer = door.stack._group.find(Merge2Layer)
    kept = (layer.found, layer.coordinators, layer._sides, layer._heard)
    assert max(map(len, kept)) <= 65
    door.goes_on()


def test_replacing_a_setting_keeps_the_policy_in_the_fingerprint() -> None:
    assert "on_merge=callback" in replace(StackConfig(), on_merge="callback").fingerprint
