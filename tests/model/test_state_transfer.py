"""State transfer's model: its promises can be broken, its guards say why, its bounds hold."""

from dataclasses import replace
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.state_transfer import events as ev
from raincheck.model.state_transfer import handlers as model
from raincheck.model.state_transfer.handlers import Local, Rules
from raincheck.model.state_transfer.promises import bounded, same_cut, type_ok
from raincheck.model.state_transfer.state import Part, Post, State, constants_of
from raincheck.model.state_transfer.system import machine

CASES = {case.name: case for case in load_cases()}
A, B, C = (Address(name, 0) for name in "abc")


def values(case: str, **changes: Any) -> dict[str, Any]:
    return {**CASES[f"state-transfer-{case}"].constants, **changes}


CONSTANTS = constants_of(values("f1-repaired"))


def done(case: str = "f1-repaired") -> State:
    """A state in which c has set the state of a, at cut 1, and applied one message more."""
    system = machine(values(case))
    graph = explore(system, invariants={}).graph
    return next(s for s in graph.states if s.state[2] and s.base[2] == 1 and s.applied == (2, 2, 2))


def with_c(state: State, /, **changes: Any) -> State:
    """The state with other values of c's."""
    return state._replace(
        **{name: (*getattr(state, name)[:2], value) for name, value in changes.items()}
    )


def test_a_state_at_the_cut_is_right() -> None:
    state = done()

    assert state.state[2] == (Part("a", 1, 1), Part("a", 2, 1))
    assert same_cut(CONSTANTS, state)
    assert type_ok(CONSTANTS, state)
    assert bounded(CONSTANTS, state)


@pytest.mark.parametrize(
    "parts",
    [
        (Part("a", 1, 0), Part("a", 2, 0)),  # message 1 is in neither
        (Part("a", 1, 2), Part("a", 2, 2)),  # message 2 is in both
        (Part("a", 1, 1), Part("a", 2, 2)),  # torn
        (Part("a", 1, 1), Part("b", 2, 1)),  # of two providers
        (Part("a", 1, 1),),  # half of it
        (Part("a", 2, 1), Part("a", 1, 1)),  # in the wrong order
        (Part("a", 1, 1), Part(None, 2, 1)),  # damaged
        (Part("a", 1, 1), Part("a", 2, 1), Part("a", 1, 1)),  # one part twice
    ],
)
def test_a_wrong_state_is_noticed(parts: tuple[Part, ...]) -> None:
    assert not same_cut(CONSTANTS, with_c(done(), state=parts))


def test_too_many_chunks_are_noticed() -> None:
    state = done()
    me = state.locals[2]._replace(phase="fetching", attempt=1, provider=A, next=1, taken=0)
    chunk = Post("Chunk", (1, 1, 1, True, False, Part("a", 1, 1)))
    net = ((*state.net[0][:2], (chunk,) * 3), *state.net[1:])
    many = with_c(state, locals=me)._replace(net=net)

    assert not bounded(CONSTANTS, many)
    assert bounded(replace(CONSTANTS, window=3), many)


@pytest.mark.parametrize(
    "changes",
    [{"base": 3}, {"applied": 3}, {"position": 3}],
)
def test_numbers_that_cannot_be_are_noticed(changes: dict[str, int]) -> None:
    assert not type_ok(CONSTANTS, with_c(done(), **changes))


@pytest.mark.parametrize(
    ("event", "local", "text"),
    [
        (ev.Ask(), {"phase": "asking"}, 'requester[n].phase \\in {"idle", "set", "failed"}'),
        (ev.Take(), {}, "requester[n].taken < requester[n].next - 1"),
        (ev.TimeOut(), {}, 'requester[n].phase = "fetching"'),
        (ev.Begin(0), {}, "queue[n] # <<>>"),
        (ev.Begin(0), {"queue": (B,), "waiting": frozenset({C})}, "waiting[n] = {}"),
        (ev.Deliver(), {"phase": "setting"}, "~Holding(n)"),
        (ev.ReadFailed(B), {}, "r \\in DOMAIN serving[n]"),
    ],
)
def test_a_guard_names_what_is_false(event: Any, local: dict[str, Any], text: str) -> None:
    me = Local(C, (A, B))._replace(**local)
    answer = model.HANDLERS[type(event).__name__](Rules(), me, event)

    assert isinstance(answer, Refused)
    assert text in [conjunct.text for conjunct in answer.conjuncts]


def test_every_input_has_a_handler_and_every_handler_an_input() -> None:
    assert model.HANDLERS.keys() == ev.INPUTS.keys()
    answer = model.ask(Rules(), Local(C, (A, B)), ev.Ask())
    assert isinstance(answer, Accepted)
    assert answer.outputs == (ev.SendAsk(A),)


@pytest.mark.parametrize(
    ("case", "invariant"),
    [("f1-seed", "SameCut"), ("f4-undone", "SameCut"), ("f12-undone", "Bounded")],
)
def test_the_model_breaks_what_the_spec_breaks(case: str, invariant: str) -> None:
    system = machine(values(case))

    violation = explore(system).violation

    assert violation is not None
    assert violation.invariant == invariant


def test_a_constant_of_the_wrong_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"constant Window is True; a int is wanted"):
        machine(values("f1-repaired", Window=True))
