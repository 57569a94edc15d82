"""Why SEQUENCER is right: the inductive invariant, conjunct by conjunct, and what it implies.

Each conjunct has a name, a sentence (what `raincheck prove` prints and docs/proofs.md explains)
and a formula. None mentions bounds: v ranges over all views decided so far, i over places in a
stream, j over what a process has delivered, k over seqnos.
"""

from __future__ import annotations

from .induction import Conjunct
from .logic import And, Expr, If, Implies, Not, Or, World
from .sequencer_vocabulary import (
    JOINING,
    MEMBER,
    REPLACED,
    UNBORN,
    Basis,
    ended,
    in_part,
    is_heard,
    present,
    running,
)


def invariant(basis: Basis) -> tuple[Conjunct, ...]:
    """Return the conjuncts, those about views first."""
    return (*_lives(), *_views(), *_messages(), *_streams(), *_joiners(), *_order(basis), *_heard())


def _known(s: World, v: Expr) -> Expr:
    return And(v >= 1, v <= s.last_view())


def _lives() -> tuple[Conjunct, ...]:
    def one_present(s: World, a: Expr, b: Expr) -> Expr:
        earlier = And(s.node(a) == s.node(b), s.incarnation(a) < s.incarnation(b))
        return Implies(And(earlier, s.status(b) != UNBORN), s.status(a) == REPLACED)

    def before_sending(s: World, p: Expr) -> Expr:
        new = Or(s.status(p) == UNBORN, s.status(p) == JOINING)
        empty = And(s.sent(p) == 0, s.seqno(p) == 0, s.heard(p) == 0, s.length(p) == 0)
        return Implies(new, And(Not(s.founder(p)), empty))

    def counted(s: World, p: Expr) -> Expr:
        return And(
            s.sent(p) >= 0,
            s.base(p) >= 0,
            s.heard(p) >= 0,
            s.length(p) >= 0,
            Implies(running(s, p), s.seqno(p) == s.sent(p)),
            Implies(present(s, p), s.said(p) == s.base(p) + s.sent(p)),
        )

    def numbering(s: World, a: Expr, b: Expr) -> Expr:
        earlier = And(s.node(a) == s.node(b), s.incarnation(a) < s.incarnation(b))
        return Implies(
            And(earlier, s.status(b) != UNBORN), s.base(a) + s.sent(a) <= s.base(b)
        )

    return (
        Conjunct(
            "StatusIsKnown",
            "A status is one of the seven there are.",
            ("process",),
            lambda s, p: And(s.status(p) >= UNBORN, s.status(p) <= REPLACED),
            lambda s, p: [s.status(p)],
        ),
        Conjunct(
            "OneLifeAtATime",
            "When a later life of a node has begun, the earlier one has been replaced.",
            ("process", "process"),
            one_present,
            lambda s, a, b: [(s.status(a), s.status(b)), (s.base(a), s.base(b))],
        ),
        Conjunct(
            "Counted",
            "seqno counts what a process has sent, said adds what its former lives had.",
            ("process",),
            counted,
            lambda s, p: [s.status(p), s.sent(p), s.said(p), s.seqno(p), s.heard(p), s.length(p), s.base(p)],
        ),
        Conjunct(
            "BeginsEmpty",
            "Who is not yet a member has sent, multicast and delivered nothing.",
            ("process",),
            before_sending,
            lambda s, p: [s.status(p), s.sent(p)],
        ),
        Conjunct(
            "LivesCountOn",
            "A later life numbers its payloads above all those of the earlier ones.",
            ("process", "process"),
            numbering,
            lambda s, a, b: [(s.base(a), s.base(b))],
        ),
    )


