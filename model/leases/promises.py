"""The promises of LEASES: the twin of the invariants at the end of `spec/Leases.tla`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .handlers import Client, Member
from .state import Constants, State


def backed(state: State) -> bool:
    """A client that believes that it has the lock has it by its member, with that fence."""
    return all(
        bool(state.line) and state.line[0][1:] == (each.me, each.session, each.request, each.fence)
        for each in state.clients
        if each.believes
    )


def one_believer(state: State) -> bool:
    """No two clients believe that they have it."""
    return sum(each.believes for each in state.clients) <= 1


def ends_in_time(constants: Constants, state: State) -> bool:
    """A request in the line is of a session whose client was heard within GiveUp (C4)."""
    members = {each.me: each for each in state.members}
    give_up = constants.rules.give_up
    return all(
        not (member := members[entry.member]).up
        or any(
            (s.client, s.session, s.request) == entry[1:4] and member.clock <= s.heard + give_up
            for s in member.sessions
        )
        for entry in state.line
    )


def _client_ok(state: State, me: Client) -> bool:
    return (
        (not me.fence or (me.wants and me.serving and me.fence <= state.turn))
        and (not me.serving or bool(me.sent))
        and (me.serving or me.until == 0)
    )


def _member_ok(me: Member) -> bool:
    names = {each[:2] for each in me.sessions}
    return (
        (me.up or not (me.sessions or me.leaves))
        and len(names) == len(me.sessions)
        and all(s.request in (0, s.highest) and s.heard <= me.clock for s in me.sessions)
    )


def type_ok(constants: Constants, state: State) -> bool:
    """Every variable has a value of its kind."""
    waits = [each[1:3] for each in state.line]
    return (
        all(_client_ok(state, each) for each in state.clients)
        and all(each <= constants.steady for each in state.steady)
        and all((each.fence != 0) == (i == 0) for i, each in enumerate(state.line))
        and len(set(waits)) == len(waits)
        and all(map(_member_ok, state.members))
    )


def invariants(constants: Constants) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants, by name."""
    return {
        "TypeOK": lambda state: type_ok(constants, state),
        "Backed": backed,
        "OneBeliever": one_believer,
        "EndsInTime": lambda state: ends_in_time(constants, state),
    }
