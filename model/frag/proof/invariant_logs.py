"""Of the logs: the heart of FRAG's invariant, which says what all readers keep and deliver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, World

from .words import (
    Basis,
    completes,
    entry,
    has_read,
    ordered,
    said,
    step,
)


def logs(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what is true of every place of every log."""
    return (
        Conjunct(
            "LogsAreOfViews",
            "Only views that are decided have a log with something in it.",
            ("view",),
            lambda s, v: And(s.len(v) >= 0, Implies(s.len(v) > 0, And(v >= 1, v <= s.last()))),
            lambda s, v: [s.len(v)],
        ),
        Conjunct(
            "OnePlace",
            "A fragment is at one place of one log.",
            ("view", "place"),
            lambda s, v, i: Implies(
                And(ordered(s, v, i), Not(s.giving(v, i))), _is_placed(s, v, i)
            ),
            _of_entry,
        ),
        Conjunct(
            "KeptOfMembers",
            "At every place of a log, what is kept is of messages of members of the view.",
            ("view", "place", "process", "seqno"),
            lambda s, v, i, n, m: Implies(
                _is_place(s, v, i),
                And(
                    s.had(v, i, n, m) >= 0,
                    Implies(
                        s.had(v, i, n, m) > 0,
                        And(s.member(v, n), m >= 1, m <= s.count(n)),
                    ),
                ),
            ),
            lambda s, v, i, n, m: [s.had(v, i, n, m)],
        ),
        Conjunct(
            "KeptInAWindow",
            "At every place of a log, the messages kept of a member have no more parts together"
            " than a window.",
            ("view", "place", "process"),
            lambda s, v, i, n: Implies(_is_place(s, v, i), s.loaded(v, i, n) <= s.window()),
            lambda s, v, i, n: [s.loaded(v, i, n)],
        ),
        Conjunct(
            "KeptFollows",
            "What readers keep behind a place follows from the entry there, and from what they kept"
            " before.",
            ("view", "place", "place", "process", "seqno"),
            lambda s, v, i, j, n, m: _if(
                And(ordered(s, v, i), j == i + 1),
                lambda: s.had(v, j, n, m) == step(s, basis, v, i).had_next(n, m),
            ),
            lambda s, v, i, j, n, m: [
                (each, s.had(v, j, n, m)) for each in (*_of_entry(s, v, i), s.had(v, i, n, m))
            ],
        ),
        Conjunct(
            "LoadFollows",
            "So does how many parts the messages have that they keep.",
            ("view", "place", "place", "process"),
            lambda s, v, i, j, n: _if(
                And(ordered(s, v, i), j == i + 1),
                lambda: s.loaded(v, j, n) == step(s, basis, v, i).loaded_next(n),
            ),
            lambda s, v, i, j, n: [
                (each, s.loaded(v, j, n)) for each in (*_of_entry(s, v, i), s.loaded(v, i, n))
            ],
        ),
        Conjunct(
            "NthFollows",
            "So does how many messages they have delivered in the view.",
            ("view", "place", "place"),
            lambda s, v, i, j: _if(
                And(ordered(s, v, i), j == i + 1),
                lambda: s.nth(v, j) == s.nth(v, i) + If(completes(s, basis, v, i), 1, 0),
            ),
            lambda s, v, i, j: [(each, s.nth(v, j)) for each in (*_of_entry(s, v, i), s.nth(v, i))],
        ),
        Conjunct(
            "NothingIsKeptAnew",
            "Where a view begins, nothing is kept of the departed, nor of anybody if there are"
            " joiners.",
            ("view", "process", "seqno"),
            lambda s, v, n, m: Implies(_is_forgotten(s, basis, v, n), s.had(v, 0, n, m) == 0),
            lambda s, v, n, m: [s.had(v, 0, n, m)],
        ),
        Conjunct(
            "NothingIsLoadedAnew",
            "Nor are there messages of theirs of which something is.",
            ("view", "process"),
            lambda s, v, n: Implies(_is_forgotten(s, basis, v, n), s.loaded(v, 0, n) == 0),
            lambda s, v, n: [s.loaded(v, 0, n)],
        ),
        Conjunct(
            "KeptIsCarriedOver",
            "Of the others is kept what was kept at the end of the view before.",
            ("view", "place", "view", "process", "seqno"),
            lambda s, v, i, w, n, m: Implies(
                And(_goes_on(s, basis, v, w, n), i == s.len(v)),
                s.had(w, 0, n, m) == s.had(v, i, n, m),
            ),
            lambda s, v, i, w, n, m: [(s.had(v, i, n, m), s.had(w, 0, n, m))],
        ),
        Conjunct(
            "LoadIsCarriedOver",
            "So is how many parts the messages have of which something is kept.",
            ("view", "place", "view", "process"),
            lambda s, v, i, w, n: Implies(
                And(_goes_on(s, basis, v, w, n), i == s.len(v)),
                s.loaded(w, 0, n) == s.loaded(v, i, n),
            ),
            lambda s, v, i, w, n: [(s.loaded(v, i, n), s.loaded(w, 0, n))],
        ),
        Conjunct(
            "NothingYet",
            "Nothing of a view's messages is delivered where its log begins.",
            ("view",),
            lambda s, v: Implies(And(v >= 1, v <= s.last()), s.nth(v, 0) == 0),
            lambda s, v: [s.nth(v, 0)],
        ),
        Conjunct(
            "NthRises",
            "Of two places, no fewer messages are delivered before the later one; more, if the"
            " earlier one completes a message.",
            ("view", "place", "place"),
            lambda s, v, i, j: _if(
                And(i >= 0, i < j, j <= s.len(v)),
                lambda: And(
                    s.nth(v, i) <= s.nth(v, j),
                    Implies(completes(s, basis, v, i), s.nth(v, i) < s.nth(v, j)),
                ),
            ),
            lambda s, v, i, j: [(s.nth(v, i), s.nth(v, j))],
        ),
    )


