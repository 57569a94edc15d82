"""The safety of FLUSH as an invariant that every action preserves.

Its parts: who takes part in which flush; the participants of a current flush hold still; what a
decided view means until all have installed it; and what was sent in which view.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not, Or

from .words import NO, YES, live, outside, pending, reads

MEMBERS: Final = (
    Conjunct("Views", "Views are counted from 1.", (), lambda s: s.last() >= 1),
    Conjunct(
        "Counts",
        "Streams are counted from 0; a member is blocked, or not, or about to be.",
        ("process",),
        lambda s, p: And(s.length(p) >= 0, s.blocked(p) >= NO, s.blocked(p) <= YES),
        lambda s, p: [s.length(p), s.blocked(p)],
    ),
    Conjunct(
        "Positions",
        "Nobody has received more than was sent.",
        ("process", "process"),
        lambda s, p, c: And(s.position(p, c) >= 0, s.position(p, c) <= s.length(c)),
        lambda s, p, c: [s.position(p, c)],
    ),
    Conjunct(
        "OwnPosition",
        "A member has its own multicasts at once.",
        ("process",),
        lambda s, p: Implies(s.running(p), s.position(p, p) == s.length(p)),
        lambda s, p: [s.length(p), s.running(p)],
    ),
    Conjunct(
        "ViewsShrink",
        "Who is in a view was in all views before it.",
        ("view", "view", "process"),
        lambda s, v, w, p: Implies(
            And(v >= 1, v <= w, w <= s.last(), s.member(w, p)), s.member(v, p)
        ),
        lambda s, v, w, p: [(s.member(v, p), s.member(w, p))],
    ),
    Conjunct(
        "RunningAreIn",
        "Who runs is in the last view, and has installed it or the one before.",
        ("process",),
        lambda s, p: Implies(
            s.running(p),
            And(
                s.view(p) >= 1,
                s.view(p) <= s.last(),
                s.view(p) + 1 >= s.last(),
                s.member(s.view(p), p),
                s.member(s.last(), p),
            ),
        ),
        lambda s, p: [s.running(p)],
    ),
    Conjunct(
        "SuspectsAreGone",
        "Who is suspected, or whose stream is frozen, does not run.",
        ("process", "process"),
        lambda s, p, m: Implies(Or(s.suspects(p, m), s.frozen(p, m)), Not(s.running(m))),
        lambda s, p, m: [s.suspects(p, m), s.frozen(p, m)],
    ),
)

FLUSHES: Final = (
    Conjunct(
        "Begun",
        "A flush that is heard of has begun; its steps come in their order.",
        ("flush",),
        lambda s, f: And(
            Implies(s.active(f), s.began(f)),
            Implies(s.compared(f), s.began(f)),
            Implies(s.suspended(f), s.compared(f)),
            Implies(s.stopped(f), And(s.suspended(f), Not(s.active(f)))),
            Implies(
                s.began(f),
                And(
                    s.since(f) >= 1,
                    s.since(f) <= s.last(),
                    s.from_view(f) >= 1,
                    s.from_view(f) <= s.last(),
                ),
            ),
        ),
        lambda s, f: [s.began(f), s.active(f), s.compared(f), s.suspended(f), s.stopped(f)],
    ),
    Conjunct(
        "PartsAreMembers",
        "Who takes part is in the requester's view.",
        ("flush", "process"),
        lambda s, f, p: Implies(And(s.began(f), s.part(f, p)), s.member(s.from_view(f), p)),
        lambda s, f, p: [s.part(f, p)],
    ),
    Conjunct(
        "AllTakePart",
        "Whoever runs takes part in every flush.",
        ("flush", "process"),
        lambda s, f, p: Implies(And(s.began(f), s.running(p)), s.part(f, p)),
        lambda s, f, p: [(s.began(f), s.running(p)), s.part(f, p)],
    ),
    Conjunct(
        "FirstAsks",
        "A requester that runs is the first of all that run.",
        ("flush", "process"),
        lambda s, f, m: Implies(
            And(s.began(f), s.running(s.requester(f)), s.running(m)),
            s.rank(s.requester(f)) <= s.rank(m),
        ),
        lambda s, f, m: [(s.began(f), s.running(m))],
    ),
    Conjunct(
        "EarlierAreOut",
        "Whoever is before the requester takes no part in its flush.",
        ("flush", "process"),
        lambda s, f, m: Implies(
            And(s.began(f), s.rank(m) < s.rank(s.requester(f))), outside(s, f, m)
        ),
        lambda s, f, m: [s.part(f, m), (s.requester(f), s.rank(m))],
    ),
    Conjunct(
        "AttemptsDiffer",
        "Two flushes of one requester are different attempts, and what it asks for is the latest.",
        ("flush", "flush"),
        lambda s, f, g: Implies(
            And(s.began(f), s.began(g), s.requester(f) == s.requester(g)),
            And(
                Implies(s.attempt(f) == s.attempt(g), f == g),
                Implies(s.active(f), s.attempt(g) <= s.attempt(f)),
            ),
        ),
        lambda s, f, g: [(s.began(f), s.began(g))],
    ),
    Conjunct(
        "StartsInOrder",
        "Who has taken up START takes up none of an earlier attempt.",
        ("flush", "flush", "process"),
        lambda s, f, g, p: Implies(
            And(
                s.got(f, p),
                s.began(g),
                s.requester(f) == s.requester(g),
                s.attempt(g) <= s.attempt(f),
            ),
            s.got(g, p),
        ),
        lambda s, f, g, p: [(s.got(f, p), s.began(g))],
    ),
    Conjunct(
        "Takes",
        "Who takes part has taken up START; once it has answered its latch is closed.",
        ("process",),
        lambda s, p: And(
            Implies(
                s.taking(p),
                And(
                    s.began(s.flush(p)),
                    s.part(s.flush(p), p),
                    s.got(s.flush(p), p),
                    s.blocked(p) != NO,
                    s.done(s.flush(p), p) == (s.blocked(p) == YES),
                ),
            ),
            Implies(Not(s.taking(p)), And(s.blocked(p) == NO, Not(s.fetching(p)))),
            Implies(s.blocked(p) == YES, s.latch(p)),
            Implies(s.fetching(p), And(s.blocked(p) == YES, s.compared(s.flush(p)))),
        ),
        lambda s, p: [s.taking(p), s.blocked(p), s.fetching(p)],
    ),
    Conjunct(
        "AnswersFollow",
        "Who has answered takes part and has taken up START; RECONCILED follows a comparison.",
        ("flush", "process"),
        lambda s, f, p: And(
            Implies(s.done(f, p), And(s.began(f), s.part(f, p), s.got(f, p))),
            Implies(s.got(f, p), s.began(f)),
            Implies(s.has_all(f, p), s.compared(f)),
        ),
        lambda s, f, p: [s.done(f, p), s.got(f, p), s.has_all(f, p)],
    ),
    Conjunct(
        "AllAnswer",
        "Once the digests are compared all have answered.",
        ("flush", "process"),
        lambda s, f, p: Implies(And(s.compared(f), s.part(f, p)), s.done(f, p)),
        lambda s, f, p: [(s.compared(f), s.part(f, p))],
    ),
    Conjunct(
        "LeftOut",
        "Whom the flush leaves out its participants suspect, and read no more.",
        ("process", "process"),
        lambda s, p, m: Implies(
            And(s.running(p), s.taking(p), reads(s, p, m), outside(s, s.flush(p), m)),
            And(s.suspects(p, m), s.frozen(p, m)),
        ),
        lambda s, p, m: [
            s.part(s.flush(p), m),
            s.suspects(p, m),
            s.frozen(p, m),
            s.member(s.view(p), m),
        ],
    ),
    Conjunct(
        "TakesTheLatest",
        "Who has taken up START of the flush that is asked for stays in it.",
        ("flush", "process"),
        lambda s, f, p: Implies(
            And(live(s, f), s.got(f, p), s.running(p)), And(s.taking(p), s.flush(p) == f)
        ),
        lambda s, f, p: [s.got(f, p), (s.active(f), s.running(p))],
    ),
)

DIGESTS: Final = (
    Conjunct(
        "DigestsAreTrue",
        "A digest says no more than was multicast.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            s.done(f, p), And(s.digest(f, p, c) >= 0, s.digest(f, p, c) <= s.length(c))
        ),
        lambda s, f, p, c: [s.digest(f, p, c)],
    ),
    Conjunct(
        "LatchedSince",
        "Since it answered the flush that is asked for nobody has multicast.",
        ("flush", "process"),
        lambda s, f, c: Implies(And(live(s, f), s.done(f, c)), s.digest(f, c, c) == s.length(c)),
        lambda s, f, c: [s.done(f, c)],
    ),
    Conjunct(
        "NobodyHasMore",
        "Nobody who takes part has more than what the comparison found.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(s.compared(f), s.part(f, p)), s.digest(f, p, c) <= s.most(f, c)
        ),
        lambda s, f, p, c: [s.digest(f, p, c), (s.part(f, p), s.most(f, c))],
    ),
    Conjunct(
        "SomebodyHasIt",
        "What the comparison found is what somebody has who takes part.",
        ("flush", "process"),
        lambda s, f, c: Implies(
            s.compared(f),
            And(
                s.part(f, s.holder(f, c)),
                s.done(f, s.holder(f, c)),
                s.digest(f, s.holder(f, c), c) == s.most(f, c),
            ),
        ),
        lambda s, f, c: [s.most(f, c), s.holder(f, c)],
    ),
    Conjunct(
        "NothingTakenBack",
        "Who has answered has at least what it said, of those it still reads.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(live(s, f), s.running(p), s.done(f, p), reads(s, p, c)),
            s.digest(f, p, c) <= s.position(p, c),
        ),
        lambda s, f, p, c: [s.digest(f, p, c), (s.done(f, p), s.position(p, c))],
    ),
    Conjunct(
        "FrozenAtDigest",
        "Of a stream that is left out nobody has more than its digest said, or the most.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(live(s, f), s.running(p), s.done(f, p), reads(s, p, c), outside(s, f, c)),
            And(
                Implies(Not(s.compared(f)), s.position(p, c) == s.digest(f, p, c)),
                Implies(s.compared(f), s.position(p, c) <= s.most(f, c)),
            ),
        ),
        lambda s, f, p, c: [s.digest(f, p, c), (s.done(f, p), s.position(p, c))],
    ),
    Conjunct(
        "HasAll",
        "Who says that it has fetched everything has.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(live(s, f), s.running(p), s.has_all(f, p), reads(s, p, c)),
            And(s.compared(f), s.position(p, c) >= s.most(f, c)),
        ),
        lambda s, f, p, c: [(s.has_all(f, p), s.position(p, c))],
    ),
    Conjunct(
        "Same",
        "Once all are suspended they have received the same.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(live(s, f), s.suspended(f), s.running(p), reads(s, p, c)),
            s.position(p, c) == s.most(f, c),
        ),
        lambda s, f, p, c: [(s.suspended(f), s.position(p, c))],
    ),
)

DECISIONS: Final = (
    Conjunct(
        "Decided",
        "A view is followed by another one only in a flush that has suspended all.",
        ("view",),
        lambda s, v: Implies(And(v >= 1, v < s.last()), s.suspended(s.ender(v))),
        lambda s, v: [s.ender(v)],
    ),
    Conjunct(
        "EndsAtTheMost",
        "It ends where that flush found the most.",
        ("view", "process"),
        lambda s, v, c: Implies(
            And(v >= 1, v < s.last()),
            And(s.ends(v, c) == s.most(s.ender(v), c), s.ends(v, c) >= 0),
        ),
        lambda s, v, c: [s.ends(v, c), s.most(s.ender(v), c)],
    ),
    Conjunct(
        "StaleIsIgnored",
        "START of a flush from before the last view is heeded by nobody, but if it decided that.",
        ("flush", "process"),
        lambda s, f, p: Implies(
            And(
                s.began(f),
                s.running(p),
                s.since(f) < s.last(),
                f != s.ender(s.last() - 1),
            ),
            Or(
                s.got(f, p),
                s.suspects(p, s.requester(f)),
                Not(reads(s, p, s.requester(f))),
            ),
        ),
        lambda s, f, p: [s.got(f, p), (s.began(f), s.running(p))],
    ),
    Conjunct(
        "InOneOfThis",
        "Who takes part does so in the flush that decided the last view, or in one since.",
        ("process",),
        lambda s, p: Implies(
            And(s.running(p), s.taking(p)),
            Or(s.since(s.flush(p)) == s.last(), s.flush(p) == s.ender(s.last() - 1)),
        ),
        lambda s, p: [s.taking(p)],
    ),
    Conjunct(
        "BlockedUntilInstalled",
        "Until all have installed the last view all are blocked and no STOP is on its way.",
        ("process", "process"),
        lambda s, p, q: Implies(
            And(pending(s, p), s.running(q)),
            And(s.latch(q), s.taking(q), Not(s.stopped(s.flush(q)))),
        ),
        lambda s, p, q: [(s.view(p), s.latch(q)), (s.view(p), s.taking(q))],
    ),
    Conjunct(
        "AtTheEnd",
        "Until then all have received the old view to its end, and no more.",
        ("process", "process", "process"),
        lambda s, p, q, c: Implies(
            And(pending(s, p), s.running(q), reads(s, q, c)),
            s.position(q, c) == s.ends(s.last() - 1, c),
        ),
        lambda s, p, q, c: [(s.view(p), s.position(q, c))],
    ),
    Conjunct(
        "NothingMore",
        "Until then nobody reads a stream that goes on, but one that is frozen.",
        ("process", "process", "process"),
        lambda s, p, q, c: Implies(
            And(pending(s, p), s.running(q), reads(s, q, c)),
            Or(s.length(c) == s.ends(s.last() - 1, c), s.frozen(q, c)),
        ),
        lambda s, p, q, c: [(s.view(p), s.position(q, c)), (s.view(p), s.frozen(q, c))],
    ),
    Conjunct(
        "DigestsAtTheEnd",
        "A digest that is taken until then says no more than that end.",
        ("process", "flush", "process", "process"),
        lambda s, p, f, q, c: Implies(
            And(
                pending(s, p),
                s.began(f),
                s.since(f) == s.last(),
                s.done(f, q),
                s.member(s.last() - 1, c),
            ),
            s.digest(f, q, c) <= s.ends(s.last() - 1, c),
        ),
        lambda s, p, f, q, c: [(s.view(p), s.digest(f, q, c))],
    ),
    Conjunct(
        "CutAtTheEnd",
        "Who has left a view had received it to its end.",
        ("process", "view", "process"),
        lambda s, p, v, c: Implies(
            And(s.running(p), v >= 1, v < s.view(p), s.member(v, c)),
            s.cut(p, v, c) == s.ends(v, c),
        ),
        lambda s, p, v, c: [s.cut(p, v, c)],
    ),
)

CONTENTS: Final = (
    Conjunct(
        "SentInAView",
        "Every multicast was sent in a view of its sender's, and not in one yet to come.",
        ("process", "place"),
        lambda s, c, i: Implies(
            And(i >= 1, i <= s.length(c)),
            And(
                s.sent_in(c, i) >= 1,
                s.sent_in(c, i) <= s.last(),
                s.member(s.sent_in(c, i), c),
            ),
        ),
        lambda s, c, i: [s.sent_in(c, i)],
    ),
    Conjunct(
        "EndsWereSent",
        "No view ends behind what was sent.",
        ("view", "process"),
        lambda s, v, c: Implies(And(v >= 1, v < s.last()), s.ends(v, c) <= s.length(c)),
        lambda s, v, c: [s.ends(v, c)],
    ),
    Conjunct(
        "NothingLaterWithin",
        "What is within a view's end was sent in it or before.",
        ("view", "process", "place"),
        lambda s, v, c, i: Implies(
            And(v >= 1, v < s.last(), i >= 1, i <= s.ends(v, c)), s.sent_in(c, i) <= v
        ),
        lambda s, v, c, i: [(s.ends(v, c), s.sent_in(c, i))],
    ),
    Conjunct(
        "NothingEarlierBehind",
        "What a member of the last view sent in an earlier one is within that one's end.",
        ("view", "process", "place"),
        lambda s, v, c, i: Implies(
            And(
                v >= 1,
                v < s.last(),
                s.member(s.last(), c),
                i >= 1,
                i <= s.length(c),
                s.sent_in(c, i) <= v,
            ),
            i <= s.ends(v, c),
        ),
        lambda s, v, c, i: [(s.ends(v, c), s.sent_in(c, i)), (s.member(v, c), s.sent_in(c, i))],
    ),
    Conjunct(
        "ReceivedByNow",
        "What a member has received was not sent in a view that it has still to install.",
        ("process", "process", "place"),
        lambda s, p, c, i: Implies(
            And(s.running(p), i >= 1, i <= s.position(p, c)), s.sent_in(c, i) <= s.view(p)
        ),
        lambda s, p, c, i: [(s.position(p, c), s.sent_in(c, i))],
    ),
    Conjunct(
        "ReceivedWithin",
        "What it has received of an earlier view is within that view's end.",
        ("process", "view", "process", "place"),
        lambda s, p, v, c, i: Implies(
            And(
                s.running(p),
                v >= 1,
                v < s.view(p),
                s.member(v, c),
                i >= 1,
                i <= s.position(p, c),
                s.sent_in(c, i) <= v,
            ),
            i <= s.ends(v, c),
        ),
        lambda s, p, v, c, i: [
            (s.position(p, c), s.sent_in(c, i), s.member(v, c)),
            (s.position(p, c), s.sent_in(c, i), s.ends(v, c)),
        ],
    ),
)

INVARIANT: Final = (*MEMBERS, *FLUSHES, *DIGESTS, *DECISIONS, *CONTENTS)
