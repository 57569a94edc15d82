"""MERGE2's model: what each handler does, and that promises break where a rule is taken back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.merge2.events import (
    INPUTS,
    NO_MERGE,
    Answer,
    Decide,
    Finish,
    Flushed,
    Install,
    InstallView,
    Merge,
    MergeId,
    ReceiveCancel,
    ReceiveFound,
    ReceiveInstalled,
    ReceiveInstallMergeView,
    ReceiveKnown,
    ReceiveMergeReq,
    ReceiveMergeRsp,
    ReceiveResume,
    Resend,
    Resume,
    SendCancel,
    SendFound,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    SideInstalled,
    Suspect,
    Suspend,
    Suspended,
    View,
    ViewId,
)
from raincheck.model.merge2.handlers import HANDLERS, Local, Rules
from raincheck.model.merge2.system import machine

RULES = Rules()
M = MergeId("a", 1)
OTHER = MergeId("z", 1)
OF_A = Answer("a", 3, frozenset("a"), (("a", 5), ("b", 0), ("c", 0)))
OF_B = Answer("b", 7, frozenset("bc"), (("a", 0), ("b", 2), ("c", 4)))
DIGEST = (("a", 5), ("b", 2), ("c", 4))
MERGED = View(ViewId(8, "a"), ("a", "b", "c"), M)
ALONE = View(ViewId(3, "a"), ("a",))
PAIR = View(ViewId(7, "b"), ("b", "c"))
A = Local("a", ALONE, True, frozenset("a"))
B = Local("b", PAIR, True, frozenset("bc"))
CASES = {case.name: case for case in load_cases() if case.protocol == "merge2"}


def after(me: Local, *events: Any, rules: Rules = RULES) -> tuple[Local, tuple[Any, ...]]:
    """The local state and the outputs of the last event."""
    outputs: tuple[Any, ...] = ()
    for event in events:
        answer = HANDLERS[type(event).__name__](rules, me, event)
        assert isinstance(answer, Accepted), answer
        me, outputs = answer
    return me, outputs


def refused(me: Local, event: Any, rules: Rules = RULES) -> list[str]:
    answer = HANDLERS[type(event).__name__](rules, me, event)
    assert isinstance(answer, Refused)
    return [conjunct.text for conjunct in answer.conjuncts]


def leading() -> Local:
    """The leader, with its own answer."""
    return after(A, Merge(frozenset("b"), 1, True), Flushed(OF_A.members, OF_A.digest))[0]


def answered() -> Local:
    """The other coordinator, which has answered."""
    return after(B, ReceiveMergeReq("a", M), Flushed(OF_B.members, OF_B.digest))[0]


def decided() -> Local:
    """The leader, once it has decided."""
    return after(leading(), ReceiveMergeRsp("b", M, OF_B), Decide())[0]


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_the_first_by_address_leads_and_another_one_tells_it() -> None:
    me, outputs = after(A, Merge(frozenset("b"), 1, False))
    assert outputs == (SendMergeReq("b", M), Suspend())
    assert (me.stage, me.merge, me.waiting) == ("flushing", M, frozenset("ab"))

    assert after(B, Merge(frozenset("a"), 1, False)) == (B, (SendFound("a"),))
    assert refused(B, Merge(frozenset("a"), 1, True)) == ["n \\notin known[l]"]
    assert after(A, ReceiveFound("b"))[0].known == frozenset("ab")
    assert after(B, ReceiveKnown("c", frozenset("az")))[0].known == frozenset("abcz")


def test_a_coordinator_takes_part_in_one_merge_at_a_time() -> None:
    me, outputs = after(B, ReceiveMergeReq("a", M))
    assert outputs == (Suspend(),)
    assert after(me, ReceiveMergeReq("a", M)) == (me, ())
    rejection = (SendMergeRsp("z", OTHER, None),)
    assert after(me, ReceiveMergeReq("z", OTHER)) == (me, rejection)
    assert after(B._replace(coordinates=False), ReceiveMergeReq("z", OTHER))[1] == rejection


def test_the_answer_is_the_side_at_its_cut() -> None:
    me, outputs = after(B, ReceiveMergeReq("a", M), Flushed(OF_B.members, OF_B.digest))
    assert outputs == (SendMergeRsp("a", M, OF_B), Suspended(M))
    assert me.stage == "answered"
    assert leading().answers == {OF_A}
    assert leading().waiting == frozenset("b")


def test_the_merged_view_has_the_largest_number_plus_one_and_all_that_were_there() -> None:
    me, outputs = after(leading(), ReceiveMergeRsp("b", M, OF_B), Decide())
    assert outputs == (SendInstallMergeView("b", M, MERGED, DIGEST), Install(MERGED, DIGEST))
    assert (me.stage, me.waiting) == ("installing", frozenset("ab"))


def test_a_leader_without_anybody_else_goes_on_as_before() -> None:
    me, outputs = after(leading(), ReceiveMergeRsp("b", M, None), Decide())
    assert outputs == (Resume(),)
    assert me == A


def test_all_go_on_together_once_all_sides_have_the_view() -> None:
    b, outputs = after(answered(), ReceiveInstallMergeView("a", M, MERGED, DIGEST))
    assert outputs == (Install(MERGED, DIGEST),)
    b, outputs = after(b, InstallView(MERGED), SideInstalled())
    assert outputs == (SendInstalled("a", M, True),)
    assert (b.stage, b.coordinates) == ("installed", False)

    a, _ = after(decided(), InstallView(MERGED), SideInstalled())
    assert refused(a, Finish()) == ["waiting[n] = {}"]
    a, outputs = after(a, ReceiveInstalled("b", M, True), Finish())
    assert outputs == (SendResume("b", M), Resume())
    assert (a.stage, a.merge, a.coordinates) == ("idle", NO_MERGE, True)

    b, outputs = after(b, ReceiveResume("a", M))
    assert outputs == (Resume(),)
    assert b.stage == "idle"


def test_a_view_of_another_merge_than_the_members_own_ends_its_part() -> None:
    own = View(ViewId(8, "b"), ("b",))
    assert after(answered(), InstallView(own))[0].stage == "idle"
    asked, _ = after(B, ReceiveMergeReq("a", M))
    assert after(asked, InstallView(own))[0].stage == "flushing"


def test_who_gives_a_merge_up_says_so_and_stays_out_of_it() -> None:
    me, outputs = after(answered(), Suspect("a"))
    assert outputs == (SendMergeRsp("a", M, None), Resume())
    assert (me.stage, me.entered) == ("idle", frozenset({M}))
    assert after(me, ReceiveMergeReq("a", M))[1] == (SendMergeRsp("a", M, None),)
    later = MergeId("a", 2)
    assert after(me, ReceiveMergeReq("a", later))[0].merge == later
    installation = ReceiveInstallMergeView("a", M, MERGED, DIGEST)
    assert after(me, installation) == (me, (SendInstalled("a", M, False),))

    assert after(leading(), Suspect("b"))[1] == (SendCancel("b", M),)
    assert refused(B, Suspect("a")) == [
        "merge[n][1] = p",
        'stage[n] \\in {"flushing", "answered"}',
    ]


def test_whoever_has_taken_part_in_a_merge_never_enters_it_again() -> None:
    again, rejection = ReceiveMergeReq("a", M), (SendMergeRsp("a", M, None),)
    cancelled, _ = after(answered(), ReceiveCancel("a", M))
    left, _ = after(answered(), InstallView(View(ViewId(8, "b"), ("b",))))
    merged, _ = after(answered(), ReceiveInstallMergeView("a", M, MERGED, DIGEST))
    merged, _ = after(merged, InstallView(MERGED), SideInstalled(), ReceiveResume("a", M))
    for me in (cancelled, left, merged._replace(coordinates=True)):
        assert me.stage == "idle"
        assert after(me, again) == (me, rejection)
        assert after(me, again, rules=Rules(stays_out=False))[1] == (Suspend(),)

    later, _ = after(left, ReceiveMergeReq("a", MergeId("a", 2)), Suspect("a"))
    assert after(later, again)[1] == rejection
    assert after(later, ReceiveMergeReq("z", OTHER))[1] == (Suspend(),)


def test_who_waits_in_a_merged_view_enters_no_other_merge() -> None:
    begins, asked = Merge(frozenset("d"), 2, True, True), ReceiveMergeReq("z", OTHER, True)
    waits = A._replace(view=MERGED)
    assert refused(waits, begins) == ["AfterResume => ~Stands(n)"]
    assert after(waits, asked) == (waits, (SendMergeRsp("z", OTHER, None),))

    early = Rules(after_resume=False)
    assert after(waits, begins, rules=early)[0].stage == "flushing"
    assert after(waits, asked, rules=early)[0].merge == OTHER


def test_cancel_frees_a_side_unless_it_has_the_view() -> None:
    me, outputs = after(answered(), ReceiveCancel("a", M))
    assert (me.stage, outputs) == ("idle", (Resume(),))

    holds, _ = after(answered(), ReceiveInstallMergeView("a", M, MERGED, DIGEST))
    me, outputs = after(holds, ReceiveCancel("a", M))
    assert (me.stage, outputs) == ("cancelled", ())
    assert after(me, ReceiveCancel("a", M)) == (me, ())
    me, outputs = after(me, InstallView(MERGED), SideInstalled())
    assert (me.stage, outputs) == ("idle", ())
    assert after(B, ReceiveCancel("a", M)) == (B, ())


def test_what_comes_after_a_merge_is_over_is_answered() -> None:
    assert after(A, ReceiveMergeRsp("b", M, OF_B)) == (A, (SendCancel("b", M),))
    assert after(A, ReceiveMergeRsp("b", M, None)) == (A, ())
    assert after(A, ReceiveInstalled("b", M, True)) == (A, (SendCancel("b", M),))
    assert after(A, ReceiveInstalled("b", M, False)) == (A, ())
    done = A._replace(view=MERGED)
    assert after(done, ReceiveInstalled("b", M, True)) == (done, (SendResume("b", M),))
    assert after(A, ReceiveResume("b", M)) == (A, ())


def test_what_is_not_answered_is_sent_again() -> None:
    again_a, again_b = Resend(OF_A.members, OF_A.digest), Resend(OF_B.members, OF_B.digest)
    assert after(leading(), again_a)[1] == (SendMergeReq("b", M),)
    assert after(decided(), again_a)[1] == (SendInstallMergeView("b", M, MERGED, DIGEST),)
    assert after(answered(), again_b)[1] == (SendMergeRsp("a", M, OF_B),)
    assert refused(B, again_b) == ["Unanswered(n) # {}"]


def test_as_the_text_has_it_one_that_does_not_lead_waits() -> None:
    text = Rules(leader_begins=False, condition="literal")
    me, outputs = after(B, Merge(frozenset("a"), 1, False), rules=text)
    assert (me.stage, outputs) == ("waiting", ())
    assert after(me, ReceiveMergeReq("a", M), rules=text)[0].stage == "flushing"
    assert after(B, ReceiveMergeReq("a", M), rules=text)[1] == (SendMergeRsp("a", M, None),)


@pytest.mark.parametrize(
    ("case", "rule", "broken"),
    [
        ("merge2-f3-repaired", "install_acks", "AcksBeforeResume"),
        ("merge2-f4-repaired", "flush", "SameMessages"),
        ("merge2-f8-repaired", "answered", "MembersAreThere"),
        ("merge2-f12-repaired", "promotes", "OneCoordinator"),
    ],
)
def test_a_promise_breaks_where_its_rule_is_taken_back(case: str, rule: str, broken: str) -> None:
    system = machine(CASES[case].constants)
    found = explore(system, invariants=system.invariants)
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (CASES[case].distinct, CASES[case].depth)

    system.rules = dataclasses.replace(system.rules, **{rule: False})
    assert explore(system, invariants={broken: system.invariants[broken]}).violation is not None
