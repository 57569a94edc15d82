"""The invariant's conjuncts about streams, positions and the answers to joiners."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, World

from .vocabulary import JOINING, REPLACED, UNBORN, in_part, known, running


def streams_conjuncts() -> tuple[Conjunct, ...]:
    """A view owns an interval of its coordinator's stream; readers are in that of their view."""

    def remembered(s: World, c: Expr, i: Expr) -> Expr:
        v = s.data_view(c, i)
        return Implies(
            And(i >= 1, i <= s.length(c)),
            And(
                s.coordinator(v) == c,
                in_part(s, v, i),
                s.data_from(c, i) == s.order_from(v, i),
                s.data_seqno(c, i) == s.order_seqno(v, i),
            ),
        )

    def there(s: World, v: Expr) -> Expr:
        c = s.coordinator(v)
        return Implies(
            And(known(s, v), s.status(c) != REPLACED),
            And(
                s.final(v) <= s.length(c),
                Implies(s.first(v) < s.final(v), s.data_view(c, s.final(v)) == v),
            ),
        )

    def tagged(s: World, v: Expr, i: Expr) -> Expr:
        c = s.coordinator(v)
        return Implies(And(in_part(s, v, i), s.status(c) != REPLACED), s.data_view(c, i) == v)

    def apart(s: World, v: Expr, w: Expr) -> Expr:
        both = And(v >= 1, v < w, w <= s.last_view(), s.coordinator(v) == s.coordinator(w))
        return Implies(both, s.final(v) <= s.first(w))

    def complete(s: World) -> Expr:
        c = s.coordinator(s.last_view())
        return Implies(s.status(c) != REPLACED, s.length(c) == s.final(s.last_view()))

    def seamless(s: World) -> Expr:
        last = s.last_view()
        c, old = s.coordinator(last), s.coordinator(last - 1)
        return Implies(
            last >= 2,
            And(
                Implies(c == old, s.first(last) == s.final(last - 1)),
                Implies(
                    And(c != old, s.status(old) != REPLACED),
                    s.length(old) == s.final(last - 1),
                ),
            ),
        )

    def reading(s: World, p: Expr) -> Expr:
        v = s.view(p)
        c = s.coordinator(v)
        return Implies(
            running(s, p),
            And(
                s.first(v) <= s.at(p),
                s.at(p) <= s.final(v),
                If(s.status(c) == REPLACED, s.at(p) == s.final(v), s.at(p) == s.position(p, c)),
            ),
        )

    def others_read(s: World, p: Expr, c: Expr) -> Expr:
        last = s.last_view()
        other = And(c != s.coordinator(last), c != s.coordinator(s.view(p)))
        there = And(running(s, p), s.member(last, c), s.status(c) != REPLACED)
        return Implies(And(there, other), s.position(p, c) == s.length(c))

    def next_read(s: World, p: Expr) -> Expr:
        last = s.last_view()
        c = s.coordinator(last)
        behind = And(running(s, p), s.view(p) + 1 == last)
        return Implies(
            behind,
            And(
                Implies(
                    And(s.status(c) != REPLACED, c != s.coordinator(s.view(p))),
                    s.position(p, c) == s.first(last),
                ),
                Implies(s.status(c) == REPLACED, s.final(last) == s.first(last)),
            ),
        )

    def unread(s: World, p: Expr, c: Expr) -> Expr:
        new = Or(s.status(c) == UNBORN, s.status(c) == JOINING)
        return Implies(new, s.position(p, c) == 0)

    return (
        Conjunct(
            "PartsAreIntervals",
            "The multicasts of a coordinator in its view are an interval of its stream: the"
            " view's part.",
            ("view",),
            lambda s, v: Implies(known(s, v), And(s.first(v) >= 0, s.first(v) <= s.final(v))),
            lambda s, v: [s.final(v), s.first(v)],
        ),
        Conjunct(
            "StreamIsRemembered",
            "An entry of a stream was multicast by its owner, as coordinator of the view of its"
            " tag.",
            ("process", "place"),
            remembered,
            lambda s, c, i: [s.data_view(c, i)],
        ),
        Conjunct(
            "PartIsThere",
            "A multicast of a view remains in the stream while the coordinator lives.",
            ("view",),
            there,
            lambda s, v: [s.final(v)],
        ),
        Conjunct(
            "PartIsTagged",
            "A multicast of a view has the tag of that view.",
            ("view", "place"),
            tagged,
            lambda s, v, i: [s.data_view(s.coordinator(v), i)],
        ),
        Conjunct(
            "PartsAreApart",
            "The parts of one stream that belong to different views are in their order.",
            ("view", "view"),
            apart,
            lambda s, v, w: [(s.final(v), s.first(w))],
        ),
        Conjunct(
            "LastPartIsLast",
            "The last view's coordinator has multicast nothing after that view's part.",
            (),
            complete,
        ),
        Conjunct(
            "PartsAreSeamless",
            "Only the last view's part may follow the part of the view before.",
            (),
            seamless,
        ),
        Conjunct(
            "ReadingItsView",
            "A running process has read its view's part up to a place; all of it, if the"
            " coordinator has restarted.",
            ("process",),
            reading,
            lambda s, p: [s.view(p)],
        ),
        Conjunct(
            "OthersAreRead",
            "A running process has read all streams of members that coordinate neither the last"
            " view nor its own.",
            ("process", "process"),
            others_read,
            lambda s, p, c: [s.position(p, c)],
        ),
        Conjunct(
            "NextIsUnread",
            "A member that lacks the last view has read its coordinator's stream up to the"
            " beginning of that view's part.",
            ("process",),
            next_read,
            lambda s, p: [s.view(p)],
        ),
        Conjunct(
            "PositionsCount",
            "Positions, also those in digests, are at least 0.",
            ("process", "process"),
            lambda s, p, c: And(s.position(p, c) >= 0, Implies(s.answered(p), s.digest(p, c) >= 0)),
            lambda s, p, c: [s.position(p, c), s.digest(p, c)],
        ),
        Conjunct(
            "NewAreUnread",
            "The position in the stream of a process that is not yet a member is 0.",
            ("process", "process"),
            unread,
            lambda s, p, c: [s.position(p, c)],
        ),
    )


