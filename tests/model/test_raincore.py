"""The model of Raincore: its counts are TLC's, and each repair is needed."""

from typing import Any

import pytest

from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.model.machine.explore import explore, walks
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.raincore import events as ev
from raincheck.model.raincore.events import Call911, Epoch, Token
from raincheck.model.raincore.handlers import HANDLERS, INPUTS, SEED, Local, Rules, first_token
from raincheck.model.raincore.state import Constants, Spent, State
from raincheck.model.raincore.system import RaincoreSystem, machine

A, B, C = (Address(name, 0) for name in "abc")
RING = (A, B, C)


CASES = [case for case in load_cases() if case.protocol == "raincore"]


def _name(case: Case) -> str:
    return case.name


SMALL = [c for c in CASES if c.tier == "quick" and (c.distinct or 9999) <= 900]
VIOLATED = [c for c in CASES if c.tier == "quick" and c.expected not in ("holds", "live")]


@pytest.mark.parametrize("case", SMALL, ids=_name)
def test_the_model_has_as_many_states_as_tlc_counts(case: Case) -> None:
    system = machine(case.constants)
    known = system.invariants
    asked = {name: known[name] for name in case.properties if name in known}
    assert asked
    found = explore(system, invariants=asked)

    assert (found.complete, len(found.graph)) == (True, case.distinct)
    assert found.violation is None
    assert found.depth == case.depth


@pytest.mark.parametrize("case", VIOLATED, ids=_name)
def test_the_model_finds_what_tlc_finds(case: Case) -> None:
    system = machine(case.constants)
    if case.expected not in system.invariants:
        pytest.skip("a property of progress")
    asked = {case.expected: system.invariants[case.expected]}
    assert explore(system, invariants=asked).violation is not None


def ring(rules: Rules = Rules(), **more: Any) -> RaincoreSystem:  # noqa: B008 - a constant
    given: dict[str, Any] = {
        "max_attempts": 2,
        "max_epoch": 2,
        "max_seq": 6,
        "keep_fences": True,
        **more,
    }
    return RaincoreSystem(Constants(("a", "b", "c"), ("a", "b", "c"), rules, **given))


def violated(system: RaincoreSystem, *names: str) -> set[str]:
    """Which of these are false in some state."""
    found = explore(system, invariants={})
    assert found.complete
    return {n for n in names if not all(map(system.invariants[n], found.graph.states))}


ONE_CRASH: dict[str, Any] = {"crashers": frozenset("b"), "most": Spent(crashes=1)}
EARLY: dict[str, Any] = {"patient": False, "most": Spent(early=1), "max_attempts": 1}
FALSE: dict[str, Any] = {
    "truthful": False,
    "arrives_after_failure": True,
    "most": Spent(false=1),
    "max_seq": 4,
}
SAFE = ("ConsistentHistory", "OneLock", "FenceUnique", "SevenStates", "AgreedOrder", "NoHoles")


def test_a_crash_as_written_breaks_nothing_but_the_fence() -> None:
    assert violated(ring(SEED, **ONE_CRASH), *SAFE, "OneEater", "Lemma32", "Lemma33") == {
        "FenceUnique"
    }


def test_one_time_out_too_early_makes_two_eat_as_written() -> None:
    system = ring(SEED, **EARLY, max_seq=4, max_epoch=1)
    assert "OneEater" in violated(system, "OneEater")


def test_one_time_out_too_early_does_no_harm_repaired() -> None:
    system = ring(**EARLY, max_seq=4, max_epoch=1)
    assert violated(system, *SAFE, "OneEater", "OneLiveToken") == set()


def test_a_false_failure_makes_two_locks_as_written() -> None:
    assert "OneLock" in violated(ring(SEED, **FALSE), "OneLock")


def test_the_seven_pairs_of_states_are_all_reached_and_no_other() -> None:
    found: set[tuple[str, str]] = set()
    for path in walks(ring(**{**ONE_CRASH, "max_seq": 99}), 1, 20, 60):
        for step in path.steps:
            members = (me for me in step.target.locals if me.up == "up")
            found |= {(me.token_state, me.view_state) for me in members}
    assert len(found) == 7
    assert found.isdisjoint({("starving", "agreement"), ("starving", "reserve")})


