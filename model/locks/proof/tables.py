"""In a table nobody holds a name before another that asked earlier: an axiom of LOCKS' proof.

The table changes by one post, which ends and wants any requests: `Changed` of `spec/Locks.tla`. So
this is about any number of members, names, requests and posts. Fences are left out but for whether
a request has one.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory, Transition
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import nothing, symbols

RIGID: Final = symbols("""
    ends:    post request -> bool           # it is in post.ended
    wants:   post request -> bool           # it is in post.wanted
    first:   post request request -> bool   # the first one is wanted before the other
    name:    request -> lock
    reads:   request -> bool
""")
TABLE: Final = symbols("""
    there:   request -> bool
    before:  request request -> bool        # the first one stands before the other
    holds:   request -> bool                # its fence is not NoFence
""")


def _conflict(s: World, q: Expr, r: Expr) -> Expr:
    return And(s.name(q) == s.name(r), Not(And(s.reads(q), s.reads(r))))


def _in_order(s: World, q: Expr, r: Expr) -> Expr:
    passed = And(s.there(q), s.there(r), s.before(q, r), _conflict(s, q, r))
    return Implies(passed, Not(s.holds(r)))


def _alone(s: World, q: Expr, r: Expr) -> Expr:
    both = And(s.there(q), s.there(r), s.holds(q), s.holds(r), _conflict(s, q, r))
    return Implies(both, q == r)


def tables(*, in_order: bool = True) -> Theory:
    """Return the theory; without `in_order` (K9) readers wait only for a writer that holds."""

    def changed(s: World, x: Expr) -> dict[str, Function]:
        def stays(r: Expr) -> Expr:
            return And(s.there(r), Not(s.ends(x, r)))

        def there(r: Expr) -> Expr:
            return Or(stays(r), s.wants(x, r))

        def before(q: Expr, r: Expr) -> Expr:
            earlier = Or(stays(q), And(s.wants(x, q), s.first(x, q, r)))
            new = And(s.wants(x, r), Not(stays(r)), earlier)
            return Or(And(stays(q), stays(r), s.before(q, r)), new)

        def waits(r: Expr) -> Expr:
            """Whether another one is in the way of r."""

            def is_in_the_way(q: Expr) -> Expr:
                if in_order:
                    return And(there(q), before(q, r), _conflict(s, q, r))
                held = And(stays(q), s.holds(q))
                others = If(s.reads(r), held, Or(held, s.reads(q), before(q, r)))
                return And(there(q), q != r, _conflict(s, q, r), others)

            return s.exists(["request"], is_in_the_way)

        def holds(r: Expr) -> Expr:
            return And(there(r), Or(And(stays(r), s.holds(r)), Not(waits(r))))

        return {"there": there, "before": before, "holds": holds}

    return Theory(
        "locks-tables",
        TABLE,
        RIGID,
        (
            Conjunct(
                "WantedInOrder",
                "What a post wants stands in an order.",
                ("post", "request", "request"),
                lambda s, x, q, r: Implies(
                    And(s.wants(x, q), s.wants(x, r), q != r),
                    Or(s.first(x, q, r), s.first(x, r, q)),
                ),
                lambda s, x, q, r: [(s.wants(x, q), s.wants(x, r))],
            ),
        ),
        lambda _: (True, {name: nothing(symbol.result) for name, symbol in TABLE.items()}),
        (Transition("Post", "", (("x", "post"),), lambda _s, _x: True, changed),),
        (
            Conjunct(
                "InOrder",
                "Nobody holds a name before another that asked earlier, where one of them writes.",
                ("request", "request"),
                _in_order,
                lambda s, q, r: [s.before(q, r)],
            ),
            Conjunct(
                "Line",
                "Of two requests, one stands before the other.",
                ("request", "request"),
                lambda s, q, r: Implies(
                    And(s.there(q), s.there(r), q != r), Or(s.before(q, r), s.before(r, q))
                ),
                lambda s, q, r: [(s.there(q), s.there(r))],
            ),
        ),
        (
            Property(
                "OneWriterOrReaders",
                "Of those that hold a name, one writes, or all read.",
                lambda s: s.forall(["request", "request"], lambda q, r: _alone(s, q, r)),
            ),
        ),
    )
