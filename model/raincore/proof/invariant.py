"""The invariant that makes Raincore's history consistent, as small conjuncts.

First come a token's line and its numbers, then the contents of a 911, and then the relation of the
lists of different epochs: `Descends` is the heart.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not, Or

from .words import between, missed, reached

EPOCHS: Final = (
    Conjunct(
        "Begun",
        "An epoch's token goes from its first list to its last, and its numbers up to `top`.",
        ("epoch",),
        lambda s, e: Implies(
            s.begun(e),
            And(
                e >= 0,
                s.on(s.first(e), e),
                s.on(s.last(e), e),
                s.at(e, s.top(e)) == s.last(e),
                s.place(e) <= s.top(e),
            ),
        ),
        lambda s, e: [s.begun(e)],
    ),
    Conjunct(
        "BegunByAClaim",
        "Every epoch but the first began with a claim, and its claimer has promised it.",
        ("epoch",),
        lambda s, e: Implies(
            s.begun(e), Or(e == 0, And(s.claimed(e), e <= s.promised(s.owner(e))))
        ),
        lambda s, e: [s.owner(e), s.anchor(e), (s.begun(e), s.claimed(e))],
    ),
    Conjunct(
        "Line",
        "The lists of one epoch descend from its first to its last.",
        ("proposal", "epoch"),
        lambda s, p, e: Implies(
            s.on(p, e),
            And(s.begun(e), s.made(p), s.anc(s.first(e), p), s.anc(p, s.last(e))),
        ),
        lambda s, p, e: [s.on(p, e)],
    ),
    Conjunct(
        "MadeFromMade",
        "A list was made after every list from which it descends.",
        ("proposal", "proposal"),
        lambda s, p, q: Implies(And(s.made(q), s.anc(p, q)), s.made(p)),
        lambda s, p, q: [(s.made(p), s.made(q), s.anc(p, q))],
    ),
    Conjunct(
        "Rises",
        "The token's list at a higher number of an epoch descends from the list at a lower one.",
        ("epoch", "seqno", "seqno"),
        lambda s, e, i, j: Implies(
            And(s.begun(e), s.place(e) <= i, i <= j, j <= s.top(e)),
            And(s.on(s.at(e, i), e), s.anc(s.at(e, i), s.at(e, j))),
        ),
        lambda s, e, i, j: [(s.at(e, i), s.at(e, j))],
    ),
    Conjunct(
        "CopyIsOfALine",
        "A copy of the token has a number and a list of its epoch.",
        ("process",),
        lambda s, n: Implies(
            s.has(n),
            And(
                s.begun(s.epoch(n)),
                s.on(s.copy(n), s.epoch(n)),
                s.at(s.epoch(n), s.seq(n)) == s.copy(n),
                s.place(s.epoch(n)) <= s.seq(n),
                s.seq(n) <= s.top(s.epoch(n)),
            ),
        ),
        lambda s, n: [s.has(n)],
    ),
    Conjunct(
        "CopyIsBased",
        "The list that a copy calls settled was settled, and the copy's list descends from it.",
        ("process",),
        lambda s, n: Implies(
            s.has(n),
            And(
                s.settled(s.base(n), s.since(n)),
                s.since(n) <= s.epoch(n),
                s.anc(s.base(n), s.copy(n)),
            ),
        ),
        lambda s, n: [s.has(n), s.base(n)],
    ),
    Conjunct(
        "Promised",
        "A member's copy is of no epoch above its promise.",
        ("process",),
        lambda s, n: And(s.epoch(n) >= 0, s.promised(n) >= s.epoch(n)),
        lambda s, n: [s.epoch(n)],
    ),
    Conjunct(
        "Promises",
        "A promise is the number of an epoch.",
        ("process",),
        lambda s, n: s.promised(n) >= 0,
        lambda s, n: [s.promised(n)],
    ),
    Conjunct(
        "Blank",
        "A member without a copy has number 0, claims nothing and is in chaos.",
        ("process",),
        lambda s, n: Or(
            s.has(n),
            And(s.epoch(n) == 0, s.seq(n) == 0, Not(s.claiming(n)), Not(s.sure(n))),
        ),
        lambda s, n: [s.has(n)],
    ),
)

TOKENS: Final = (
    Conjunct(
        "Holds",
        "An eating member has the highest number of its epoch, and has promised no later epoch.",
        ("process",),
        lambda s, n: Implies(
            s.eating(n),
            And(
                s.has(n),
                Not(s.down(n)),
                Not(s.claiming(n)),
                s.seq(n) == s.top(s.epoch(n)),
                s.promised(n) == s.epoch(n),
                s.held(s.copy(n), s.epoch(n), n),
            ),
        ),
        lambda s, n: [s.eating(n)],
    ),
    Conjunct(
        "OneToken",
        "Two eating members are in different epochs.",
        ("process", "process"),
        lambda s, n, m: Implies(And(s.eating(n), s.eating(m), s.epoch(n) == s.epoch(m)), n == m),
        lambda s, n, m: [(s.eating(n), s.eating(m))],
    ),
    Conjunct(
        "Sent",
        "A token that was sent has a number and a list of its epoch, and the list that it calls"
        " settled is.",
        ("epoch", "seqno"),
        lambda s, e, i: Implies(
            s.sent(e, i),
            And(
                s.begun(e),
                s.place(e) <= i,
                i <= s.top(e),
                s.on(s.at(e, i), e),
                s.settled(s.carried(e, i), s.carrying(e, i)),
                s.carrying(e, i) <= e,
                s.anc(s.carried(e, i), s.at(e, i)),
            ),
        ),
        lambda s, e, i: [s.sent(e, i)],
    ),
    Conjunct(
        "TakenOnce",
        "Only the last token of an epoch can still be accepted.",
        ("epoch", "seqno"),
        lambda s, e, i: Implies(And(s.sent(e, i), i < s.top(e)), reached(s, s.to(e, i), e, i)),
        lambda s, e, i: [s.sent(e, i)],
    ),
    Conjunct(
        "HeldOrSent",
        "While a member eats, no token of its epoch can be accepted.",
        ("epoch", "seqno", "process"),
        lambda s, e, i, n: Implies(
            And(s.sent(e, i), s.eating(n), s.epoch(n) == e), reached(s, s.to(e, i), e, i)
        ),
        lambda s, e, i, n: [(s.sent(e, i), s.eating(n))],
    ),
    Conjunct(
        "Ate",
        "A member that ate at the number of a token that was sent is the one to which it was sent.",
        ("epoch", "seqno", "process"),
        lambda s, e, i, n: Implies(
            s.ate(e, i, n),
            And(s.begun(e), i <= s.top(e), Implies(s.sent(e, i), n == s.to(e, i))),
        ),
        lambda s, e, i, n: [s.ate(e, i, n)],
    ),
    Conjunct(
        "AteOnce",
        "Only one member eats at a number.",
        ("epoch", "seqno", "process", "process"),
        lambda s, e, i, n, m: Implies(And(s.ate(e, i, n), s.ate(e, i, m)), n == m),
        lambda s, e, i, n, m: [(s.ate(e, i, n), s.ate(e, i, m))],
    ),
)

CLAIMS: Final = (
    Conjunct(
        "Claimed",
        "A claim carries the claimer's copy, and its epoch is one that the claimer has promised.",
        ("epoch",),
        lambda s, e: Implies(
            s.claimed(e),
            And(
                e > 0,
                e <= s.promised(s.owner(e)),
                s.source(e) < e,
                s.begun(s.source(e)),
                s.on(s.found(e), s.source(e)),
                s.at(s.source(e), s.place(e)) == s.found(e),
                s.place(s.source(e)) <= s.place(e),
                s.place(e) <= s.top(s.source(e)),
                s.settled(s.anchor(e), s.anchored(e)),
                s.anchored(e) <= s.source(e),
                s.anc(s.anchor(e), s.found(e)),
            ),
        ),
        lambda s, e: [s.claimed(e)],
    ),
    Conjunct(
        "Claims",
        "A claimer's copy is the one that its claim carries, until the claim comes back.",
        ("process",),
        lambda s, n: Implies(
            s.claiming(n),
            And(
                s.claimed(s.wanted(n)),
                s.owner(s.wanted(n)) == n,
                Not(s.begun(s.wanted(n))),
                s.wanted(n) <= s.promised(n),
                s.source(s.wanted(n)) == s.epoch(n),
                s.place(s.wanted(n)) == s.seq(n),
                s.found(s.wanted(n)) == s.copy(n),
                s.anchor(s.wanted(n)) == s.base(n),
                s.anchored(s.wanted(n)) == s.since(n),
            ),
        ),
        lambda s, n: [s.claiming(n)],
    ),
    Conjunct(
        "Granted",
        "A member that has granted a claim has promised its epoch.",
        ("epoch", "process"),
        lambda s, e, x: Implies(s.granted(e, x), And(s.claimed(e), e <= s.promised(x))),
        lambda s, e, x: [s.granted(e, x)],
    ),
    Conjunct(
        "HeldBefore",
        "A member that has held a list has a copy that is not older.",
        ("proposal", "epoch", "process"),
        lambda s, p, e, x: Implies(
            s.held(p, e, x),
            And(
                s.on(p, e),
                s.has(x),
                Or(e < s.epoch(x), And(e == s.epoch(x), s.anc(p, s.copy(x)))),
            ),
        ),
        lambda s, p, e, x: [s.held(p, e, x)],
    ),
    Conjunct(
        "GrantedKnowing",
        "The claimer's copy is not older than any list that a granting member held in an earlier"
        " epoch.",
        ("epoch", "process", "proposal", "epoch"),
        lambda s, e, x, p, d: Implies(
            And(s.granted(e, x), s.held(p, d, x), d < e),
            Or(d < s.source(e), And(d == s.source(e), s.anc(p, s.found(e)))),
        ),
        lambda s, e, x, p, d: [(s.granted(e, x), s.held(p, d, x))],
    ),
    Conjunct(
        "BeganFrom",
        "The first list of an epoch descends from its claimer's list.",
        ("epoch",),
        lambda s, e: Implies(And(s.begun(e), e > 0), s.anc(s.found(e), s.first(e))),
        lambda s, e: [s.first(e)],
    ),
    Conjunct(
        "Elected",
        "A claim has the votes of a quorum of its settled list, and of every list between that"
        " and its own.",
        ("epoch", "proposal"),
        lambda s, e, w: Implies(
            And(s.begun(e), e > 0, between(s, s.anchor(e), w, s.found(e))),
            s.quorum(s.ballot(e), w),
        ),
        lambda s, e, w: [(s.begun(e), s.anc(w, s.found(e)), s.anc(s.anchor(e), w))],
    ),
    Conjunct(
        "Voters",
        "Every voter for a claim, and every member of its epoch's first list, has granted it.",
        ("epoch", "process"),
        lambda s, e, x: Implies(
            And(s.begun(e), e > 0, Or(s.member(s.ballot(e), x), s.member(s.first(e), x))),
            s.granted(e, x),
        ),
        lambda s, e, x: [s.member(s.ballot(e), x), s.member(s.first(e), x)],
    ),
)

LINES: Final = (
    Conjunct(
        "Settled",
        "A settled list is a list of its epoch, and all its members have held it in that epoch.",
        ("proposal", "epoch", "process"),
        lambda s, p, e, x: Implies(
            s.settled(p, e), And(s.on(p, e), Implies(s.member(p, x), s.held(p, e, x)))
        ),
        lambda s, p, e, x: [(s.settled(p, e), s.member(p, x))],
    ),
    Conjunct(
        "SettledIsOn",
        "A settled list is a list of its epoch.",
        ("proposal", "epoch"),
        lambda s, p, e: Implies(s.settled(p, e), s.on(p, e)),
        lambda s, p, e: [s.settled(p, e)],
    ),
    Conjunct(
        "VotedFor",
        "A list descends from the list that was settled on the token when it was made.",
        ("proposal", "epoch"),
        lambda s, p, e: Implies(
            And(s.on(p, e), p != s.root()),
            And(
                s.anc(s.low(p, e), p),
                s.settled(s.low(p, e), s.lowest(p, e)),
                s.lowest(p, e) <= e,
                Or(s.lowest(p, e) < e, s.low(p, e) != p),
            ),
        ),
        lambda s, p, e: [s.low(p, e), s.lowest(p, e)],
    ),
    Conjunct(
        "VotedByQuorums",
        "A list has the votes of a quorum of every list from the settled one to its own.",
        ("proposal", "epoch", "proposal"),
        lambda s, p, e, w: Implies(
            And(s.on(p, e), p != s.root(), between(s, s.low(p, e), w, p), w != p),
            s.quorum(s.votes(p, e), w),
        ),
        lambda s, p, e, w: [(s.on(p, e), s.anc(s.low(p, e), w), s.anc(w, p))],
    ),
    Conjunct(
        "VotersAreMembers",
        "A member that voted for a list is on it or has held it.",
        ("proposal", "epoch", "process"),
        lambda s, p, e, x: Implies(
            And(s.on(p, e), p != s.root(), s.member(s.votes(p, e), x)),
            Or(s.member(p, x), s.held(p, e, x)),
        ),
        lambda s, p, e, x: [s.member(s.votes(p, e), x)],
    ),
    Conjunct(
        "Descends",
        "The claimer of a later epoch knows this list, or a member of it has not held it in its"
        " epoch and never will.",
        ("proposal", "epoch", "epoch"),
        lambda s, p, d, e: Implies(
            And(s.on(p, d), s.begun(e), d < e), Or(s.anc(p, s.found(e)), missed(s, p, d))
        ),
        lambda s, p, d, e: [(s.on(p, d), s.begun(e))],
        lambda s, p, d, e: [s.begun(e), s.on(p, d)],
    ),
    Conjunct(
        "Known",
        "The claimer of a later epoch knows every list that is settled in an earlier one.",
        ("proposal", "epoch", "epoch"),
        lambda s, p, d, e: Implies(And(s.settled(p, d), s.begun(e), d < e), s.anc(p, s.found(e))),
        lambda s, p, d, e: [(s.settled(p, d), s.begun(e))],
    ),
    Conjunct(
        "Sure",
        "A member that is not in chaos is on the list of its copy, and that list is settled.",
        ("process",),
        lambda s, n: Implies(
            s.sure(n),
            And(
                s.member(s.copy(n), n),
                s.settled(s.copy(n), s.assured(n)),
                s.assured(n) <= s.epoch(n),
            ),
        ),
        lambda s, n: [s.sure(n)],
    ),
    Conjunct(
        "Entries",
        "An entry of a history was settled, and stands at its own index.",
        ("process", "index", "proposal", "epoch"),
        lambda s, n, i, p, e: Implies(s.entry(n, i, p, e), And(s.settled(p, e), i == s.depth(p))),
        lambda s, n, i, p, e: [s.entry(n, i, p, e)],
    ),
    Conjunct(
        "RemovedAreDown",
        "In calm circumstances only a member that is down is taken off a list.",
        ("proposal", "proposal", "process"),
        lambda s, p, q, x: Implies(
            And(s.calm(), s.made(q), s.anc(p, q), s.member(p, x), Not(s.member(q, x))), s.down(x)
        ),
        lambda s, p, q, x: [(s.made(q), s.anc(p, q), s.member(p, x), s.down(x))],
    ),
)

INVARIANT: Final = (*EPOCHS, *TOKENS, *CLAIMS, *LINES)