def _is_placed(s: World, v: Expr, i: Expr) -> Expr:
    fragment = s.source(v, i), s.number(v, i), s.of_epoch(v, i), s.part(v, i)
    return And(s.log_view(*fragment) == v, s.log_at(*fragment) == i)


def _is_place(s: World, v: Expr, i: Expr) -> Expr:
    return And(v >= 1, v <= s.last(), i >= 0, i <= s.len(v))


def _is_forgotten(s: World, basis: Basis, v: Expr, n: Expr) -> Expr:
    """What was kept of n before view v is not kept in it (G4, G6)."""
    anew, gone = s.anew(v), Not(s.member(v, n))
    over = Or(And(basis.begin_anew, anew), And(basis.forgets_departed, gone))
    return And(v >= 1, v <= s.last(), over)


def _goes_on(s: World, basis: Basis, v: Expr, w: Expr, n: Expr) -> Expr:
    """What was kept of n at the end of view v is kept in the next one, w."""
    return And(v >= 1, w == v + 1, w <= s.last(), Not(_is_forgotten(s, basis, w, n)))


# ---------------------------------------------------------------------- each message once


def once(basis: Basis) -> tuple[Conjunct, ...]:
    """Return why no message is completed twice."""
    return (
        Conjunct(
            "CompletedOnce",
            "A message is completed at one place of all logs.",
            ("view", "place"),
            lambda s, v, i: Implies(
                And(ordered(s, v, i), completes(s, basis, v, i)),
                And(
                    s.done_view(s.source(v, i), s.number(v, i)) == v,
                    s.done_at(s.source(v, i), s.number(v, i)) == i,
                ),
            ),
            _of_entry,
        ),
        Conjunct(
            "CompletedThere",
            "Where a message is said to be completed, its last fragment is.",
            ("process", "seqno"),
            lambda s, n, m: And(
                s.done_view(n, m) >= 0,
                Implies(
                    s.done_view(n, m) > 0,
                    And(
                        ordered(s, s.done_view(n, m), s.done_at(n, m)),
                        s.source(s.done_view(n, m), s.done_at(n, m)) == n,
                        s.number(s.done_view(n, m), s.done_at(n, m)) == m,
                        completes(s, basis, s.done_view(n, m), s.done_at(n, m)),
                    ),
                ),
            ),
            lambda s, n, m: [s.done_view(n, m)],
        ),
        Conjunct(
            "SenderIsDone",
            "A sender that has read where its message is completed sends no more of it.",
            ("process", "seqno"),
            lambda s, n, m: Implies(
                And(s.done_view(n, m) > 0, has_read(s, n, s.done_view(n, m), s.done_at(n, m))),
                Not(s.sending(n, m)),
            ),
            lambda s, n, m: [s.done_view(n, m)],
        ),
        Conjunct(
            "NotBegunAgain",
            "No fragment of a completed message is of a later epoch.",
            ("process", "seqno", "view", "part"),
            lambda s, n, m, e, p: Implies(
                And(s.done_view(n, m) > 0, said(s, n, m, e, p)),
                e <= s.began(s.done_view(n, m)),
            ),
            lambda s, n, m, e, p: [
                (s.done_view(n, m), s.waits(n, m, e, p)),
                (s.done_view(n, m), s.log_view(n, m, e, p)),
            ],
        ),
        Conjunct(
            "CompletedIsNotGivenUp",
            "A message that is completed is not given up.",
            ("process", "seqno"),
            lambda s, n, m: Implies(s.done_view(n, m) > 0, Not(s.given_up(n, m))),
            lambda s, n, m: [s.done_view(n, m), s.given_up(n, m)],
        ),
    )


# ---------------------------------------------------------------------- their parts


def _if(premise: Expr, conclusion: Callable[[], Expr]) -> Expr:
    """Implies, without the conclusion where a bounded world has a false premise."""
    return True if premise is False else Implies(premise, conclusion())


def _of_entry(s: World, v: Expr, i: Expr) -> Sequence[Expr]:
    return entry(s, v, i)