def _views() -> tuple[Conjunct, ...]:
    def in_last(s: World, p: Expr) -> Expr:
        last = s.last_view()
        return Implies(
            running(s, p),
            And(
                s.view(p) >= 1,
                Or(s.view(p) == last, s.view(p) + 1 == last),
                s.member(s.view(p), p),
                s.member(last, p),
            ),
        )

    def same_node(s: World, v: Expr, a: Expr, b: Expr) -> Expr:
        both = And(s.member(v, a), s.member(v, b), s.node(a) == s.node(b))
        return Implies(And(_known(s, v), both), a == b)

    def later_lives(s: World, v: Expr, w: Expr, a: Expr, b: Expr) -> Expr:
        both = And(s.member(v, a), s.member(w, b), s.node(a) == s.node(b))
        known = And(v >= 1, v < w, w <= s.last_view())
        return Implies(And(known, both), s.incarnation(a) <= s.incarnation(b))

    return (
        Conjunct("SomeView", "There is a view.", (), lambda s: s.last_view() >= 1),
        Conjunct(
            "RunningInLast",
            "Who runs is a member of the last view, and in that view or the one before.",
            ("process",),
            in_last,
            lambda s, p: [s.status(p)],
        ),
        Conjunct(
            "MembersAreBorn",
            "A member of a view is a process that has begun.",
            ("view", "process"),
            lambda s, v, p: Implies(And(_known(s, v), s.member(v, p)), s.status(p) != UNBORN),
            lambda s, v, p: [s.member(v, p)],
        ),
        Conjunct(
            "CoordinatorIsMember",
            "A view's coordinator is a member of it, and not one that joins with it.",
            ("view",),
            lambda s, v: Implies(
                _known(s, v),
                And(s.member(v, s.coordinator(v)), Not(s.joiner(v, s.coordinator(v)))),
            ),
            lambda s, v: [s.coordinator(v)],
        ),
        Conjunct(
            "CoordinatorWasMember",
            "The last view's coordinator has been a member before.",
            (),
            lambda s: Implies(
                s.last_view() >= 2,
                s.member(s.last_view() - 1, s.coordinator(s.last_view())),
            ),
        ),
        Conjunct(
            "CoordinatorHasJoined",
            "A view's coordinator is no longer joining.",
            ("view",),
            lambda s, v: Implies(_known(s, v), s.status(s.coordinator(v)) >= MEMBER),
            lambda s, v: [s.coordinator(v)],
        ),
        Conjunct(
            "JoinersAreMembers",
            "Who joins with a view is a member of it.",
            ("view", "process"),
            lambda s, v, p: Implies(And(_known(s, v), s.joiner(v, p)), s.member(v, p)),
            lambda s, v, p: [s.joiner(v, p)],
        ),
        Conjunct(
            "OneLifeInAView",
            "No view has two lives of one node.",
            ("view", "process", "process"),
            same_node,
            lambda s, v, a, b: [(s.member(v, a), s.member(v, b))],
        ),
        Conjunct(
            "LaterViewsLaterLives",
            "A later view has no earlier life of a node.",
            ("view", "view", "process", "process"),
            later_lives,
            lambda s, v, w, a, b: [(s.member(v, a), s.member(w, b))],
        ),
    )


def _messages() -> tuple[Conjunct, ...]:
    def sent(s: World, a: Expr, k: Expr, v: Expr) -> Expr:
        return And(_known(s, v), s.member(v, a), k >= 1, k <= s.sent(a))

    return (
        Conjunct(
            "ForwardsWereSent",
            "A FORWARD under way was sent, by a member of the view that it is tagged with.",
            ("process", "seqno", "view", "process"),
            lambda s, a, k, v, d: Implies(s.forwards(a, k, v, d), sent(s, a, k, v)),
            lambda s, a, k, v, d: [s.forwards(a, k, v, d)],
        ),
        Conjunct(
            "EarlyWereSent",
            "So was a FORWARD that waits for its view.",
            ("process", "process", "seqno", "view"),
            lambda s, p, a, k, v: Implies(s.early(p, a, k, v), sent(s, a, k, v)),
            lambda s, p, a, k, v: [s.early(p, a, k, v)],
        ),
        Conjunct(
            "TableWasSent",
            "What is in forwardTable was sent.",
            ("process", "seqno"),
            lambda s, p, k: Implies(s.forward_table(p, k), And(k >= 1, k <= s.sent(p))),
            lambda s, p, k: [s.forward_table(p, k)],
        ),
        Conjunct(
            "ResendWasSent",
            "What is to be resent was sent.",
            ("process", "seqno"),
            lambda s, p, k: Implies(s.resend(p, k), And(k >= 1, k <= s.sent(p))),
            lambda s, p, k: [s.resend(p, k)],
        ),
        Conjunct(
            "OrderedWereSent",
            "What was multicast in a view was sent, by a member of that view.",
            ("view", "place"),
            lambda s, v, i: Implies(
                in_part(s, v, i), sent(s, s.order_from(v, i), s.order_seqno(v, i), v)
            ),
            lambda s, v, i: [
                s.order_from(v, i),
                s.order_seqno(v, i),
                s.fresh(v, i),
            ],
        ),
        Conjunct(
            "HeardWereSent",
            "What a process delivered was sent, and it was in the view in which it did so.",
            ("process", "index"),
            lambda s, p, j: Implies(
                is_heard(s, p, j),
                And(
                    s.heard_seqno(p, j) >= 1,
                    s.heard_seqno(p, j) <= s.sent(s.heard_from(p, j)),
                    _known(s, s.heard_view(p, j)),
                    s.member(s.heard_view(p, j), p),
                ),
            ),
            lambda s, p, j: [
                s.heard_from(p, j),
                s.heard_seqno(p, j),
                s.heard_view(p, j),
                s.heard_at(p, j),
            ],
        ),
    )


