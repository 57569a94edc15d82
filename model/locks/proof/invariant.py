"""The inductive invariant of LOCKS' proof."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .fences import fences
from .words import Basis, behind, good_behind, is_epoch, is_post


def _epochs(s: World, e: Expr) -> Expr:
    made = And(
        *(s.source(e) >= 1, s.source(e) < e),
        *(s.copied(e) >= 0, s.copied(e) <= s.length(e), s.copied(e) <= s.length(s.source(e))),
    )
    return And(
        s.newest() >= 1,
        Implies(is_epoch(s, e), And(s.length(e) >= 0, Implies(e >= 2, made))),
    )


def _members(s: World, n: Expr) -> Expr:
    e = s.epoch(n)
    return And(
        *(e >= 0, e <= s.promised(n), s.promised(n) <= s.newest()),
        *(s.base(n) >= 0, s.begun(n) >= 0, s.last(n) >= 0),
        Implies(e >= 1, And(s.size(n) >= 0, s.size(n) <= s.length(e))),
    )


def _knows(s: World, n: Expr) -> Expr:
    c, i = s.base(n), s.last(n)
    there = And(s.truth(c, i) == s.table(n), s.chain(c, i) == c)
    return Implies(c != 0, And(is_epoch(s, c), i <= s.length(c), there))


def _prefix(s: World, e: Expr, i: Expr) -> Expr:
    p = s.source(e)
    same = And(
        s.log(e, i) == s.log(p, i), s.truth(e, i) == s.truth(p, i), s.chain(e, i) == s.chain(p, i)
    )
    return Implies(And(is_epoch(s, e), e >= 2, i >= 0, i <= s.copied(e)), same)


def _of_its_epoch(s: World, e: Expr, i: Expr) -> Expr:
    x = s.log(e, i)
    b = s.written(x)
    begins = And(b >= 2, s.parent(x) == s.source(b), i == s.copied(b) + 1)
    return Implies(
        is_post(s, e, i),
        And(
            *(b >= 1, b <= e, i <= s.length(b), s.log(b, i) == x),
            Implies(Or(e == 1, i > s.copied(e)), b == e),
            *(s.parent(x) >= 0, Implies(s.parent(x) >= 1, begins)),
        ),
    )


def _settled(s: World, n: Expr) -> Expr:
    e, c = s.epoch(n), s.base(n)
    return Implies(
        Not(s.reading(n)),
        And(
            Or(c == 0, c == e, c == s.begun(n)),
            Implies(e >= 1, s.last(n) >= s.size(n)),
            Implies(And(e >= 1, c == e), s.last(n) == s.size(n)),
        ),
    )


def _begun(s: World, n: Expr) -> Expr:
    e = s.epoch(n)
    return Implies(
        s.begun(n) >= 1,
        And(
            *(e >= 2, s.begun(n) == s.source(e), s.length(e) == s.copied(e), s.at(e) == n),
            *(s.arrived(e), s.last(n) >= s.copied(e)),
            Implies(s.base(n) == s.begun(n), s.last(n) == s.copied(e)),
        ),
    )


def _pending(s: World, n: Expr) -> Expr:
    e, old = s.promised(n), s.epoch(n)
    made = And(old == s.source(e), s.size(n) == s.copied(e), s.length(e) == s.copied(e))
    return Implies(
        And(s.maker(e) == n, old < e, e >= 2),
        And(
            *(made, s.at(e) == n, Not(s.arrived(e)), Not(s.reading(n))),
            Implies(And(s.at(old) == n, s.arrived(old)), s.lost(old)),
        ),
    )


def invariant(basis: Basis) -> tuple[Conjunct, ...]:
    """Return the invariant."""

    def follows(s: World, e: Expr, i: Expr) -> Expr:
        x = s.log(e, i)
        return Implies(
            is_post(s, e, i),
            And(
                s.truth(e, i) == behind(s, s.truth(e, i - 1), x),
                s.chain(e, i) == good_behind(s, s.chain(e, i - 1), x, basis),
            ),
        )

    return (
        Conjunct(
            "Epochs",
            "An epoch begins with posts of an earlier one.",
            ("epoch",),
            _epochs,
            lambda s, e: [s.length(e), s.copied(e), s.source(e)],
        ),
        Conjunct(
            "Members",
            "A member has had the token of no epoch later than it has promised.",
            ("process",),
            _members,
            lambda s, n: [s.epoch(n), s.base(n), s.promised(n), s.begun(n), s.last(n)],
        ),
        Conjunct(
            "Knows",
            "A table that is good for an epoch is the true one, as far as the member has read.",
            ("process",),
            _knows,
            lambda s, n: [s.base(n), s.table(n)],
        ),
        Conjunct(
            "Follows",
            "The truth changes by posts only.",
            ("epoch", "place"),
            follows,
            lambda s, e, i: [s.log(e, i)],
        ),
        Conjunct(
            "Prefix",
            "What an epoch begins with is the truth of the one before.",
            ("epoch", "place"),
            _prefix,
            lambda s, e, i: [s.truth(e, i), s.log(e, i), s.chain(e, i)],
        ),
        Conjunct(
            "OfItsEpoch",
            "A post stands in its own epoch at the same place; one that begins it stands first.",
            ("epoch", "place"),
            _of_its_epoch,
            lambda s, e, i: [s.log(e, i)],
        ),
        Conjunct(
            "Settled",
            "A table is good for the token's epoch, or the one before, and all posts are read.",
            ("process",),
            _settled,
            lambda s, n: [s.base(n), s.epoch(n)],
        ),
        Conjunct(
            "Begun",
            "Whoever begins an epoch has its token, on which nobody has posted.",
            ("process",),
            _begun,
            lambda s, n: [s.begun(n)],
        ),
        Conjunct(
            "Pending",
            "Before the maker of an epoch has its token, it keeps the copy from which it was made.",
            ("process",),
            _pending,
            lambda s, n: [s.promised(n)],
        ),
        Conjunct(
            "MakerPromises",
            "The maker of an epoch takes no token of an earlier one.",
            ("epoch",),
            lambda s, e: Implies(And(is_epoch(s, e), e >= 2), s.promised(s.maker(e)) >= e),
            lambda s, e: [s.maker(e)],
        ),
        Conjunct(
            "Holder",
            "Nobody posts while a member has the token.",
            ("process",),
            lambda s, n: Implies(
                And(s.epoch(n) >= 1, s.at(s.epoch(n)) == n, s.arrived(s.epoch(n))),
                s.size(n) == s.length(s.epoch(n)),
            ),
            lambda s, n: [s.epoch(n)],
        ),
        Conjunct(
            "InOrder",
            "In a member's table nobody has passed another.",
            ("process",),
            lambda s, n: s.in_order(s.table(n)),
            lambda s, n: [s.table(n)],
        ),
        Conjunct(
            "TruthInOrder",
            "... nor in the true one.",
            ("epoch", "place"),
            lambda s, e, i: Implies(
                And(is_epoch(s, e), i >= 0, i <= s.length(e)), s.in_order(s.truth(e, i))
            ),
            lambda s, e, i: [s.truth(e, i)],
        ),
        Conjunct(
            "OnTheList",
            "A member has the token only of an epoch on whose list it is.",
            ("process",),
            lambda s, n: Implies(s.epoch(n) >= 1, s.member(s.epoch(n), n)),
            lambda s, n: [s.epoch(n)],
        ),
        Conjunct(
            "TokenOnTheList",
            "A token goes to a member on its list.",
            ("epoch",),
            lambda s, e: Implies(And(is_epoch(s, e), Not(s.lost(e))), s.member(e, s.at(e))),
            lambda s, e: [s.at(e)],
        ),
        Conjunct(
            "HasAPlace",
            "Whoever has had the token of an epoch has a place there.",
            ("process",),
            lambda s, n: Implies(s.epoch(n) >= 1, s.placed(s.epoch(n), n)),
            lambda s, n: [s.epoch(n)],
        ),
        Conjunct(
            "HoldsOwn",
            "A member holds only what is its own.",
            ("process", "request"),
            lambda s, n, r: Implies(s.held(n, r), s.owner(r) == n),
            lambda s, n, r: [s.held(n, r)],
        ),
        Conjunct(
            "HoldsOn",
            "What a member with a good table holds, it holds by all that was posted since.",
            ("process", "request", "place"),
            lambda s, n, r, j: Implies(
                And(
                    *(s.held(n, r), Not(s.reading(n)), s.epoch(n) >= 1, s.base(n) == s.epoch(n)),
                    *(j >= s.last(n), j <= s.length(s.epoch(n))),
                ),
                s.holds(s.truth(s.epoch(n), j), r),
            ),
            lambda s, n, r, j: [(s.held(n, r), s.truth(s.epoch(n), j))],
        ),
        Conjunct(
            "AskersAsked",
            "Whom a member has heard to ask has asked, and nobody has laid a table down since.",
            ("process", "process"),
            lambda s, n, p: Implies(
                And(s.askers(n, p), p != n),
                And(
                    *(s.epoch(n) >= 1, s.last(n) <= s.length(s.epoch(n))),
                    s.asked(s.epoch(n), s.last(n), p),
                ),
            ),
            lambda s, n, p: [s.askers(n, p)],
        ),
        Conjunct(
            "AskedFollows",
            "... by a post of its own, and nobody has laid a table down since.",
            ("epoch", "place", "process", "place"),
            lambda s, e, j, p, i: Implies(
                And(is_epoch(s, e), j <= s.length(e), s.asked(e, j, p)),
                And(
                    *(s.when(e, j, p) >= 1, s.when(e, j, p) <= j),
                    s.by(s.log(e, s.when(e, j, p))) == p,
                    s.written(s.log(e, s.when(e, j, p))) == e,
                    Implies(And(i >= s.when(e, j, p), i <= j), Not(s.lays(s.log(e, i)))),
                ),
            ),
            lambda s, e, j, p, i: [(s.asked(e, j, p), s.log(e, i))],
        ),
        Conjunct(
            "AskedBefore",
            "Whoever has asked has asked before, unless the last post is its own.",
            ("epoch", "place", "process"),
            lambda s, e, i, p: Implies(
                is_post(s, e, i),
                Implies(
                    And(s.written(s.log(e, i)) == e, Not(s.lays(s.log(e, i)))),
                    s.asked(e, i, p)
                    == Or(s.asked(e, i - 1, p), And(s.asks(s.log(e, i)), s.by(s.log(e, i)) == p)),
                ),
            ),
            lambda s, e, i, p: [s.asked(e, i, p)],
        ),
        Conjunct(
            "OwnPosts",
            "A member has read its own posts.",
            ("epoch", "place", "process"),
            lambda s, e, i, n: Implies(
                And(is_post(s, e, i), s.written(s.log(e, i)) == e, s.by(s.log(e, i)) == n),
                And(s.epoch(n) >= e, Implies(s.epoch(n) == e, i <= s.last(n))),
            ),
            lambda s, e, i, n: [(s.log(e, i), s.epoch(n))],
        ),
        Conjunct(
            "GoodHasNotAsked",
            "No member with a good table has asked for one, whatever was posted since.",
            ("process", "place"),
            lambda s, n, j: Implies(
                And(
                    *(s.epoch(n) >= 1, s.base(n) == s.epoch(n)),
                    *(j >= s.last(n), j <= s.length(s.epoch(n))),
                ),
                Not(s.asked(s.epoch(n), j, n)),
            ),
            lambda s, n, j: [s.asked(s.epoch(n), j, n)],
        ),
        *fences(),
        Conjunct(
            "Reading",
            "Whoever reads has the token.",
            ("process",),
            lambda s, n: Implies(
                s.reading(n),
                And(
                    s.epoch(n) >= 1,
                    s.at(s.epoch(n)) == n,
                    s.arrived(s.epoch(n)),
                    s.size(n) == s.length(s.epoch(n)),
                ),
            ),
            lambda s, n: [s.reading(n)],
        ),
    )