def test_every_input_has_a_handler() -> None:
    assert set(INPUTS) == set(HANDLERS)
    assert {*ev.ARRIVES.values(), *ev.FAILS.values()} <= set(INPUTS)


TOKEN = first_token(Rules(), RING)._replace(seq=4, seen=frozenset(RING))
EATS = Local(A, "up", "agreement", "eating", last_token=TOKEN)


def hungry(me: Address, **more: Any) -> Local:
    return Local(me, "up", "agreement", "hungry", last_token=TOKEN)._replace(**more)


def call(orig: Address, **more: Any) -> Call911:
    made = Call911(B, orig, orig, RING, TOKEN.epoch, TOKEN.seq, attempt=1)
    return made._replace(**more)


def answer(me: Local, event: Any, rules: Rules | None = None) -> Accepted[Local, ev.Output]:
    found = HANDLERS[type(event).__name__](rules or Rules(), me, event)
    assert isinstance(found, Accepted)
    return found


@pytest.mark.parametrize(
    ("me", "event", "false"),
    [
        (hungry(A), ev.EatingTimeout(), ['tokenState[n] = "eating"']),
        (EATS, ev.HungryTimeout(), ['tokenState[n] = "hungry"']),
        (EATS, ev.StarvingTimeout(), ['tokenState[n] = "starving"']),
        (EATS._replace(up="down"), ev.ReceiveToken(TOKEN), ['up[n] = "up"']),
        (EATS, ev.Recover(), ['up[n] = "down"']),
        (EATS, ev.Initialise("founder", RING, ()), ['up[n] = "new"']),
        (Local(A), ev.Initialise("joiner", RING, ()), ['role = "joiner" => contacts # <<>>']),
        (EATS._replace(leaving=True), ev.Multicast(), ["~leaving[n]"]),
        (hungry(A), ev.TokenDelivered(), ["n \\notin Range(lastToken[n].nodelist)"]),
    ],
)
def test_a_refusal_names_what_is_false(me: Local, event: Any, false: list[str]) -> None:
    found = HANDLERS[type(event).__name__](Rules(), me, event)
    assert isinstance(found, Refused)
    assert [conjunct.text for conjunct in found.conjuncts] == false


def _next(**more: Any) -> ev.ReceiveToken:
    return ev.ReceiveToken(TOKEN._replace(to=B, seq=5)._replace(**more))


def test_a_token_that_is_not_newer_is_dropped() -> None:
    me = hungry(B)
    assert answer(me, _next(seq=4)) == Accepted(me)
    assert answer(me, _next(nodelist=(A, C))) == Accepted(me), "it is not on the list"
    promised = me._replace(promised=Epoch(1, C))
    assert answer(promised, _next()) == Accepted(promised)
    assert answer(me, _next()).local.token_state == "eating"


def test_who_eats_gives_up_an_older_epoch_only() -> None:
    me = EATS._replace(me=B)
    assert answer(me, _next()) == Accepted(me)
    assert answer(me, _next(epoch=Epoch(1, C))).local.last_token.epoch == Epoch(1, C)


def test_a_holder_says_no_and_as_written_lets_it_pass() -> None:
    (no,) = answer(EATS._replace(me=B), ev.Receive911(call(C))).outputs
    assert isinstance(no, Call911)
    assert (no.status, no.to) == ("no", C)
    seed = EATS._replace(me=B, global_view=(RING,))
    (passed,) = answer(seed, ev.Receive911(call(C)), SEED).outputs
    assert isinstance(passed, Call911)
    assert (passed.status, passed.to) == ("yes", C)


def test_a_claim_is_granted_once() -> None:
    claim = call(C, phase="claim", claim=Epoch(1, C), granted=frozenset({C}))
    granted = answer(hungry(B), ev.Receive911(claim))
    (passed,) = granted.outputs
    assert isinstance(passed, Call911)
    assert (passed.granted, granted.local.promised) == (frozenset({B, C}), Epoch(1, C))
    (no,) = answer(granted.local, ev.Receive911(claim)).outputs
    assert isinstance(no, Call911)
    assert (no.status, no.promised) == ("no", Epoch(1, C))