def _streams() -> tuple[Conjunct, ...]:
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
            And(_known(s, v), s.status(c) != REPLACED),
            And(
                s.final(v) <= s.length(c),
                Implies(s.first(v) < s.final(v), s.data_view(c, s.final(v)) == v),
            ),
        )

    def tagged(s: World, v: Expr, i: Expr) -> Expr:
        c = s.coordinator(v)
        return Implies(
            And(in_part(s, v, i), s.status(c) != REPLACED), s.data_view(c, i) == v
        )

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
                If(
                    s.status(c) == REPLACED, s.at(p) == s.final(v), s.at(p) == s.position(p, c)
                ),
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
            "What a view's coordinator multicast in it is an interval of its stream.",
            ("view",),
            lambda s, v: Implies(
                _known(s, v), And(s.first(v) >= 0, s.first(v) <= s.final(v))
            ),
            lambda s, v: [s.final(v), s.first(v)],
        ),
        Conjunct(
            "StreamIsRemembered",
            "A stream holds what its node multicast, as coordinator, in the view of the tag.",
            ("process", "place"),
            remembered,
            lambda s, c, i: [s.data_view(c, i)],
        ),
        Conjunct(
            "PartIsThere",
            "What was multicast in a view stays in the stream while its coordinator lives.",
            ("view",),
            there,
            lambda s, v: [s.final(v)],
        ),
        Conjunct(
            "PartIsTagged",
            "and has the tag of that view.",
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
            "Nothing comes after the last but one view's part, but the last view's.",
            (),
            seamless,
        ),
        Conjunct(
            "ReadingItsView",
            "Who runs has read its view's part up to a place; all, if its coordinator is back.",
            ("process",),
            reading,
            lambda s, p: [s.view(p)],
        ),
        Conjunct(
            "OthersAreRead",
            "Who runs has read all streams of members that coordinate neither view.",
            ("process", "process"),
            others_read,
            lambda s, p, c: [s.position(p, c)],
        ),
        Conjunct(
            "NextIsUnread",
            "Who has not installed the last view has read its coordinator up to its beginning.",
            ("process",),
            next_read,
            lambda s, p: [s.view(p)],
        ),
        Conjunct(
            "PositionsCount",
            "A position is not negative, nor is one in a digest.",
            ("process", "process"),
            lambda s, p, c: And(
                s.position(p, c) >= 0, Implies(s.answered(p), s.digest(p, c) >= 0)
            ),
            lambda s, p, c: [s.position(p, c), s.digest(p, c)],
        ),
        Conjunct(
            "NewAreUnread",
            "Nobody has a position in the stream of one that is not a member yet.",
            ("process", "process"),
            unread,
            lambda s, p, c: [s.position(p, c)],
        ),
    )


def _joiners() -> tuple[Conjunct, ...]:
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
            "Its table is what everybody's receivedTable is at that place.",
            ("process", "process"),
            lambda s, p, a: Implies(
                s.answered(p),
                s.answer_table(p, a) == s.top(s.last_view(), s.first(s.last_view()), a),
            ),
            lambda s, p, a: [s.answer_table(p, a)],
        ),
        Conjunct(
            "AnswerHasRead",
            "Its digest has all that the other members have multicast.",
            ("process", "process"),
            digest,
            lambda s, p, c: [s.digest(p, c)],
        ),
        Conjunct(
            "UnansweredMissNothing",
            "While a joiner of the last view has no answer nothing is multicast in that view.",
            ("process",),
            unanswered,
            lambda s, p: [s.status(p)],
        ),
        Conjunct(
            "FailedJoinsMissNothing",
            "Nothing was multicast in an earlier view that has a process which still joins.",
            ("view", "process"),
            missed,
            lambda s, v, p: [s.member(v, p)],
        ),
    )


