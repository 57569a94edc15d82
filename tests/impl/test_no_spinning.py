"""No order of requests, notices and signs of life makes a process do endless work at one moment."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.group import Group
from raincheck.impl.stack.stack import Stack
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    Alive,
    Excluded,
    GroupQuestion,
    Header,
    JoinHint,
    JoinRefused,
    JoinReq,
    Leaving,
)

CODEC = Codec("raincheck", 60_000)
NAMES = "abcd"
WHO = [Address(name, life) for name in ("A", *NAMES, "z") for life in (0, 1)]
"""Members, other lives of them, and strangers with smaller and larger addresses."""
MOST_STEPS, MOST_TIMERS = 200, 20

address = st.sampled_from(WHO)
view = st.builds(
    lambda counter, members: View(ViewId(counter, members[0]), tuple(members)),
    st.integers(1, 9),
    st.lists(address, min_size=1, max_size=5, unique=True),
)
cookie = st.integers(0, 3)
header: st.SearchStrategy[Header] = st.one_of(
    st.builds(lambda who, c: JoinReq(who, StackConfig().fingerprint, False, c, c), address, cookie),
    st.builds(Excluded, address, address, view),
    st.builds(
        lambda who, v: Alive(who, v, 0, False, ()),
        address,
        st.builds(ViewId, st.integers(0, 9), address),
    ),
    st.builds(lambda who, c: JoinHint(who, "10.0.0.1", 7000, c, c), address, cookie),
    st.builds(lambda who, to, c: JoinRefused(who, to, "no", c), address, address, cookie),
    st.builds(Leaving, address),
    st.builds(GroupQuestion, address, cookie, cookie),
)
act = st.one_of(
    st.tuples(st.just("datagram"), st.sampled_from(NAMES), header, st.sampled_from(["", *NAMES])),
    st.tuples(st.just("leave"), st.sampled_from(NAMES)),
    st.tuples(st.just("pass"), st.sampled_from([0.0, 0.05, 0.3, 1.5])),
)


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds the steps that a stack takes for one input."""
    taken = 0
    advance, pump = Group.advance, Stack._pump

    def pumping(self: Stack, now: float) -> None:
        nonlocal taken
        taken = 0
        pump(self, now)

    def counting(self: Group, now: float) -> bool:
        nonlocal taken
        taken += 1
        assert taken < MOST_STEPS, f"{self.ground.me} goes on for ever at {now}"
        return advance(self, now)

    monkeypatch.setattr(Stack, "_pump", pumping)
    monkeypatch.setattr(Group, "advance", counting)


def do(group: Simulator, what: tuple[Any, ...]) -> None:
    """Let a datagram arrive, a member leave, or time pass."""
    kind, *rest = what
    if kind == "pass":
        group.run(rest[0])
    elif kind == "leave":
        group.leave(rest[0])
    else:
        to, datagram, place = rest
        endpoint = group[place].endpoint if place else ("6.6.6.6", 666)
        group.inject(to, CODEC.encode(datagram), endpoint)


def at_rest(group: Simulator) -> None:
    """No timer is due again and again at this moment."""
    for node in group.up:
        for _ in range(MOST_TIMERS):
            due = node.stack.deadline()
            if due is None or due > group.now:
                break
            node.stack.handle_timer(group.now)
        else:
            raise AssertionError(f"a timer of {node.address} is due for ever at {group.now}")


@pytest.mark.usefixtures("bounded")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(acts=st.lists(act, max_size=25))
def test_nothing_that_arrives_makes_a_process_spin(acts: list[tuple[Any, ...]]) -> None:
    group = Simulator(1, config=StackConfig(join_timeout=0.5, suspect_after=0.5))
    group.start("a", "b", "c", founders=True)
    group.start("d")  # is still joining
    for each in acts:
        do(group, each)
        at_rest(group)
