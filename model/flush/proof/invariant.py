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
        "The length of a stream is at least 0; a member is unblocked, about to be blocked, or"
        " blocked.",
        ("process",),
        lambda s, p: And(s.length(p) >= 0, s.blocked(p) >= NO, s.blocked(p) <= YES),
        lambda s, p: [s.length(p), s.blocked(p)],
    ),
    Conjunct(
        "Positions",
        "A member has received no more of a stream than was sent.",
        ("process", "process"),
        lambda s, p, c: And(s.position(p, c) >= 0, s.position(p, c) <= s.length(c)),
        lambda s, p, c: [s.position(p, c)],
    ),
    Conjunct(
        "OwnPosition",
        "A running member has received all of its own multicasts.",
        ("process",),
        lambda s, p: Implies(s.running(p), s.position(p, p) == s.length(p)),
        lambda s, p: [s.length(p), s.running(p)],
    ),
    Conjunct(
        "ViewsShrink",
        "A member of a view is a member of every earlier view.",
        ("view", "view", "process"),
        lambda s, v, w, p: Implies(
            And(v >= 1, v <= w, w <= s.last(), s.member(w, p)), s.member(v, p)
        ),
        lambda s, v, w, p: [(s.member(v, p), s.member(w, p))],
    ),
    Conjunct(
        "RunningAreIn",
        "A running process is a member of the last view, and has installed it or the one before.",
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
        "A flush that has any effect has begun, and its steps come in order.",
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
        "A participant of a flush is a member of the requester's view.",
        ("flush", "process"),
        lambda s, f, p: Implies(And(s.began(f), s.part(f, p)), s.member(s.from_view(f), p)),
        lambda s, f, p: [s.part(f, p)],
    ),
    Conjunct(
        "AllTakePart",
        "Every running process is a participant of every flush.",
        ("flush", "process"),
        lambda s, f, p: Implies(And(s.began(f), s.running(p)), s.part(f, p)),
        lambda s, f, p: [(s.began(f), s.running(p)), s.part(f, p)],
    ),
    Conjunct(
        "FirstAsks",
        "A running requester ranks first among the running processes.",
        ("flush", "process"),
        lambda s, f, m: Implies(
            And(s.began(f), s.running(s.requester(f)), s.running(m)),
            s.rank(s.requester(f)) <= s.rank(m),
        ),
        lambda s, f, m: [(s.began(f), s.running(m))],
    ),
    Conjunct(
        "EarlierAreOut",
        "A process that ranks before the requester takes no part in its flush.",
        ("flush", "process"),
        lambda s, f, m: Implies(
            And(s.began(f), s.rank(m) < s.rank(s.requester(f))), outside(s, f, m)
        ),
        lambda s, f, m: [s.part(f, m), (s.requester(f), s.rank(m))],
    ),
    Conjunct(
        "AttemptsDiffer",
        "Two flushes of one requester have different attempts, and the current one is the latest.",
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
        "A member that has accepted START accepts no START of an earlier attempt.",
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
        "A participant has accepted START, and its latch is closed once it has answered.",
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
        "A member that has answered is a participant and has accepted START; RECONCILED follows a"
        " comparison.",
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
        "All participants have answered before the digests are compared.",
        ("flush", "process"),
        lambda s, f, p: Implies(And(s.compared(f), s.part(f, p)), s.done(f, p)),
        lambda s, f, p: [(s.compared(f), s.part(f, p))],
    ),
    Conjunct(
        "LeftOut",
        "A participant suspects the members that its flush leaves out, and reads no more of their"
        " streams.",
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
        "A running member that has accepted START of the current flush remains in it.",
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
        "A digest claims no more than was multicast.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            s.done(f, p), And(s.digest(f, p, c) >= 0, s.digest(f, p, c) <= s.length(c))
        ),
        lambda s, f, p, c: [s.digest(f, p, c)],
    ),
    Conjunct(
        "LatchedSince",
        "A member that has answered the current flush multicasts nothing more.",
        ("flush", "process"),
        lambda s, f, c: Implies(And(live(s, f), s.done(f, c)), s.digest(f, c, c) == s.length(c)),
        lambda s, f, c: [s.done(f, c)],
    ),
    Conjunct(
        "NobodyHasMore",
        "No participant's digest is above the maximum that the comparison found.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(s.compared(f), s.part(f, p)), s.digest(f, p, c) <= s.most(f, c)
        ),
        lambda s, f, p, c: [s.digest(f, p, c), (s.part(f, p), s.most(f, c))],
    ),
    Conjunct(
        "SomebodyHasIt",
        "The digest of some participant reaches the maximum that the comparison found.",
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
        "A member that has answered still has what its digest claims of every stream that it"
        " reads.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(live(s, f), s.running(p), s.done(f, p), reads(s, p, c)),
            s.digest(f, p, c) <= s.position(p, c),
        ),
        lambda s, f, p, c: [s.digest(f, p, c), (s.done(f, p), s.position(p, c))],
    ),
    Conjunct(
        "FrozenAtDigest",
        "Of a stream that is left out a member has what its digest claims, and after the"
        " comparison at most the maximum.",
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
        "A member that has sent RECONCILED has received everything up to the maximum.",
        ("flush", "process", "process"),
        lambda s, f, p, c: Implies(
            And(live(s, f), s.running(p), s.has_all(f, p), reads(s, p, c)),
            And(s.compared(f), s.position(p, c) >= s.most(f, c)),
        ),
        lambda s, f, p, c: [(s.has_all(f, p), s.position(p, c))],
    ),
    Conjunct(
        "Same",
        "Once all members are suspended, they have received the same multicasts.",
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
        "A view ends at the maximum that its last flush found.",
        ("view", "process"),
        lambda s, v, c: Implies(
            And(v >= 1, v < s.last()),
            And(s.ends(v, c) == s.most(s.ender(v), c), s.ends(v, c) >= 0),
        ),
        lambda s, v, c: [s.ends(v, c), s.most(s.ender(v), c)],
    ),
    Conjunct(
        "StaleIsIgnored",
        "START of a flush from before the last view is ignored, unless that flush decided this"
        " view.",
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
        "A participant is in the flush that decided the last view, or in one begun since.",
        ("process",),
        lambda s, p: Implies(
            And(s.running(p), s.taking(p)),
            Or(s.since(s.flush(p)) == s.last(), s.flush(p) == s.ender(s.last() - 1)),
        ),
        lambda s, p: [s.taking(p)],
    ),
    Conjunct(
        "BlockedUntilInstalled",
        "Until all have installed the last view, all are blocked and no STOP is under way.",
        ("process", "process"),
        lambda s, p, q: Implies(
            And(pending(s, p), s.running(q)),
            And(s.latch(q), s.taking(q), Not(s.stopped(s.flush(q)))),
        ),
        lambda s, p, q: [(s.view(p), s.latch(q)), (s.view(p), s.taking(q))],
    ),
    Conjunct(
        "AtTheEnd",
        "Until all have installed the last view, each member has received the old view exactly to"
        " its end.",
        ("process", "process", "process"),
        lambda s, p, q, c: Implies(
            And(pending(s, p), s.running(q), reads(s, q, c)),
            s.position(q, c) == s.ends(s.last() - 1, c),
        ),
        lambda s, p, q, c: [(s.view(p), s.position(q, c))],
    ),
    Conjunct(
        "NothingMore",
        "Until all have installed the last view, a stream that is read ends with the old view or"
        " is frozen.",
        ("process", "process", "process"),
        lambda s, p, q, c: Implies(
            And(pending(s, p), s.running(q), reads(s, q, c)),
            Or(s.length(c) == s.ends(s.last() - 1, c), s.frozen(q, c)),
        ),
        lambda s, p, q, c: [(s.view(p), s.position(q, c)), (s.view(p), s.frozen(q, c))],
    ),
    Conjunct(
        "DigestsAtTheEnd",
        "Until all have installed the last view, a new digest claims nothing beyond the old"
        " view's end.",
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
        "A member that has left a view had received it to its end.",
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
        "A multicast was sent in a decided view of which its sender is a member.",
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
        "A view ends at the last multicast of a sender, or before it.",
        ("view", "process"),
        lambda s, v, c: Implies(And(v >= 1, v < s.last()), s.ends(v, c) <= s.length(c)),
        lambda s, v, c: [s.ends(v, c)],
    ),
    Conjunct(
        "NothingLaterWithin",
        "A multicast within a view's end was sent in that view or before.",
        ("view", "process", "place"),
        lambda s, v, c, i: Implies(
            And(v >= 1, v < s.last(), i >= 1, i <= s.ends(v, c)), s.sent_in(c, i) <= v
        ),
        lambda s, v, c, i: [(s.ends(v, c), s.sent_in(c, i))],
    ),
    Conjunct(
        "NothingEarlierBehind",
        "A multicast that a member of the last view sent in an earlier view is within that view's"
        " end.",
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
        "A multicast that a member has received was sent in the member's view or before.",
        ("process", "process", "place"),
        lambda s, p, c, i: Implies(
            And(s.running(p), i >= 1, i <= s.position(p, c)), s.sent_in(c, i) <= s.view(p)
        ),
        lambda s, p, c, i: [(s.position(p, c), s.sent_in(c, i))],
    ),
    Conjunct(
        "ReceivedWithin",
        "A multicast that a member has received of an earlier view is within that view's end.",
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
