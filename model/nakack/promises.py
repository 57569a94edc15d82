"""The promises of NAKACK: the twin of the properties at the end of `spec/Nakack.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from raincheck.model.machine.runs import Address

from . import handlers as node
from .handlers import Local, Stream, stream_of
from .state import Entry, State

Check = Callable[[State], bool]


def contiguous(state: State) -> bool:
    """The deliveries of a sender are its stream from where the member joined (N1, N5)."""
    return all(
        entry[0] == _begin(state, n, s) + i
        for n, s, log in _logs(state)
        for i, entry in enumerate(log, 1)
    )


def only_members(state: State) -> bool:
    """A member delivers multicasts of members of its view only (N8)."""
    return all(
        s in state.views[within - 1].members for _, s, log in _logs(state) for _, _, within in log
    )


def sending_view(state: State) -> bool:
    """A multicast is delivered in the view in which it was sent."""
    return all(sent_in == within for _, _, log in _logs(state) for _, sent_in, within in log)


def no_creation(state: State) -> bool:
    """Nothing is delivered that was not multicast."""
    sent = {_address(me): me.sent for me in _running(state)}
    return all(entry[0] <= sent[s] for _, s, log in _logs(state) if s in sent for entry in log)


def agreement(state: State) -> bool:
    """All members that go on from a view have delivered the same multicasts in it."""
    for v in range(1, len(state.views)):
        members = state.views[v - 1].members
        stayed = [
            i
            for i, me in enumerate(state.locals)
            if node.running(me) and me.view > v and _address(me) in members
        ]
        heard = {
            tuple(frozenset(e[0] for e in log if e[2] == v) for log in state.log[i]) for i in stayed
        }
        if len(heard) > 1:
            return False
    return True


def recoverable(state: State) -> bool:
    """A multicast that a member delivered, or a live sender sent, is kept by somebody for the
    others.
    """
    for me in _running(state):
        for them in _running(state):
            if them.view < me.view or _address(me) not in them.members:
                continue
            for source in me.members:
                most = _known(me, them, source, state)
                stream = stream_of(me.stream, source)
                assert stream is not None
                if not all(_held(state, source, k) for k in range(stream.delivered + 1, most + 1)):
                    return False
    return True


def no_futile_ask(state: State) -> bool:
    """Nobody asks for multicasts of a dead sender that no member has."""
    return all(
        _held(state, source, k)
        for me in _running(state)
        for source, stream in me.stream
        if stream.frozen
        for k in stream.missing()
    )


def acks_are_true(state: State) -> bool:
    """A member counts as acknowledged no more of its stream than was delivered."""
    running = {_address(me): me for me in _running(state)}
    for mine, me in running.items():
        for member, at in me.acked:
            theirs = stream_of(running[member].stream, mine) if member in running else None
            if theirs is not None and at > theirs.delivered:
                return False
    return True


def bounded(window: int, retain: int) -> Check:
    """Return the check that acknowledgements are true and window and `retain` are respected."""

    def holds(state: State) -> bool:
        running = {_address(me): me for me in _running(state)}
        for mine, me in running.items():
            if not within_bounds(window, retain, me, stream_of(me.stream, mine)):
                return False
        return acks_are_true(state)

    return holds


def within_bounds(window: int, retain: int, me: Local, own: Stream | None) -> bool:
    """A member's own part of `bounded`; `own` is its own stream."""
    if me.sent - node.lowest(me) > window or own is None or len(own.held) > retain:
        return False
    for _, (delivered, held, *_) in me.stream:
        # What is kept is in the order of the seqnos.
        if held and held[-1][0] > delivered + 2 * window:
            return False
    return True


def well_formed(me: Local) -> bool:
    """A member's own part of TypeOK."""
    mine = _address(me)
    if mine in me.owed or not node.running(me):
        return mine not in me.owed
    streams, others = {who for who, _ in me.stream}, set(me.members) - {mine}
    return (
        mine in me.members and streams >= {*me.members} and {who for who, _ in me.acked} == others
    )


def all_delivered(state: State) -> bool:
    """Every live member has what a live sender sent, and what any other live member delivered."""
    running = [(i, me) for i, me in enumerate(state.locals) if node.running(me)]
    for i, me in running:
        for j, them in running:
            stream = stream_of(me.stream, _address(them))
            if stream is not None and stream.delivered != them.sent:
                return False
            for mine, theirs in zip(state.log[i], state.log[j], strict=True):
                here = {entry[0] for entry in mine}
                for seqno, _, within in theirs:
                    members = state.views[within - 1].members
                    if _address(me) in members and seqno not in here:
                        return False
    return True


def invariants(window: int, retain: int) -> Mapping[str, Check]:
    """Return the spec's invariants for these bounds, by name."""
    return {
        "Contiguous": contiguous,
        "OnlyMembers": only_members,
        "SendingView": sending_view,
        "NoCreation": no_creation,
        "Agreement": agreement,
        "Recoverable": recoverable,
        "NoFutileAsk": no_futile_ask,
        "Bounded": bounded(window, retain),
    }


def _address(me: Local) -> Address:
    return node.address(me)


def _running(state: State) -> Iterator[Local]:
    return (me for me in state.locals if node.running(me))


def _logs(state: State) -> Iterator[tuple[Address, Address, tuple[Entry, ...]]]:
    names = [Address(me.node, 0) for me in state.locals]
    for n, row in zip(names, state.log, strict=True):
        for s, log in zip(names, row, strict=True):
            yield n, s, log


def _begin(state: State, n: Address, s: Address) -> int:
    """Return where n began to read the stream of s."""
    joined = next((view for view in state.views if n in view.joiners), None)
    return dict(joined.cut).get(s, 0) if joined is not None else 0


def _known(me: Local, them: Local, source: Address, state: State) -> int:
    """Return how much of a stream `them` knows of, as far as it belongs to the view of `me`."""
    if _address(them) == source:
        most = them.sent
    else:
        entries = stream_of(them.stream, source), stream_of(them.departed, source)
        most = max((stream.delivered for stream in entries if stream is not None), default=0)
    if me.view < len(state.views):
        most = min(most, dict(state.views[me.view].cut).get(source, most))
    return most


def _held(state: State, source: Address, k: int) -> bool:
    return any(
        stream is not None and stream.has(k)
        for me in _running(state)
        for stream in (stream_of(me.stream, source), stream_of(me.departed, source))
    )
