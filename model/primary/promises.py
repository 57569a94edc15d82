"""The promises of PRIMARY: the twin of the invariants at the end of `spec/Primary.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from raincheck.model.machine.runs import Address

from .events import Session, Sessions
from .handlers import NO_VIEW, Local, has_majority, latest, number
from .state import Constants, Done, State

STAGES = ("none", "asking", "attempting", "primary", "refused")


def well_formed(me: Local) -> bool:
    """A member's own part of `type_ok`."""
    newest = me.last.number if me.last else 0
    return (
        me.stage in STAGES
        and (me.stage == "none") == (me.view == NO_VIEW)
        and (me.view == NO_VIEW or me.me in me.members)
        and (me.stage != "attempting" or any(each.view == me.view for each in me.attempts))
        and (me.stage != "primary" or (me.last is not None and not me.attempts))
        and all(me.me in each.members and each.number > newest for each in me.attempts)
    )


def type_ok(state: State) -> bool:
    """Every variable has a value of its kind."""
    views = {me.view for me in state.locals}
    return (
        all(map(well_formed, state.locals))
        and all(up or me.view == NO_VIEW for up, me in zip(state.up, state.locals, strict=True))
        and all(message.view in views for message in state.net)
    )


def sessions(state: State) -> Sessions:
    """Return the primary views that a member has formed."""
    return frozenset(done.session for done in state.formed)


def one_at_a_number(state: State) -> bool:
    """At most one primary view of a history has a number (P3)."""
    formed = sessions(state)
    return len({(each.history, each.number) for each in formed}) == len(formed)


def one_chain(state: State) -> bool:
    """Each primary view of a history has a member in common with the one before (P3)."""
    for each, before in _earlier(state):
        newest = latest(before)
        if newest is not None and not newest.members & each.members:
            return False
    return True


def _earlier(state: State) -> Iterator[tuple[Session, list[Session]]]:
    formed = sessions(state)
    for each in formed:
        same = (other for other in formed if other.history == each.history)
        yield each, [other for other in same if other.number < each.number]


def holders(state: State, session: Session) -> frozenset[Address]:
    """Return the processes that are still in the view that became primary."""
    return frozenset(
        me.me
        for up, me in zip(state.up, state.locals, strict=True)
        if up and me.view == session.view
    )


def one_active(state: State) -> bool:
    """Once a view is primary, those before it are left by a majority of their votes (P3)."""
    formed = sessions(state)
    return not any(
        one != other
        and one.history == other.history
        and one.number <= other.number
        and has_majority(one.votes, holders(state, one))
        for one in formed
        for other in formed
    )


def one_history(state: State) -> bool:
    """Processes that take their views for primary are of one history (P2)."""
    histories = {me.last.history for me in state.locals if me.stage == "primary" and me.last}
    return len(histories) < 2


def recorded(state: State) -> bool:
    """Nobody is primary before all members have recorded that they attempt it (P5)."""
    return all(
        Done(session, member) in state.tried
        for session in sessions(state)
        for member in session.members
    )


def goes_on(constants: Constants, state: State) -> bool:
    """A view that stays becomes primary if it has the majorities that it needs (P2 to P6)."""
    by_address = {me.me: me for up, me in zip(state.up, state.locals, strict=True) if up}
    for view in {me.members for me in state.locals if me.stage == "refused"}:
        members = [by_address.get(address) for address in view]
        whole = [
            me for me in members if me is not None and me.stage == "refused" and me.members == view
        ]
        one_view = len({me.view for me in whole}) == 1
        if len(whole) == len(view) and one_view and _deserves(constants, state, view, whole):
            return False
    return True


def _deserves(
    constants: Constants, state: State, there: frozenset[Address], members: list[Local]
) -> bool:
    known = {done.session for done in state.formed if done.by in there}
    known |= {me.last for me in members if me.last}
    since = {
        session
        for me in members
        for session in me.attempts
        if session.number > number(known) and not _never_formed(state, session, there)
    }
    newest = latest(known)
    base = since if newest is None else since | {newest}
    if known and all(has_majority(session.votes, there) for session in base):
        return True
    first = all(me.votes == _first_votes(constants, me.me.node) for me in members)
    all_votes = sum(me.votes for me in members) == constants.rules.expected
    return not known and first and all_votes


def _first_votes(constants: Constants, node: str) -> int:
    return constants.heavy_votes if node in constants.heavy else 1


def _never_formed(state: State, session: Session, there: frozenset[Address]) -> bool:
    if any(Done(session, member) not in state.tried for member in session.members & there):
        return True
    return session.members <= there and session not in sessions(state)


def invariants(constants: Constants) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants, by name."""
    return {
        "TypeOK": type_ok,
        "OneAtANumber": one_at_a_number,
        "OneChain": one_chain,
        "OneActive": one_active,
        "OneHistory": one_history,
        "Recorded": recorded,
        "GoesOn": lambda state: goes_on(constants, state),
    }