def joiners_conjuncts() -> tuple[Conjunct, ...]:
    """A joiner starts where its view starts, and misses nothing before."""

    def answer(s: World, p: Expr) -> Expr:
        last = s.last_view()
        c = s.coordinator(last)
        return Implies(
            s.answered(p),
            And(
                s.status(p) == JOINING,
                s.answer_view(p) == last,
                s.joiner(last, p),
                s.status(c) != REPLACED,
                s.digest(p, c) == s.first(last),
            ),
        )

    def digest(s: World, p: Expr, c: Expr) -> Expr:
        last = s.last_view()
        there = And(s.member(last, c), c != s.coordinator(last), s.status(c) != REPLACED)
        new = Or(s.status(c) == UNBORN, s.status(c) == JOINING)
        return Implies(
            s.answered(p),
            And(
                Implies(there, s.digest(p, c) == s.length(c)),
                Implies(new, s.digest(p, c) == 0),
            ),
        )

    def unanswered(s: World, p: Expr) -> Expr:
        last = s.last_view()
        c = s.coordinator(last)
        return Implies(
            And(s.status(p) == JOINING, s.member(last, p)),
            And(
                s.joiner(last, p),
                Implies(
                    Not(s.answered(p)),
                    And(
                        s.final(last) == s.first(last),
                        Implies(running(s, c), s.view(c) + 1 == last),
                    ),
                ),
            ),
        )

    def missed(s: World, v: Expr, p: Expr) -> Expr:
        before = And(v >= 1, v < s.last_view(), s.member(v, p), s.status(p) == JOINING)
        return Implies(before, s.final(v) == s.first(v))

    return (
        Conjunct(
            "AnswerIsTheCut",
            "A JOIN_RSP is for the last view, and its digest is where that view's part begins.",
            ("process",),
            answer,
            lambda s, p: [s.answered(p)],
        ),
        Conjunct(
            "AnswerIsTheTable",
            "The table of a JOIN_RSP equals receivedTable at the place of its digest.",
            ("process", "process"),
            lambda s, p, a: Implies(
                s.answered(p),
                s.answer_table(p, a) == s.top(s.last_view(), s.first(s.last_view()), a),
            ),
            lambda s, p, a: [s.answer_table(p, a)],
        ),
        Conjunct(
            "AnswerHasRead",
            "The digest of a JOIN_RSP covers all that the other members have multicast.",
            ("process", "process"),
            digest,
            lambda s, p, c: [s.digest(p, c)],
        ),
        Conjunct(
            "UnansweredMissNothing",
            "Nothing is multicast in the last view while one of its joiners has no JOIN_RSP.",
            ("process",),
            unanswered,
            lambda s, p: [s.status(p)],
        ),
        Conjunct(
            "FailedJoinsMissNothing",
            "Nothing was multicast in an earlier view with a process that is still joining.",
            ("view", "process"),
            missed,
            lambda s, v, p: [s.member(v, p)],
        ),
    )
