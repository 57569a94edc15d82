"""The adversary of NAKACK's model: the datagrams that nobody has sent.

The twin of `Forge` and `Corrupt` in `spec/Nakack.tla`, bounded as in `MCNakack.tla`.
"""

from __future__ import annotations

from collections.abc import Iterator

from raincheck.model.machine.composed import Move
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from .events import Alive, Data, Datagram, Nak
from .handlers import running
from .state import Constants, State


def forged(
    c: Constants, addresses: tuple[Address, ...], state: State, i: int
) -> Iterator[Move[State]]:
    """Yield what each stranger can send to node i."""
    if not running(state.locals[i]):
        return
    for j, them in enumerate(state.locals):
        if them.node not in c.strangers or them.sent >= c.max_forged:
            continue
        counted = with_(state.locals, j, them._replace(sent=them.sent + 1))
        for source in (j,) if c.true_sources else range(len(addresses)):
            for datagram in unsent(addresses, state, source, i):
                link = placed(state.link, source, i, state.link[source][i] | {datagram})
                target = state._replace(locals=counted, link=link)
                yield Move("Forge", (them.node, addresses[i].node), target)


def corrupted(
    c: Constants, addresses: tuple[Address, ...], state: State, i: int
) -> Iterator[Move[State]]:
    """Yield what the datagrams under way to node i can become."""
    if c.datagrams_unaltered or state.lost >= c.max_lost:
        return
    for j, row in enumerate(state.link):
        for datagram in sorted(row[i], key=repr):
            for other in unsent(addresses, state, j, i):
                link = placed(state.link, j, i, (row[i] - {datagram}) | {other})
                args = (addresses[j].node, addresses[i].node)
                yield Move("Corrupt", args, state._replace(link=link, lost=state.lost + 1))


def unsent(
    addresses: tuple[Address, ...], state: State, source: int, to: int
) -> Iterator[Datagram]:
    """Yield the datagrams that `source` has not sent to `to`."""
    last, receiver = len(state.views), addresses[to]
    sent = [me.sent for me in state.locals]
    for of, at in zip(addresses, sent, strict=True):
        for ahead in (1, 2):
            for view in range(max(last - 1, 1), last + 2):
                yield Data(receiver, of, at + ahead, view)
        yield Nak(receiver, of, (1,))
    yield Alive(receiver, sent[source] + 1, True, sent[to])