def _order(basis: Basis) -> tuple[Conjunct, ...]:
    prune = basis.rules.prune_table

    def step(s: World, v: Expr, i: Expr, a: Expr) -> Expr:
        before, k = s.top(v, i - 1, a), s.order_seqno(v, i)
        raised = And(a == s.order_from(v, i), k > before)
        return Implies(in_part(s, v, i), s.top(v, i, a) == If(raised, k, before))

    def is_fresh(s: World, v: Expr, i: Expr) -> Expr:
        newer = s.order_seqno(v, i) > s.top(v, i - 1, s.order_from(v, i))
        return Implies(in_part(s, v, i), s.fresh(v, i) == newer)

    def carried(s: World, a: Expr) -> Expr:
        last = s.last_view()
        kept = Or(not prune, s.member(last, a))
        at_end = s.top(last - 1, s.final(last - 1), a)
        return Implies(last >= 2, s.top(last, s.first(last), a) == If(kept, at_end, 0))

    def below(s: World, v: Expr, i: Expr, x: Expr) -> Expr:
        last, a = s.last_view(), s.order_from(v, i)
        here = And(s.first(last) <= x, x <= s.final(last), Or(v < last, i <= x))
        return Implies(
            And(in_part(s, v, i), here, s.member(last, a)), s.order_seqno(v, i) <= s.top(last, x, a)
        )

    def once(s: World, v: Expr, i: Expr, w: Expr, x: Expr) -> Expr:
        both = And(in_part(s, v, i), in_part(s, w, x), s.fresh(v, i), s.fresh(w, x))
        earlier = Or(v < w, And(v == w, i < x))
        same = s.order_from(v, i) == s.order_from(w, x)
        return Implies(And(both, earlier, same), s.order_seqno(v, i) < s.order_seqno(w, x))

    return (
        Conjunct(
            "SameTable",
            "receivedTable is a function of the view and of how far it has been read.",
            ("process", "process"),
            lambda s, p, a: Implies(
                running(s, p), s.received(p, a) == s.top(s.view(p), s.at(p), a)
            ),
            lambda s, p, a: [s.received(p, a)],
        ),
        Conjunct(
            "TableStep",
            "Reading one DATA raises its sender's entry, if its seqno is higher.",
            ("view", "place", "process"),
            step,
            lambda s, v, i, a: [(s.order_from(v, i), s.top(v, i, a))],
        ),
        Conjunct(
            "TableCarriedOver",
            "A view begins with the table that the one before ended with, pruned.",
            ("process",),
            carried,
            lambda s, a: [s.top(s.last_view(), s.first(s.last_view()), a)],
        ),
        Conjunct(
            "FreshIsAbove",
            "A DATA is fresh if its seqno is above its sender's entry.",
            ("view", "place"),
            is_fresh,
            lambda s, v, i: [s.fresh(v, i)],
        ),
        Conjunct(
            "TableIsAbove",
            "A present sender's entry is not below anything multicast for it before.",
            ("view", "place", "place"),
            below,
            lambda s, v, i, x: [(s.order_seqno(v, i), s.top(s.last_view(), x, s.order_from(v, i)))],
        ),
        Conjunct(
            "GoneSendersAreOver",
            "A sender of an earlier multicast that is no longer a member has ended.",
            ("view", "place"),
            lambda s, v, i: Implies(
                And(in_part(s, v, i), Not(s.member(s.last_view(), s.order_from(v, i)))),
                ended(s, s.order_from(v, i)),
            ),
            lambda s, v, i: [s.order_from(v, i)],
        ),
        Conjunct(
            "FreshOnce",
            "Of one sender's fresh DATA, in all views, the later has the higher seqno.",
            ("view", "place", "view", "place"),
            once,
            lambda s, v, i, w, x: [(s.fresh(v, i), s.fresh(w, x))],
        ),
    )


