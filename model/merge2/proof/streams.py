"""The part of MERGE2's invariant that speaks of streams: what is multicast, read and delivered."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Or, World

from .views import answered_into
from .words import ANSWERED, is_heard, leads, same_id, side


def in_order(s: World, n: Expr, i: Expr, j: Expr) -> Expr:
    """Of one sender, what is delivered later has the larger number."""
    both = And(is_heard(s, n, i), is_heard(s, n, j), s.heard_from(n, i) == s.heard_from(n, j))
    return Implies(And(both, i < j), s.heard_number(n, i) < s.heard_number(n, j))


def _is_said(s: World, x: Expr, k: Expr) -> Expr:
    return And(k >= 1, k <= s.spoken(x))


def _heard_is_read(s: World, n: Expr, j: Expr) -> Expr:
    x, k = s.heard_from(n, j), s.heard_number(n, j)
    said = And(k >= 1, k <= s.position(n, x), same_id(s, s.said(x, k), s.heard_view(n, j)))
    return Implies(is_heard(s, n, j), said)


def _read_is_heard(s: World, n: Expr, x: Expr, k: Expr) -> Expr:
    v = s.view(n)
    read = And(k >= 1, k <= s.position(n, x), s.said(x, k) == v, s.inside(v, x))
    return s.hears(n, x, k, v) == read


def _reply_is_below(s: World, r: Expr, x: Expr, k: Expr) -> Expr:
    given = Or(s.sent(r), s.has(s.by(r), r))
    below = Implies(And(k >= 1, k <= s.upto(r, x)), s.number(s.said(x, k)) <= s.number(s.at(r)))
    return Implies(given, below)


def _reply_has_read(s: World, r: Expr, p: Expr) -> Expr:
    c = s.by(r)
    given = Or(s.sent(r), And(s.has(c, r), leads(s, c)))
    present = And(given, s.stage(c) == ANSWERED, s.merge(c) == s.of(r))
    return Implies(And(present, side(s, c, p)), s.spoken(p) <= s.upto(r, p))


def _digest_is_below(s: World, v: Expr, x: Expr, k: Expr) -> Expr:
    below = Implies(And(k >= 1, k <= s.digest(v, x)), s.number(s.said(x, k)) < s.number(v))
    return Implies(s.made(v), below)


STREAMS: Final = (
    Conjunct(
        "HeardIsRead",
        "A member has read what it has delivered, in the view in which it was multicast.",
        ("process", "index"),
        _heard_is_read,
        lambda s, n, j: [s.heard_number(n, j)],
    ),
    Conjunct(
        "InOrder",
        "Of one sender, what is delivered later has the larger number.",
        ("process", "index", "index"),
        in_order,
        lambda s, n, i, j: [(s.heard_number(n, i), s.heard_number(n, j))],
    ),
    Conjunct(
        "SaidWhenSpoke",
        "Who has multicast something has spoken in that view.",
        ("process", "place"),
        lambda s, x, k: Implies(_is_said(s, x, k), s.spoke(x, s.said(x, k))),
        lambda s, x, k: [s.said(x, k)],
    ),
    Conjunct(
        "BeenIsMade",
        "A view that a member has installed was decided.",
        ("process", "group"),
        lambda s, p, v: Implies(s.been(p, v), s.made(v)),
        lambda s, p, v: [s.been(p, v)],
    ),
    Conjunct(
        "ReadIsSaid",
        "A member has read no more than was multicast.",
        ("process", "process"),
        lambda s, n, x: And(s.position(n, x) >= 0, s.position(n, x) <= s.spoken(x)),
        lambda s, n, x: [s.position(n, x)],
    ),
    Conjunct(
        "ReadIsBelow",
        "A member has read of no view with a larger number than its own.",
        ("process", "process", "place"),
        lambda s, n, x, k: Implies(
            And(k >= 1, k <= s.position(n, x)), s.number(s.said(x, k)) <= s.number(s.view(n))
        ),
        lambda s, n, x, k: [(s.position(n, x), s.said(x, k))],
    ),
    Conjunct(
        "ReplyIsSaid",
        "The digest of an answer goes no further than what was multicast.",
        ("reply", "process"),
        lambda s, r, x: Implies(Or(s.sent(r), s.has(s.by(r), r)), s.upto(r, x) <= s.spoken(x)),
        lambda s, r, x: [s.upto(r, x)],
    ),
    Conjunct(
        "DigestIsSaid",
        "The digest of a view goes no further than what was multicast.",
        ("group", "process"),
        lambda s, v, x: And(s.spoken(x) >= 0, Implies(s.made(v), s.digest(v, x) <= s.spoken(x))),
        lambda s, v, x: [s.digest(v, x)],
    ),
    Conjunct(
        "ReplyIsBelow",
        "The digest of an answer goes no further than the view of its side.",
        ("reply", "process", "place"),
        _reply_is_below,
        lambda s, r, x, k: [(s.upto(r, x), s.said(x, k))],
    ),
    Conjunct(
        "DigestIsBelow",
        "The digest of a view ends before what is multicast in it.",
        ("group", "process", "place"),
        _digest_is_below,
        lambda s, v, x, k: [(s.digest(v, x), s.said(x, k))],
    ),
    Conjunct(
        "ReadIsHeard",
        "In its view, a member has delivered what it has read.",
        ("process", "process", "place"),
        _read_is_heard,
        lambda s, n, x, k: [s.hears(n, x, k, s.view(n)), (s.position(n, x), s.said(x, k))],
    ),
    Conjunct(
        "HearsWhereItWas",
        "A member has delivered in views that it has installed.",
        ("process", "process", "place", "group"),
        lambda s, n, x, k, v: Implies(s.hears(n, x, k, v), And(s.been(n, v), s.did(n, x, k))),
        lambda s, n, x, k, v: [s.hears(n, x, k, v)],
    ),
    Conjunct(
        "ReplyHasRead",
        "As long as its sender has got no further, an answer has all that its side has multicast.",
        ("reply", "process"),
        _reply_has_read,
        lambda s, r, p: [(s.upto(r, p), s.spoken(p))],
    ),
    Conjunct(
        "IntoHasRead",
        "A side that is to install a merged view has multicast nothing behind its digest.",
        ("process", "union", "process"),
        lambda s, c, u, p: Implies(
            And(answered_into(s, c, u), side(s, c, p)),
            s.spoken(p) <= s.digest(s.result(u), p),
        ),
        lambda s, c, u, p: [(s.into(u, c), s.digest(s.result(u), p))],
    ),
    Conjunct(
        "HoldersAreInTheDigest",
        "Who holds a merged view ready has multicast nothing behind its digest.",
        ("process",),
        lambda s, p: Implies(
            And(s.holds(p), s.merged(s.held(p))), s.spoken(p) <= s.digest(s.held(p), p)
        ),
        lambda s, p: [s.held(p)],
    ),
    Conjunct(
        "SpeaksBehindTheDigest",
        "Behind the digest of its merged view, a member has multicast in that only.",
        ("process", "place"),
        lambda s, x, k: Implies(
            And(s.merged(s.view(x)), k > s.digest(s.view(x), x), k <= s.spoken(x)),
            s.said(x, k) == s.view(x),
        ),
        lambda s, x, k: [s.said(x, k)],
    ),
    Conjunct(
        "ReadsFromTheDigest",
        "A member has read as far as the digest of its view.",
        ("process", "process"),
        lambda s, n, x: Implies(s.inside(s.view(n), x), s.position(n, x) >= s.digest(s.view(n), x)),
        lambda s, n, x: [s.position(n, x)],
    ),
)
