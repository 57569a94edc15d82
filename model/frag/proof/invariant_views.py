"""Of views, epochs and messages: the part of FRAG's invariant that its others begin with."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not

from .words import (
    CRASHED,
    JOINING,
    Basis,
    running,
    said,
)


def views(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what is true of views and their epochs."""
    return (
        Conjunct(
            "RunningInLast",
            "A running member is a member of its view and of the last one, and at most one view"
            " behind; who does not run has none.",
            ("process",),
            lambda s, n: And(
                s.status(n) >= JOINING,
                s.status(n) <= CRASHED,
                Implies(Not(running(s, n)), And(s.view(n) == 0, s.epoch(n) == 0)),
                Implies(
                    running(s, n),
                    And(
                        s.view(n) >= 1,
                        s.view(n) + 1 >= s.last(),
                        s.view(n) <= s.last(),
                        s.member(s.view(n), n),
                        s.member(s.last(), n),
                    ),
                ),
            ),
            lambda s, n: [s.status(n), s.view(n)],
        ),
        Conjunct(
            "MembersOfViews",
            "Only views that are decided have members; a process that has not joined yet is a"
            " member of no view but the last, as a joiner.",
            ("view", "process"),
            lambda s, v, n: Implies(
                s.member(v, n),
                And(
                    v >= 1,
                    v <= s.last(),
                    Implies(s.status(n) == JOINING, And(v == s.last(), s.joiner(v, n))),
                ),
            ),
            lambda s, v, n: [s.member(v, n)],
        ),
        Conjunct(
            "JoinersAreMembers",
            "A joiner of a view is a member of it, and the view has joiners.",
            ("view", "process"),
            lambda s, v, n: Implies(s.joiner(v, n), And(s.member(v, n), s.anew(v))),
            lambda s, v, n: [s.joiner(v, n)],
        ),
        Conjunct(
            "EpochsBegin",
            "The epoch of a view is the last view with joiners, and no later one than that of the"
            " last view.",
            ("view",),
            lambda s, v: Implies(
                And(v >= 1, v <= s.last()),
                And(
                    s.began(v) >= 1,
                    s.began(v) <= v,
                    s.began(v) <= s.began(s.last()),
                    Implies(And(basis.begin_anew, s.anew(v)), s.began(v) == v),
                ),
            ),
            lambda s, v: [s.began(v)],
        ),
        Conjunct(
            "EpochsGoOn",
            "A view without joiners goes on with the epoch of the one before.",
            ("view", "view"),
            lambda s, v, w: Implies(
                And(v >= 1, w == v + 1, w <= s.last(), Not(And(basis.begin_anew, s.anew(w)))),
                s.began(w) == s.began(v),
            ),
            lambda s, v, w: [(s.began(v), s.began(w))],
        ),
        Conjunct(
            "OneEpoch",
            "All members of a view are in its epoch.",
            ("process",),
            lambda s, n: Implies(running(s, n), s.epoch(n) == s.began(s.view(n))),
            lambda s, n: [s.epoch(n)],
        ),
    )


SENT: Final = (
    Conjunct(
        "SendingIsSent",
        "A message under way is one that its sender, which runs, has sent and not given up.",
        ("process", "seqno"),
        lambda s, n, m: Implies(
            s.sending(n, m),
            And(
                running(s, n),
                m >= 1,
                m <= s.count(n),
                s.out(n, m) >= 0,
                Not(s.given_up(n, m)),
            ),
        ),
        lambda s, n, m: [s.sending(n, m)],
    ),
    Conjunct(
        "MessagesCount",
        "Messages are numbered from 1.",
        ("process",),
        lambda s, n: s.count(n) >= 0,
        lambda s, n: [s.count(n)],
    ),
    Conjunct(
        "MessagesHaveParts",
        "A message has at least one part.",
        ("process", "seqno"),
        lambda s, n, m: Implies(And(m >= 1, m <= s.count(n)), s.size(n, m) >= 1),
        lambda s, n, m: [s.size(n, m)],
    ),
    Conjunct(
        "GivenUpWasSent",
        "What is given up was sent.",
        ("process", "seqno"),
        lambda s, n, m: Implies(s.given_up(n, m), And(m >= 1, m <= s.count(n))),
        lambda s, n, m: [s.given_up(n, m)],
    ),
    Conjunct(
        "FragmentsAreOfMessages",
        "A fragment is of a message that was sent, by somebody who has joined.",
        ("process", "seqno", "view", "part"),
        lambda s, n, m, e, p: Implies(
            said(s, n, m, e, p),
            And(m >= 1, m <= s.count(n), s.status(n) != JOINING),
        ),
        lambda s, n, m, e, p: [s.waits(n, m, e, p), s.log_view(n, m, e, p)],
    ),
    Conjunct(
        "FragmentsAreOfTheEpoch",
        "A running member has sent no fragment of a later epoch than its own, and in this one those"
        " of a message under way that it counts; of what it has given up, not all of them.",
        ("process", "seqno", "view", "part"),
        lambda s, n, m, e, p: Implies(
            And(said(s, n, m, e, p), running(s, n)),
            And(
                e <= s.epoch(n),
                Implies(
                    e == s.epoch(n),
                    And(
                        Implies(s.sending(n, m), p < s.out(n, m)),
                        Implies(s.given_up(n, m), p + 1 < s.size(n, m)),
                    ),
                ),
            ),
        ),
        lambda s, n, m, e, p: [s.waits(n, m, e, p), s.log_view(n, m, e, p)],
    ),
    Conjunct(
        "OrderedOnce",
        "A fragment that waits to be ordered is in no log.",
        ("process", "seqno", "view", "part"),
        lambda s, n, m, e, p: And(
            s.log_view(n, m, e, p) >= 0,
            Implies(s.waits(n, m, e, p), s.log_view(n, m, e, p) == 0),
        ),
        lambda s, n, m, e, p: [s.waits(n, m, e, p), s.log_view(n, m, e, p)],
    ),
)
"""What is true of messages and fragments."""