def _heard() -> tuple[Conjunct, ...]:
    def source(s: World, p: Expr, j: Expr) -> Expr:
        v, i = s.heard_view(p, j), s.heard_at(p, j)
        return Implies(
            And(running(s, p), is_heard(s, p, j)),
            And(
                v <= s.view(p),
                in_part(s, v, i),
                Implies(v == s.view(p), i <= s.at(p)),
                s.fresh(v, i),
                s.heard_from(p, j) == s.order_from(v, i),
                s.heard_seqno(p, j) == s.order_seqno(v, i),
                s.index_of(p, v, i) == j,
            ),
        )

    def in_order(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        v, w = s.heard_view(p, j), s.heard_view(p, x)
        later = Or(v < w, And(v == w, s.heard_at(p, j) < s.heard_at(p, x)))
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x)
        return Implies(And(running(s, p), both), later)

    def all_heard(s: World, p: Expr, v: Expr, i: Expr) -> Expr:
        j = s.index_of(p, v, i)
        read = And(v <= s.view(p), Implies(v == s.view(p), i <= s.at(p)))
        fresh = And(in_part(s, v, i), s.fresh(v, i))
        return Implies(
            And(running(s, p), s.member(v, p), read, fresh),
            And(is_heard(s, p, j), s.heard_view(p, j) == v, s.heard_at(p, j) == i),
        )

    def table_covers(s: World, p: Expr, j: Expr) -> Expr:
        a = s.heard_from(p, j)
        there = And(running(s, p), is_heard(s, p, j), s.member(s.view(p), a))
        return Implies(there, s.heard_seqno(p, j) <= s.received(p, a))

    def rising(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        a, b = s.heard_from(p, j), s.heard_from(p, x)
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x, s.node(a) == s.node(b))
        return Implies(
            both,
            If(
                a == b,
                s.heard_seqno(p, j) < s.heard_seqno(p, x),
                s.incarnation(a) < s.incarnation(b),
            ),
        )

    def latest(s: World, p: Expr, j: Expr) -> Expr:
        a = s.heard_from(p, j)
        last = s.latest(p, a)
        return Implies(
            is_heard(s, p, j), And(j <= last, last <= s.heard(p), s.heard_from(p, last) == a)
        )

    def entry(s: World, p: Expr, a: Expr) -> Expr:
        last = s.latest(p, a)
        there = And(running(s, p), s.member(s.view(p), a))
        return And(
            Or(last == 0, And(is_heard(s, p, last), s.heard_from(p, last) == a)),
            Implies(And(there, last >= 1), s.heard_seqno(p, last) == s.received(p, a)),
            Implies(And(running(s, p), last == 0, s.founder(p)), s.received(p, a) == 0),
        )

    def gapless(s: World, p: Expr, j: Expr) -> Expr:
        b, a, k = s.before(p, j), s.heard_from(p, j), s.heard_seqno(p, j)
        return Implies(
            is_heard(s, p, j),
            And(
                b >= 0,
                b < j,
                Implies(b == 0, Or(k == 1, Not(s.founder(p)))),
                Implies(
                    b > 0, And(s.heard_from(p, b) == a, k == s.heard_seqno(p, b) + 1)
                ),
            ),
        )

    def nothing_between(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        both = And(is_heard(s, p, j), is_heard(s, p, x), s.before(p, j) < x, x < j)
        return Implies(both, s.heard_from(p, x) != s.heard_from(p, j))

    return (
        Conjunct(
            "HeardFromTheOrder",
            "What a running process delivered is a fresh DATA of a part that it has read.",
            ("process", "index"),
            source,
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "HeardInOrder",
            "It delivered in the order of views and places.",
            ("process", "index", "index"),
            in_order,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
        Conjunct(
            "AllIsHeard",
            "It delivered every fresh DATA of the parts that it has read.",
            ("process", "view", "place"),
            all_heard,
            lambda s, p, v, i: [(s.member(v, p), s.fresh(v, i))],
        ),
        Conjunct(
            "TableCoversHeard",
            "A member's entry is not below what was delivered of it.",
            ("process", "index"),
            table_covers,
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "GoneStayGone",
            "A sender that it has heard and that has left its view is in no later one.",
            ("process", "index"),
            lambda s, p, j: Implies(
                And(
                    running(s, p),
                    is_heard(s, p, j),
                    Not(s.member(s.view(p), s.heard_from(p, j))),
                ),
                Not(s.member(s.last_view(), s.heard_from(p, j))),
            ),
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "HeardRises",
            "Of one sender the later delivery has the higher seqno, of one node the later life.",
            ("process", "index", "index"),
            rising,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
        Conjunct(
            "LatestIsLast",
            "`latest` is the last delivery of that sender.",
            ("process", "index"),
            latest,
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "TableIsLatest",
            "A member's entry is the seqno of its latest delivery; a founder's begins at 0.",
            ("process", "process"),
            entry,
            lambda s, p, a: [s.latest(p, a)],
        ),
        Conjunct(
            "HeardWithoutGap",
            "A delivery is the successor of the latest one of its sender.",
            ("process", "index"),
            gapless,
            lambda s, p, j: [s.heard_from(p, j), s.before(p, j)],
        ),
        Conjunct(
            "NothingBetween",
            "and there is none of its sender between the two.",
            ("process", "index", "index"),
            nothing_between,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
    )
