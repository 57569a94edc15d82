"""The invariant's conjuncts about lives, views and sent messages."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .vocabulary import (
    JOINING,
    MEMBER,
    REPLACED,
    UNBORN,
    in_part,
    is_heard,
    known,
    present,
    running,
)


def lives_conjuncts() -> tuple[Conjunct, ...]:
    """The lives of a node follow one another, and counting continues."""

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
        return Implies(And(earlier, s.status(b) != UNBORN), s.base(a) + s.sent(a) <= s.base(b))

    return (
        Conjunct(
            "StatusIsKnown",
            "A status is one of the seven statuses.",
            ("process",),
            lambda s, p: And(s.status(p) >= UNBORN, s.status(p) <= REPLACED),
            lambda s, p: [s.status(p)],
        ),
        Conjunct(
            "OneLifeAtATime",
            "An earlier life of a node is replaced once a later one has begun.",
            ("process", "process"),
            one_present,
            lambda s, a, b: [(s.status(a), s.status(b)), (s.base(a), s.base(b))],
        ),
        Conjunct(
            "Counted",
            "seqno counts the messages of a process; `said` includes those of its node's former"
            " lives.",
            ("process",),
            counted,
            lambda s, p: [
                s.status(p),
                s.sent(p),
                s.said(p),
                s.seqno(p),
                s.heard(p),
                s.length(p),
                s.base(p),
            ],
        ),
        Conjunct(
            "BeginsEmpty",
            "A process that is not yet a member has sent, multicast and delivered nothing.",
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


def views_conjuncts() -> tuple[Conjunct, ...]:
    """Every running process is in the last view, and views go from earlier lives to later ones."""

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
        return Implies(And(known(s, v), both), a == b)

    def later_lives(s: World, v: Expr, w: Expr, a: Expr, b: Expr) -> Expr:
        both = And(s.member(v, a), s.member(w, b), s.node(a) == s.node(b))
        known = And(v >= 1, v < w, w <= s.last_view())
        return Implies(And(known, both), s.incarnation(a) <= s.incarnation(b))

    return (
        Conjunct("SomeView", "There is at least one view.", (), lambda s: s.last_view() >= 1),
        Conjunct(
            "RunningInLast",
            "A running process is a member of the last view, and is in that view or the one"
            " before.",
            ("process",),
            in_last,
            lambda s, p: [s.status(p)],
        ),
        Conjunct(
            "MembersAreBorn",
            "A member of a view is a process that has begun.",
            ("view", "process"),
            lambda s, v, p: Implies(And(known(s, v), s.member(v, p)), s.status(p) != UNBORN),
            lambda s, v, p: [s.member(v, p)],
        ),
        Conjunct(
            "StrangersStayOutside",
            "No view contains a stranger.",
            ("view", "process"),
            lambda s, v, p: Implies(And(known(s, v), s.member(v, p)), Not(s.stranger(s.node(p)))),
            lambda s, v, p: [s.member(v, p)],
        ),
        Conjunct(
            "CoordinatorIsMember",
            "A view's coordinator is a member of it, and not one that joins with it.",
            ("view",),
            lambda s, v: Implies(
                known(s, v),
                And(s.member(v, s.coordinator(v)), Not(s.joiner(v, s.coordinator(v)))),
            ),
            lambda s, v: [s.coordinator(v)],
        ),
        Conjunct(
            "CoordinatorWasMember",
            "The last view's coordinator was a member before that view.",
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
            lambda s, v: Implies(known(s, v), s.status(s.coordinator(v)) >= MEMBER),
            lambda s, v: [s.coordinator(v)],
        ),
        Conjunct(
            "JoinersAreMembers",
            "A process that joins with a view is a member of it.",
            ("view", "process"),
            lambda s, v, p: Implies(And(known(s, v), s.joiner(v, p)), s.member(v, p)),
            lambda s, v, p: [s.joiner(v, p)],
        ),
        Conjunct(
            "OneLifeInAView",
            "No view contains two lives of one node.",
            ("view", "process", "process"),
            same_node,
            lambda s, v, a, b: [(s.member(v, a), s.member(v, b))],
        ),
        Conjunct(
            "LaterViewsLaterLives",
            "A later view contains no earlier life of a node.",
            ("view", "view", "process", "process"),
            later_lives,
            lambda s, v, w, a, b: [(s.member(v, a), s.member(w, b))],
        ),
    )


def messages_conjuncts() -> tuple[Conjunct, ...]:
    """Every message anywhere was sent by a member of the view that it belongs to."""

    def sent(s: World, a: Expr, k: Expr, v: Expr) -> Expr:
        return And(known(s, v), s.member(v, a), k >= 1, k <= s.sent(a))

    return (
        Conjunct(
            "ForwardsWereSent",
            "A FORWARD under way from its sender, who is no stranger, was sent by a member of the"
            " view that it is tagged with.",
            ("node", "process", "seqno", "view", "process"),
            lambda s, c, a, k, v, d: Implies(
                And(s.forwards(c, a, k, v, d), c == s.node(a), Not(s.stranger(c))),
                sent(s, a, k, v),
            ),
            lambda s, c, a, k, v, d: [s.forwards(c, a, k, v, d)],
        ),
        Conjunct(
            "EarlyWereSent",
            "A FORWARD that waits for its view, and is no stranger's, was sent by a member of that"
            " view.",
            ("process", "process", "seqno", "view"),
            lambda s, p, a, k, v: Implies(
                And(s.early(p, a, k, v), Not(s.stranger(s.node(a)))), sent(s, a, k, v)
            ),
            lambda s, p, a, k, v: [s.early(p, a, k, v)],
        ),
        Conjunct(
            "TableWasSent",
            "Every message in forwardTable was sent.",
            ("process", "seqno"),
            lambda s, p, k: Implies(s.forward_table(p, k), And(k >= 1, k <= s.sent(p))),
            lambda s, p, k: [s.forward_table(p, k)],
        ),
        Conjunct(
            "ResendWasSent",
            "Every message that is to be resent was sent.",
            ("process", "seqno"),
            lambda s, p, k: Implies(s.resend(p, k), And(k >= 1, k <= s.sent(p))),
            lambda s, p, k: [s.resend(p, k)],
        ),
        Conjunct(
            "OrderedWereSent",
            "Every message that was multicast in a view was sent by a member of that view.",
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
            "Every message that a process delivered was sent, and the process is a member of the"
            " view of delivery.",
            ("process", "index"),
            lambda s, p, j: Implies(
                is_heard(s, p, j),
                And(
                    s.heard_seqno(p, j) >= 1,
                    s.heard_seqno(p, j) <= s.sent(s.heard_from(p, j)),
                    known(s, s.heard_view(p, j)),
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
