"""The inductive invariant of NAKACK, conjunct by conjunct.

Each conjunct has a name, a sentence and a formula; none mentions bounds. All are about the stream
of one member, the source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, World

from .words import CRASHED, JOINING, MEMBER, has_source, is_passed, running


def _of(
    name: str, says: str, kinds: str, body: Callable[..., Expr], patterns: Function | None = None
) -> Conjunct:
    return Conjunct(name, says, tuple(kinds.split()), body, patterns)


def had(s: World, p: Expr) -> Expr:
    """How far p has the stream, or had it."""
    return s.begin(p) + s.passed(p)


def _is_view(s: World, v: Expr) -> Expr:
    return And(v >= 1, v <= s.decided())


_VIEWS: Final = (
    _of(
        "InView",
        "A member is in its view, which is the last one or the one before.",
        "process",
        lambda s, p: And(
            s.decided() >= 1,
            s.status(p) >= JOINING,
            s.status(p) <= CRASHED,
            Implies(
                running(s, p),
                And(
                    _is_view(s, s.view(p)),
                    s.view(p) >= s.decided() - 1,
                    s.in_view(s.view(p), p),
                ),
            ),
        ),
    ),
    _of(
        "JoinersAreNew",
        "Who is joining is in the last view at most, and has read and told nothing.",
        "process view",
        lambda s, p, v: Implies(
            And(s.status(p) == JOINING, _is_view(s, v), s.in_view(v, p)), v == s.decided()
        ),
        lambda s, p, v: [s.in_view(v, p)],
    ),
    _of(
        "NobodyReturns",
        "Who was in a view and is not in the last one has crashed.",
        "process view",
        lambda s, p, v: Implies(
            And(_is_view(s, v), s.in_view(v, p), Not(s.in_view(s.decided(), p))),
            s.status(p) == CRASHED,
        ),
        lambda s, p, v: [s.in_view(v, p)],
    ),
    _of(
        "SourceStays",
        "The source is in all views between two that it is in.",
        "view view view",
        lambda s, v, u, w: Implies(
            And(_is_view(s, v), v <= u, u <= w, _is_view(s, w), has_source(s, v), has_source(s, w)),
            has_source(s, u),
        ),
        lambda s, v, u, w: [(has_source(s, v), has_source(s, u), has_source(s, w))],
    ),
    _of(
        "NothingBefore",
        "A joiner has read and acknowledged nothing.",
        "process seqno",
        lambda s, p, k: Implies(
            s.status(p) == JOINING,
            And(s.passed(p) == 0, s.begin(p) == 0, Not(s.acks(p, k))),
        ),
        lambda s, p, k: [s.acks(p, k)],
    ),
    _of(
        "JoinersReadNothing",
        "A joiner has passed up nothing.",
        "process",
        lambda s, p: Implies(s.status(p) == JOINING, And(s.passed(p) == 0, s.begin(p) == 0)),
    ),
    _of(
        "SourceJoins",
        "While the source is joining it has multicast nothing.",
        "process",
        lambda s, p: Implies(
            s.status(s.source()) == JOINING, And(s.sent() == 0, s.passed(p) == 0, s.begin(p) == 0)
        ),
    ),
)

_CUTS: Final = (
    _of(
        "Cut",
        "The cut of a view lies before what was sent in it, and behind what was sent before it.",
        "view seqno",
        lambda s, v, k: Implies(
            And(_is_view(s, v), has_source(s, v), k >= 1, k <= s.sent()),
            (s.sent_in(k) < v) == (k <= s.cut(v)),
        ),
        lambda s, v, k: [(has_source(s, v), s.sent_in(k))],
    ),
    _of(
        "CutIsSent",
        "A cut of a view with the source is of what was sent.",
        "view",
        lambda s, v: Implies(
            And(_is_view(s, v), has_source(s, v)), And(s.cut(v) >= 0, s.cut(v) <= s.sent())
        ),
        lambda s, v: [s.cut(v), has_source(s, v)],
    ),
    _of(
        "CutsRise",
        "A cut lies behind the one before; it is 0 when the source joins.",
        "view",
        lambda s, v: Implies(
            And(v >= 1, v + 1 <= s.decided(), has_source(s, v + 1)),
            And(
                Implies(has_source(s, v), s.cut(v) <= s.cut(v + 1)),
                Implies(Not(has_source(s, v)), s.cut(v + 1) == 0),
            ),
        ),
        lambda s, v: [s.cut(v), has_source(s, v)],
    ),
    _of(
        "SentIn",
        "A multicast was sent in a view with the source, which it has not left behind.",
        "seqno",
        lambda s, k: Implies(
            And(k >= 1, k <= s.sent()),
            And(
                _is_view(s, s.sent_in(k)),
                has_source(s, s.sent_in(k)),
                Implies(running(s, s.source()), s.sent_in(k) <= s.view(s.source())),
            ),
        ),
        lambda s, k: [s.sent_in(k)],
    ),
)

_STREAM: Final = (
    _of(
        "Reads",
        "A member has the stream while the source is in its view, as far as it passed it up.",
        "process",
        lambda s, p: And(
            s.reads(p) == And(running(s, p), has_source(s, s.view(p))),
            s.sent() >= 0,
            s.begin(p) >= 0,
            s.passed(p) >= 0,
            Implies(s.reads(p), And(s.delivered(p) == had(s, p), s.delivered(p) <= s.sent())),
        ),
    ),
    _of(
        "DataWereSent",
        "What is under way was multicast, with the view that it says.",
        "seqno view",
        lambda s, k, v: Implies(s.data(k, v), And(k >= 1, k <= s.sent(), v == s.sent_in(k))),
        lambda s, k, v: [s.data(k, v)],
    ),
    _of(
        "HeldWereSent",
        "What is held was multicast, with the view that it says.",
        "process seqno",
        lambda s, p, k: Implies(
            And(s.reads(p), s.held(p, k)),
            And(k >= 1, k <= s.sent(), s.tag(p, k) == s.sent_in(k)),
        ),
        lambda s, p, k: [s.held(p, k)],
    ),
    _of(
        "BehindTheCut",
        "A reader stands behind the cut of its view.",
        "process",
        lambda s, p: Implies(s.reads(p), s.delivered(p) >= s.cut(s.view(p))),
    ),
    _of(
        "BeforeTheNextCut",
        "A reader does not go beyond the cut of the view that it has still to install.",
        "process",
        lambda s, p: Implies(
            And(s.reads(p), s.view(p) < s.decided()), s.delivered(p) <= s.cut(s.view(p) + 1)
        ),
    ),
    _of(
        "BeganBehind",
        "A member began no later than at the cut of any of its views.",
        "process view",
        lambda s, p, v: Implies(
            And(running(s, p), v >= 1, v <= s.view(p), s.in_view(v, p), has_source(s, v)),
            s.begin(p) <= s.cut(v),
        ),
        lambda s, p, v: [(s.in_view(v, p), has_source(s, v)), (s.begin(p), s.cut(v))],
    ),
    _of(
        "HeardOut",
        "Who has gone on from a view has passed up all of it.",
        "process view",
        lambda s, p, v: Implies(
            And(running(s, p), v >= 1, v < s.view(p), s.in_view(v, p), has_source(s, v)),
            had(s, p) >= s.cut(v + 1),
        ),
        lambda s, p, v: [(s.in_view(v, p), has_source(s, v))],
    ),
    _of(
        "NoSecondStream",
        "Who has left the source behind does not meet it again.",
        "process view",
        lambda s, p, u: Implies(
            And(
                running(s, p),
                had(s, p) >= 1,
                Not(has_source(s, s.view(p))),
                u >= s.view(p),
                u <= s.decided(),
            ),
            Not(has_source(s, u)),
        ),
        lambda s, p, u: [(s.view(p), has_source(s, u))],
    ),
)

_FROZEN: Final = (
    _of(
        "FrozenIsGone",
        "A stream is frozen when its source is gone, which is in no later view.",
        "process",
        lambda s, p: Implies(
            And(s.reads(p), s.frozen(p)),
            And(
                s.status(s.source()) == CRASHED,
                Implies(s.view(p) < s.decided(), Not(has_source(s, s.view(p) + 1))),
            ),
        ),
    ),
    _of(
        "FrozenEnds",
        "Nothing is held of a frozen stream beyond what was heard of.",
        "process seqno",
        lambda s, p, k: Implies(And(s.reads(p), s.frozen(p), s.held(p, k)), k <= s.heard(p)),
        lambda s, p, k: [s.held(p, k)],
    ),
    _of(
        "FrozenIsWhole",
        "Until a view is decided all is here of a frozen stream that was heard of.",
        "process seqno",
        lambda s, p, k: Implies(
            And(
                s.reads(p),
                s.frozen(p),
                s.view(p) == s.decided(),
                k > s.delivered(p),
                k <= s.heard(p),
            ),
            s.held(p, k),
        ),
        lambda s, p, k: [s.held(p, k)],
    ),
    _of(
        "FrozenAtTheCut",
        "Who has still to install a view without the source takes nothing beyond the cut.",
        "process",
        lambda s, p: Implies(
            And(s.reads(p), s.view(p) < s.decided(), Not(has_source(s, s.view(p) + 1))),
            And(s.frozen(p), s.heard(p) <= s.cut(s.view(p) + 1)),
        ),
    ),
)

_PASSED: Final = (
    _of(
        "PassedUp",
        "What was passed up is the stream from where the member began, in the views of sending.",
        "process index",
        lambda s, p, i: Implies(
            is_passed(s, p, i),
            And(
                s.passed_seqno(p, i) == s.begin(p) + i,
                s.passed_seqno(p, i) <= s.sent(),
                s.passed_tag(p, i) == s.sent_in(s.passed_seqno(p, i)),
                s.passed_in(p, i) == s.passed_tag(p, i),
            ),
        ),
        lambda s, p, i: [s.passed_seqno(p, i), s.passed_in(p, i), s.passed_tag(p, i)],
    ),
    _of(
        "PassedInTheView",
        "It was passed up in a view with the source, and lies between that view's cuts.",
        "process index",
        lambda s, p, i: Implies(
            is_passed(s, p, i),
            And(
                _is_view(s, s.passed_in(p, i)),
                has_source(s, s.passed_in(p, i)),
                s.begin(p) + i > s.cut(s.passed_in(p, i)),
                Implies(running(s, p), s.passed_in(p, i) <= s.view(p)),
                Implies(
                    And(running(s, p), s.passed_in(p, i) < s.decided()),
                    s.begin(p) + i <= s.cut(s.passed_in(p, i) + 1),
                ),
            ),
        ),
        lambda s, p, i: [s.passed_seqno(p, i), s.passed_in(p, i)],
    ),
    _of(
        "PassedIsAlive",
        "Only members have passed up anything: who has crashed has forgotten it.",
        "process",
        lambda s, p: Implies(s.passed(p) >= 1, s.status(p) == MEMBER),
    ),
)

_KEPT: Final = (
    _of(
        "ToldIsTrue",
        "An acknowledgement says no more than what was passed up.",
        "process seqno",
        lambda s, p, k: Implies(And(s.acks(p, k), running(s, p)), k <= had(s, p)),
        lambda s, p, k: [s.acks(p, k)],
    ),
    _of(
        "AckedIsTrue",
        "The source counts no more than what was passed up, or than where a joiner will begin.",
        "process",
        lambda s, p: Implies(
            And(running(s, s.source()), p != s.source(), s.in_view(s.view(s.source()), p)),
            And(
                Implies(running(s, p), s.acked(p) <= had(s, p)),
                Implies(s.status(p) == JOINING, s.acked(p) <= s.cut(s.decided())),
            ),
        ),
    ),
    _of(
        "PurgedIsStable",
        "What a reader passed up and keeps no more all in its view have passed up.",
        "process seqno process",
        lambda s, m, k, n: Implies(
            And(
                s.reads(m),
                s.begin(m) < k,
                k <= s.delivered(m),
                Not(s.held(m, k)),
                s.in_view(s.view(m), n),
            ),
            And(
                Implies(running(s, n), had(s, n) >= k),
                Implies(s.status(n) == JOINING, k <= s.cut(s.view(m))),
            ),
        ),
        lambda s, m, k, n: [(s.held(m, k), s.in_view(s.view(m), n))],
    ),
    _of(
        "SourceBegins",
        "The source reads its own stream from its first multicast on.",
        "",
        lambda s: And(
            Implies(running(s, s.source()), s.begin(s.source()) == 0),
            Implies(
                And(s.status(s.source()) == JOINING, has_source(s, s.decided())),
                s.cut(s.decided()) == 0,
            ),
        ),
    ),
    _of(
        "SourceKeeps",
        "The source holds what it has still to pass up itself.",
        "seqno",
        lambda s, k: Implies(
            And(running(s, s.source()), k > s.delivered(s.source()), k <= s.sent()),
            s.held(s.source(), k),
        ),
        lambda s, k: [s.held(s.source(), k)],
    ),
)

INVARIANT: Final = (*_VIEWS, *_CUTS, *_STREAM, *_FROZEN, *_PASSED, *_KEPT)
