"""The adversary of Raincore's model: the messages that nobody has sent.

The twin of `Forge` and `Corrupt` in `spec/Raincore.tla`, bounded as in `MCRaincore.tla`.
"""

from __future__ import annotations

from collections.abc import Iterator

from raincheck.model.machine.runs import Address

from .calls import call_of, ring_of
from .events import ZERO, Epoch, Message, Settled, Token
from .local import Local, remembered
from .state import Constants, State
from .waits import arrives


def forged(c: Constants, state: State) -> Iterator[tuple[str, str, Message]]:
    """Yield each stranger and node, and what the stranger can send it."""
    everybody = [me.me for me in state.locals]
    for stranger in (me for me in state.locals if me.up == "stranger"):
        for to in (me for me in state.locals if me.up == "up"):
            for source in [stranger.me] if c.true_sources else everybody:
                if source != to.me:
                    for message in unsent(c, state, source, to):
                        yield stranger.me.node, to.me.node, message


def corrupted(c: Constants, state: State, message: Message) -> Iterator[Message]:
    """Yield what a message under way can become."""
    if c.datagrams_unaltered or not arrives(c.rules, state, message):
        return
    to = next(me for me in state.locals if me.me == message.to)
    yield from unsent(c, state, message.current, to)


def unsent(c: Constants, state: State, source: Address, to: Local) -> Iterator[Message]:
    """Yield messages to a node that `source` has not sent; none to a node that knows no ring."""
    if not ring_of(c.rules, to):
        return
    token = to.last_token._replace(to=to.me, current=source)
    two = (to.me, source)
    yield token._replace(seq=token.seq + 2)
    yield token._replace(epoch=Epoch(token.epoch.n + 1, source))
    yield remembered(c.rules, _of_two(token, two))
    own = call_of(c.rules, to)._replace(current=source, to=to.me)
    yield own._replace(granted=frozenset(own.nodelist))
    yield own._replace(orig=source, nodelist=(), phase="ask", claim=ZERO, granted=frozenset())
    for other in state.locals:
        if other.me != to.me and other.me.node not in c.strangers:
            yield own._replace(
                orig=other.me,
                attempt=other.attempt,
                phase="claim",
                claim=Epoch(to.promised.n + 1, other.me),
                granted=frozenset({other.me}),
            )


def _of_two(token: Token, two: tuple[Address, Address]) -> Token:
    """Return a later token whose list is the receiver and its sender."""
    return token._replace(
        seq=token.seq + 2,
        nodelist=two,
        seen=frozenset({two[1]}),
        pending=(),
        settled=Settled(token.global_view_number, two),
    )
