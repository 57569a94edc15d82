"""The answers of node-local handlers."""

from raincheck.model.machine.machine import Accepted, Conjunct, Refused, refusal


def test_a_refusal_names_the_false_conjuncts_only():
    answer = refusal(
        (True, "resend = {}", {"resend": ()}),
        (False, 'status = "member"', {"status": "left"}),
        (False, "view > 0", {"view": 0}),
    )

    assert answer == Refused(
        (Conjunct('status = "member"', {"status": "left"}), Conjunct("view > 0", {"view": 0}))
    )


def test_a_guard_that_holds_refuses_nothing():
    assert refusal((True, "TRUE", {})) is None
    assert refusal() is None
    assert Accepted(3).outputs == ()
