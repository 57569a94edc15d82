"""The promises of PBCAST: the twin of the invariants at the end of `spec/Pbcast.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from raincheck.model.machine.runs import Address

from .events import Request
from .handlers import Known, Local
from .state import Constants, State


def well_formed(me: Local) -> bool:
    """A member's own part of `type_ok`."""
    delivered, purged = dict(me.delivered), dict(me.purged)
    return (
        (me.view == 0 or me.me in me.members)
        and all(_well_known(me, each) for each in me.cache)
        and all(at <= delivered.get(a, 0) for a, at in me.purged)
        and all(purged.get(a, 0) < min(some) for a, some in me.held)
    )


def _well_known(me: Local, each: Known) -> bool:
    digest = dict(each.digest)
    return (
        each.number >= 0
        and 1 <= each.view <= me.view
        and all(at <= digest.get(a, 0) for a, at in each.lowest)
        and not each.seen & each.not_seen
        and me.me in each.seen
    )


def type_ok(state: State) -> bool:
    """Every variable has a value of its kind."""
    sent = {me.me: me.sent for me in state.locals}
    return all(
        well_formed(me)
        and me.view <= len(state.views)
        and (status != "member" or all(at <= sent[a] for a, at in me.delivered))
        and all(max(some) <= sent[a] for a, some in me.held)
        for me, status in zip(state.locals, state.status, strict=True)
    ) and all(some <= every for some, every in zip(state.needed, state.asked, strict=True))


def running(state: State) -> list[Local]:
    """Return the members that run."""
    pairs = zip(state.locals, state.status, strict=True)
    return [me for me, status in pairs if status == "member"]


def only_stable_purged(state: State, *, flushed: bool = False) -> bool:
    """A message is purged only when every member of the view has delivered it.

    `flushed`: streams of those that are gone are forgotten with a view, and do not count in it.
    """
    by_address = {me.me: me for me in running(state)}
    last = state.views[-1]
    promised = dict(last.digest)
    joining = any(
        status == "joining" and me.me in last.joiners
        for me, status in zip(state.locals, state.status, strict=True)
    )
    for me in by_address.values():
        for a in me.members & by_address.keys():
            delivered, there = dict(by_address[a].delivered), by_address[a].members
            purged = [(s, at) for s, at in me.purged if s in there or not flushed]
            if any(at > delivered.get(s, 0) for s, at in purged):
                return False
        if (
            joining
            and me.me in last.members
            and any(
                at > promised.get(s, 0) for s, at in me.purged if s in last.members or not flushed
            )
        ):
            return False
    return True


def lacks(me: Local, s: Address, k: int, *, flushed: bool = False) -> bool:
    """Tell whether a member that runs lacks message k of s, if that one's stream counts there."""
    if flushed and s not in me.members:
        return False
    return k > dict(me.delivered).get(s, 0) and k not in dict(me.held).get(s, frozenset())


def _had(state: State, h: Local, n: Local, s: int, k: int) -> bool:
    if h.me not in n.members or h.view != n.view:
        return False
    sender = state.locals[s]
    if h.me == sender.me:
        members = [i for i, me in enumerate(state.locals) if me.me in n.members]
        return k <= sender.sent and all(state.passed[i][s] >= k for i in members)
    at = state.locals.index(h)
    return state.began[at][s] < k and not lacks(h, sender.me, k)


def missed(state: State, *, flushed: bool = False) -> Iterator[tuple[Address, int]]:
    """Yield the messages that a member lacks and another one of its view has had or sent."""
    there = running(state)
    for n in there:
        for s, sender in enumerate(state.locals):
            for k in range(1, sender.sent + 1):
                if lacks(n, sender.me, k, flushed=flushed) and any(
                    h.me != n.me and _had(state, h, n, s, k) for h in there
                ):
                    yield sender.me, k


def nothing_out_of_reach(state: State, *, flushed: bool = False) -> bool:
    """Some member still has what another one of its view lacks."""
    held = [dict(me.held) for me in running(state)]
    return all(
        any(k in each.get(s, ()) for each in held) for s, k in missed(state, flushed=flushed)
    )


def asked_has(state: State, *, flushed: bool = False) -> bool:
    """A member that is asked for a message has it, as long as the asker lacks it (G4)."""
    by_address = {me.me: me for me in running(state)}
    for d in state.net:
        asker, asked = by_address.get(d.sender), by_address.get(d.to)
        if not isinstance(d.body, Request) or asker is None or asked is None:
            continue
        if d.sender in asked.members:
            held = dict(asked.held)
            for s, some in d.body.wanted:
                lacked = [k for k in some if lacks(asker, s, k, flushed=flushed)]
                if any(k not in held.get(s, ()) for k in lacked):
                    return False
    return True


def no_futile_ask(state: State) -> bool:
    """Nobody asks for a message that it has (G4, G9)."""
    return state.asked == state.needed


def lag_kept(state: State) -> bool:
    """A node keeps its lag of the messages that it has delivered (G6)."""
    return all(
        at + me.lag <= dict(me.delivered).get(s, 0) for me in state.locals for s, at in me.purged
    )


def quiet(state: State) -> bool:
    """Nothing is under way, and nothing is to be sent again."""
    return not state.net and not any(e.unsent for me in state.locals for e in me.cache)


def round_collects(state: State) -> bool:
    """A gossip of which no copy is lost makes all purge what all had delivered (G6)."""
    return not quiet(state) or all(
        dict(me.purged).get(s, 0) + me.lag >= at for me in running(state) for s, at in state.due
    )


def round_delivers(state: State, *, flushed: bool = False) -> bool:
    """A gossip of which no copy is lost brings all what its sender had delivered (G4)."""
    return not quiet(state) or not any(
        lacks(me, s, k, flushed=flushed)
        for me in running(state)
        for s, at in state.shown
        for k in range(1, at + 1)
    )


def answer_to_asker(state: State) -> bool:
    """The layer that asks for a digest gets it (G10)."""
    return all(layer == receiver for layer, receiver in state.answered)


def flood_ends(constants: Constants, state: State) -> bool:
    """A member sends a gossip again at most once for each other member that it learns of (G3)."""
    often = len(state.locals) - 1 if constants.rules.merges else 1
    return all(
        count <= often * origin.number
        for row in state.resent
        for count, origin in zip(row, state.locals, strict=True)
    )


def heard_are_members(state: State) -> bool:
    """Only members of one's view are heard of (G8)."""
    return all(me.heard <= me.members for me in state.locals)


def invariants(constants: Constants) -> Mapping[str, Callable[[State], bool]]:
    """Return the invariants of an instance, by the spec's names."""
    flushed = constants.rules.flushed
    return {
        "TypeOK": type_ok,
        "OnlyStablePurged": partial(only_stable_purged, flushed=flushed),
        "NothingOutOfReach": partial(nothing_out_of_reach, flushed=flushed),
        "AskedHas": partial(asked_has, flushed=flushed),
        "NoFutileAsk": no_futile_ask,
        "LagKept": lag_kept,
        "RoundCollects": round_collects,
        "RoundDelivers": partial(round_delivers, flushed=flushed),
        "AnswerToAsker": answer_to_asker,
        "FloodEnds": partial(flood_ends, constants),
        "HeardAreMembers": heard_are_members,
    }
