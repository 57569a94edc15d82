"""The inductive invariant of UNICAST, conjunct by conjunct.

Each conjunct has a name, a sentence and a formula; none mentions bounds. A `connection` is that of
the sender, `from_here` that of the receiver; either may be ahead of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Or, World

from .words import is_heard


def same_connection(s: World) -> Expr:
    return And(s.sending(), s.receiving(), s.from_here() == s.connection())


def _is_over(s: World, c: Expr) -> Expr:
    """The receiver has closed connection c, or has a later one."""
    return Or(c <= s.closed(), And(s.receiving(), c < s.from_here()))


def _has(s: World, c: Expr, arrived: Expr, consumed: Expr) -> Expr:
    """Connection c has arrived and was consumed that far, or is over."""
    there = And(arrived <= s.arrived(), consumed <= s.consumed())
    return Or(_is_over(s, c), And(s.receiving(), c == s.from_here(), there))


def _of_buffer(s: World, k: Expr) -> Sequence[Expr]:
    return [s.buffered(k), s.buffer_life(k), s.buffer_talk(k), s.buffer_number(k)]


INVARIANT: Final = (
    Conjunct(
        "Counted",
        "A sender's counts are in order: consumed, acknowledged, transmitted, sent.",
        (),
        lambda s: Implies(
            s.sending(),
            And(
                s.confirmed() >= 0,
                s.confirmed() <= s.acked(),
                s.acked() <= s.out(),
                s.out() <= s.seqno(),
                s.connection() == s.connections(),
                s.connection() >= 1,
            ),
        ),
    ),
    Conjunct(
        "WithinWindow",
        "A sender has transmitted at most a window beyond what it knows to be consumed, and a"
        " probe.",
        (),
        lambda s: Implies(s.sending(), s.out() <= s.confirmed() + s.window() + 1),
    ),
    Conjunct(
        "AckedWithinWindow",
        "At most a window is acknowledged beyond what the sender knows to be consumed.",
        (),
        lambda s: Implies(s.sending(), s.acked() <= s.confirmed() + s.window()),
    ),
    Conjunct(
        "DataWereSent",
        "A datagram under way was sent, and carries its own life, connection and number.",
        ("number", "seqno", "number", "number", "number"),
        lambda s, c, k, life, talk, number: Implies(
            s.data(c, k, life, talk, number),
            And(
                life == s.life(),
                talk == c,
                number == k,
                c >= 1,
                c <= s.connections(),
                k >= 1,
                Implies(And(s.sending(), c == s.connection()), k <= s.out()),
            ),
        ),
        lambda s, c, k, life, talk, number: [s.data(c, k, life, talk, number)],
    ),
    Conjunct(
        "Received",
        "A receiver's connection was begun and is not closed, and it consumed no more than"
        " arrived.",
        (),
        lambda s: And(
            s.closed() >= 0,
            s.connections() >= 0,
            s.closed() <= s.connections(),
            s.heard() >= 0,
            Implies(
                s.receiving(),
                And(
                    s.from_here() > s.closed(),
                    s.from_here() <= s.connections(),
                    s.consumed() >= 0,
                    s.consumed() <= s.arrived(),
                    s.arrived() <= s.consumed() + s.window(),
                ),
            ),
        ),
    ),
    Conjunct(
        "BufferedRight",
        "A message in the buffer is of the connection, has its own place, and is within the"
        " window.",
        ("seqno",),
        lambda s, k: Implies(
            And(s.receiving(), s.buffered(k)),
            And(
                s.buffer_life(k) == s.life(),
                s.buffer_talk(k) == s.from_here(),
                s.buffer_number(k) == k,
                s.consumed() < k,
                k <= s.consumed() + s.window(),
            ),
        ),
        _of_buffer,
    ),
    Conjunct(
        "ArrivedIsThere",
        "A message that has arrived and is not consumed is in the buffer.",
        ("seqno",),
        lambda s, k: Implies(And(s.receiving(), s.consumed() < k, k <= s.arrived()), s.buffered(k)),
        _of_buffer,
    ),
    Conjunct(
        "ArrivedWasOut",
        "Every message that has arrived was transmitted.",
        (),
        lambda s: Implies(same_connection(s), s.arrived() <= s.out()),
    ),
    Conjunct(
        "BufferedWasOut",
        "Every message in the buffer was transmitted.",
        ("seqno",),
        lambda s, k: Implies(And(same_connection(s), s.buffered(k)), k <= s.out()),
        lambda s, k: [s.buffered(k)],
    ),
    Conjunct(
        "AcksAreTrue",
        "An acknowledgement claims no more than arrived and was consumed, unless its connection"
        " is over.",
        ("number", "seqno", "seqno"),
        lambda s, c, a, b: Implies(
            s.ack(c, a, b),
            And(
                c >= 1,
                c <= s.connections(),
                b >= 0,
                b <= a,
                a <= b + s.window(),
                _has(s, c, a, b),
            ),
        ),
        lambda s, c, a, b: [s.ack(c, a, b)],
    ),
    Conjunct(
        "AckedHasArrived",
        "Every message that the sender no longer keeps has arrived.",
        (),
        lambda s: Implies(
            And(s.sending(), s.acked() > 0),
            _has(s, s.connection(), s.acked(), s.confirmed()),
        ),
    ),
    Conjunct(
        "HeardRight",
        "A consumed message is of this sender's life, and of a connection that existed.",
        ("index",),
        lambda s, i: Implies(
            is_heard(s, i),
            And(
                s.heard_life(i) == s.life(),
                s.heard_number(i) >= 1,
                Or(
                    s.heard_talk(i) <= s.closed(),
                    And(s.receiving(), s.heard_talk(i) <= s.from_here()),
                ),
                Implies(
                    And(s.receiving(), s.heard_talk(i) == s.from_here()),
                    s.heard_number(i) <= s.consumed(),
                ),
            ),
        ),
        lambda s, i: [s.heard_talk(i), s.heard_number(i), s.heard_life(i)],
    ),
    Conjunct(
        "HeardInOrder",
        "Connections are consumed one after the other, and each in the order of its numbers.",
        ("index", "index"),
        lambda s, i, j: Implies(
            And(is_heard(s, i), is_heard(s, j), i < j),
            And(
                s.heard_talk(i) <= s.heard_talk(j),
                Implies(s.heard_talk(i) == s.heard_talk(j), s.heard_number(i) < s.heard_number(j)),
            ),
        ),
        lambda s, i, j: [
            (s.heard_talk(i), s.heard_talk(j)),
            (s.heard_number(i), s.heard_number(j)),
        ],
    ),
    Conjunct(
        "ConsumedIsHeard",
        "Every message consumed of the current connection is in the log.",
        ("seqno",),
        lambda s, k: Implies(
            And(s.receiving(), k >= 1, k <= s.consumed()),
            _is_at(s, s.from_here(), k, s.place(s.from_here(), k)),
        ),
        lambda s, k: [s.place(s.from_here(), k)],
    ),
    Conjunct(
        "HeardWithoutGap",
        "A message that is not the first of its connection follows its predecessor.",
        ("index",),
        lambda s, i: Implies(
            And(is_heard(s, i), s.heard_number(i) > 1), _follows(s, i, _before(s, i))
        ),
        lambda s, i: [s.heard_number(i), s.heard_talk(i)],
    ),
)


def _is_at(s: World, talk: Expr, number: Expr, i: Expr) -> Expr:
    return And(is_heard(s, i), s.heard_talk(i) == talk, s.heard_number(i) == number)


def _before(s: World, i: Expr) -> Expr:
    return s.place(s.heard_talk(i), s.heard_number(i) - 1)


def _follows(s: World, i: Expr, j: Expr) -> Expr:
    return And(j < i, _is_at(s, s.heard_talk(i), s.heard_number(i) - 1, j))
