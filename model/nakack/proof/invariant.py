"""The inductive invariant of NAKACK, conjunct by conjunct.

Each conjunct has a name, a sentence and a formula; none mentions bounds. All are about the stream
of one member, the source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, Or, World

from .words import CRASHED, JOINING, MEMBER, has_source, is_passed, running


def _of(
    name: str, says: str, kinds: str, body: Callable[..., Expr], patterns: Function | None = None
) -> Conjunct:
    return Conjunct(name, says, tuple(kinds.split()), body, patterns)


def had(s: World, p: Expr) -> Expr:
    """Return up to where p has the stream, or had it."""
    return s.begin(p) + s.passed(p)


def _is_view(s: World, v: Expr) -> Expr:
    return And(v >= 1, v <= s.decided())


_VIEWS: Final = (
    _of(
        "InView",
        "The view of a member contains it, and is the last one or the one before.",
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
        "A joining process is in no view but the last.",
        "process view",
        lambda s, p, v: Implies(
            And(s.status(p) == JOINING, _is_view(s, v), s.in_view(v, p)), v == s.decided()
        ),
        lambda s, p, v: [s.in_view(v, p)],
    ),
    _of(
        "NobodyReturns",
        "A process that was in a view and is not in the last one has crashed.",
        "process view",
        lambda s, p, v: Implies(
            And(_is_view(s, v), s.in_view(v, p), Not(s.in_view(s.decided(), p))),
            s.status(p) == CRASHED,
        ),
        lambda s, p, v: [s.in_view(v, p)],
    ),
    _of(
        "SourceStays",
        "The source is in every view between two that contain it.",
        "view view view",
        lambda s, v, u, w: Implies(
            And(_is_view(s, v), v <= u, u <= w, _is_view(s, w), has_source(s, v), has_source(s, w)),
            has_source(s, u),
        ),
        lambda s, v, u, w: [(has_source(s, v), has_source(s, u), has_source(s, w))],
    ),
    _of(
        "NothingBefore",
        "A joining process has passed up and acknowledged nothing.",
        "process seqno",
        lambda s, p, k: Implies(
            s.status(p) == JOINING,
            And(s.passed(p) == 0, s.begin(p) == 0, Not(s.acks(p, k))),
        ),
        lambda s, p, k: [s.acks(p, k)],
    ),
    _of(
        "JoinersReadNothing",
        "A joining process has passed up nothing.",
        "process",
        lambda s, p: Implies(s.status(p) == JOINING, And(s.passed(p) == 0, s.begin(p) == 0)),
    ),
    _of(
        "SourceJoins",
        "A joining source has multicast nothing.",
        "process",
        lambda s, p: Implies(
            s.status(s.source()) == JOINING, And(s.sent() == 0, s.passed(p) == 0, s.begin(p) == 0)
        ),
    ),
)

_CUTS: Final = (
    _of(
        "Cut",
        "The cut of a view divides what was sent before the view from what was sent in it or"
        " later.",
        "view seqno",
        lambda s, v, k: Implies(
            And(_is_view(s, v), has_source(s, v), k >= 1, k <= s.sent()),
            (s.sent_in(k) < v) == (k <= s.cut(v)),
        ),
        lambda s, v, k: [(has_source(s, v), s.sent_in(k))],
    ),
    _of(
        "CutIsSent",
        "The cut of a view with the source does not go beyond what was sent.",
        "view",
        lambda s, v: Implies(
            And(_is_view(s, v), has_source(s, v)), And(s.cut(v) >= 0, s.cut(v) <= s.sent())
        ),
        lambda s, v: [s.cut(v), has_source(s, v)],
    ),
    _of(
        "CutsRise",
        "A cut is not below the one before, and is 0 in the view with which the source joins.",
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
        "A multicast was sent in a view with the source, not later than the source's own view.",
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
        "A member reads the stream while the source is in its view, and has delivered what it"
        " passed up.",
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
        "A datagram under way was multicast in the view that it names.",
        "seqno view",
        lambda s, k, v: Implies(s.data(k, v), And(k >= 1, k <= s.sent(), v == s.sent_in(k))),
        lambda s, k, v: [s.data(k, v)],
    ),
    _of(
        "HeldWereSent",
        "A datagram that a member holds was multicast in the view that it names.",
        "process seqno",
        lambda s, p, k: Implies(
            And(s.reads(p), s.held(p, k)),
            And(k >= 1, k <= s.sent(), s.tag(p, k) == s.sent_in(k)),
        ),
        lambda s, p, k: [s.held(p, k)],
    ),
    _of(
        "BehindTheCut",
        "A reader has delivered everything before the cut of its view.",
        "process",
        lambda s, p: Implies(s.reads(p), s.delivered(p) >= s.cut(s.view(p))),
    ),
    _of(
        "BeforeTheNextCut",
        "A reader delivers nothing beyond the cut of the view that it has still to install.",
        "process",
        lambda s, p: Implies(
            And(s.reads(p), s.view(p) < s.decided()), s.delivered(p) <= s.cut(s.view(p) + 1)
        ),
    ),
    _of(
        "BeganBehind",
        "A member began to read at the cut of any of its views, or before.",
        "process view",
        lambda s, p, v: Implies(
            And(running(s, p), v >= 1, v <= s.view(p), s.in_view(v, p), has_source(s, v)),
            s.begin(p) <= s.cut(v),
        ),
        lambda s, p, v: [(s.in_view(v, p), has_source(s, v)), (s.begin(p), s.cut(v))],
    ),
    _of(
        "HeardOut",
        "A member that has left a view has passed up all of it.",
        "process view",
        lambda s, p, v: Implies(
            And(running(s, p), v >= 1, v < s.view(p), s.in_view(v, p), has_source(s, v)),
            had(s, p) >= s.cut(v + 1),
        ),
        lambda s, p, v: [(s.in_view(v, p), has_source(s, v))],
    ),
    _of(
        "NoSecondStream",
        "A member that has read the source and left it behind meets it in no later view.",
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
        "The source of a frozen stream has crashed, and is in no later view.",
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
        "A member holds nothing of a frozen stream beyond the last seqno that it heard of.",
        "process seqno",
        lambda s, p, k: Implies(And(s.reads(p), s.frozen(p), s.held(p, k)), k <= s.heard(p)),
        lambda s, p, k: [s.held(p, k)],
    ),
    _of(
        "FrozenIsWhole",
        "Before the next view is decided, a member holds all of a frozen stream that it heard of.",
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
        "A member that has still to install a view without the source reads a frozen stream up to"
        " the cut, or the cut is the end of all that was sent.",
        "process",
        lambda s, p: Implies(
            And(s.reads(p), s.view(p) < s.decided(), Not(has_source(s, s.view(p) + 1))),
            Or(
                And(s.frozen(p), s.heard(p) <= s.cut(s.view(p) + 1)),
                s.cut(s.view(p) + 1) == s.sent(),
            ),
        ),
    ),
)

_PASSED: Final = (
    _of(
        "PassedUp",
        "A member has passed up the stream from its beginning without a gap, each multicast in"
        " its view.",
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
        "A multicast was passed up in a view with the source, and lies between that view's cuts.",
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
        "Only a member has passed up anything; a crash erases it.",
        "process",
        lambda s, p: Implies(s.passed(p) >= 1, s.status(p) == MEMBER),
    ),
)

_KEPT: Final = (
    _of(
        "ToldIsTrue",
        "A member's acknowledgement claims no more than it has passed up.",
        "process seqno",
        lambda s, p, k: Implies(And(s.acks(p, k), running(s, p)), k <= had(s, p)),
        lambda s, p, k: [s.acks(p, k)],
    ),
    _of(
        "AckedIsTrue",
        "The source counts as acknowledged no more than a member has passed up, or a joiner's cut.",
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
        "Every member of the view has passed up what a reader has passed up and no longer holds.",
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
        "The source reads its own stream from the first multicast on.",
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
        "The source holds every multicast of its own that it has still to pass up.",
        "seqno",
        lambda s, k: Implies(
            And(running(s, s.source()), k > s.delivered(s.source()), k <= s.sent()),
            s.held(s.source(), k),
        ),
        lambda s, k: [s.held(s.source(), k)],
    ),
)

INVARIANT: Final = (*_VIEWS, *_CUTS, *_STREAM, *_FROZEN, *_PASSED, *_KEPT)