def test_a_claim_that_was_given_up_for_another_counts_no_more() -> None:
    wanted = Epoch(1, B)
    me = hungry(B, token_state="starving", attempt=1, phase="claim", wanted=wanted)
    own = call(B, to=B, phase="claim", claim=wanted, granted=frozenset(RING))
    assert answer(me._replace(promised=wanted), ev.Receive911(own)).local.token_state == "eating"
    late = me._replace(promised=Epoch(2, C))
    assert answer(late, ev.Receive911(own)) == Accepted(late)


def test_a_stranger_is_queued_once() -> None:
    stranger = Address("d", 0)
    asks = call(stranger, nodelist=(), seq=0)
    me = answer(hungry(B), ev.Receive911(asks)).local
    assert me.new_nodes == (stranger,)
    assert answer(me, ev.Receive911(asks)) == Accepted(me)


def test_a_911_in_answer_to_nobody_is_dropped() -> None:
    me = hungry(B)
    assert answer(me, ev.Undelivered911(call(C, to=C))) == Accepted(me)
    assert answer(me, ev.Undelivered911(call(C, to=A, status="no"))) == Accepted(me)
    assert answer(me, ev.Undelivered911(call(C, to=A, nodelist=()))) == Accepted(me)


def test_who_has_failed_to_answer_is_passed_over() -> None:
    (passed,) = answer(hungry(A), ev.Undelivered911(call(A, to=B))).outputs
    assert isinstance(passed, Call911)
    assert passed.to == C


def test_a_constant_that_is_missing_is_named() -> None:
    constants = dict(CASES[0].constants)
    del constants["SeenByAll"]
    with pytest.raises(ValueError, match="SeenByAll"):
        machine(constants)


def test_a_planted_fault_is_found() -> None:
    """Two members in the same state of holding: both kinds of exclusion are broken."""
    system = ring()
    (state,) = system.initial()
    both = State((EATS, EATS._replace(me=B), hungry(C)), state.side)
    broken = {name for name, holds in system.invariants.items() if not holds(both)}
    assert broken == {"OneEater", "OneLock", "OneLiveToken"}
    assert isinstance(TOKEN, Token)


def test_who_starved_trusts_the_list_one_visit_later() -> None:
    chaos = hungry(B, view_state="chaos")
    assert answer(chaos, _next()).local.view_state == "reserve"
    starved = chaos._replace(token_state="starving")
    assert answer(starved, _next()).local.view_state == "chaos"


def test_who_reserves_waits_for_all_of_a_new_epoch() -> None:
    reserves = hungry(B, view_state="reserve", reserved=1)
    early = answer(reserves, _next(epoch=Epoch(1, A), seen=frozenset({A})))
    assert early.local.view_state == "reserve"
    assert not [o for o in early.outputs if isinstance(o, ev.Committed)]
    late = answer(reserves, _next(epoch=Epoch(1, A), seen=frozenset({A, C})))
    assert ev.Committed(1, RING) in late.outputs
    assert late.local.view_state == "agreement"


def test_a_hole_is_filled_only_by_who_stayed_and_once_all_know() -> None:
    told = {"global_view_number": 3, "nodelist": (A, B), "seen": frozenset({A})}
    gap = hungry(B, view_state="chaos")
    only_settled = _next(**told, settled=ev.Settled(2, RING))
    # It is the last to hold (A, B): that is settled now, and RING was so before.
    assert answer(gap, only_settled).local.global_view == ((), RING)
    unseen = _next(**{**told, "seen": frozenset(), "settled": ev.Settled(2, RING)})
    assert answer(gap, unseen).local.global_view == ()
    away = _next(**told, settled=ev.Settled(2, (A, C)))
    assert answer(gap, away).local.global_view == ()
    nobody_fills = answer(gap, only_settled, Rules(fills_holes=False))
    assert nobody_fills.local.global_view == ()
