"""The single sequence of views as an invariant that every action preserves.

Its parts: views and the members' local states, here; who leads; whom a member heeds; and the
possible fates of a view that is decided and not installed.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not, Or

from .choices import CHOICES
from .leaders import LEADERS
from .promises import PROMISES
from .words import ahead, behind

VIEWS: Final = (
    Conjunct(
        "Top",
        "The last installed view was decided, and views are numbered from 1.",
        (),
        lambda s: And(s.installed(s.top()), s.made(s.top()), s.number(s.top()) >= 1),
    ),
    Conjunct(
        "Made",
        "No view is decided beyond the one after the last installed view.",
        ("group",),
        lambda s, g: Implies(
            s.made(g), And(s.number(g) >= 1, s.number(g) <= s.number(s.top()) + 1)
        ),
        lambda s, g: [s.made(g)],
    ),
    Conjunct(
        "Installed",
        "An installed view was decided; JOIN_RSP is sent only for an installed view.",
        ("group",),
        lambda s, g: And(
            Implies(s.installed(g), And(s.made(g), s.number(g) <= s.number(s.top()))),
            Implies(s.responded(g), s.installed(g)),
        ),
        lambda s, g: [s.installed(g), s.responded(g)],
    ),
    Conjunct(
        "OneOfANumber",
        "Two different installed views have different numbers.",
        ("group", "group"),
        lambda s, g, h: Implies(
            And(s.installed(g), s.installed(h), s.number(g) == s.number(h)), g == h
        ),
        lambda s, g, h: [(s.installed(g), s.installed(h))],
    ),
    Conjunct(
        "Admitted",
        "A member of a view was admitted with it or with an earlier one.",
        ("group", "process"),
        lambda s, g, p: Implies(
            And(s.made(g), s.member(g, p)), And(s.admitted(p) >= 1, s.admitted(p) <= s.number(g))
        ),
        lambda s, g, p: [s.member(g, p)],
    ),
    Conjunct(
        "Basis",
        "A view consists of members of the view before, without some that have ended, and of"
        " joiners.",
        ("group", "process"),
        lambda s, g, p: Implies(
            And(s.made(g), s.number(g) >= 2),
            And(
                Implies(And(s.member(g, p), s.admitted(p) != s.number(g)), s.member(s.base(g), p)),
                Implies(And(s.member(s.base(g), p), Not(s.member(g, p))), s.dead(p)),
                Implies(s.member(s.base(g), p), s.admitted(p) < s.number(g)),
            ),
        ),
        lambda s, g, p: [s.member(g, p), s.member(s.base(g), p)],
    ),
    Conjunct(
        "Counted",
        "The number of a view is one above that of the view before.",
        ("group",),
        lambda s, g: Implies(
            And(s.made(g), s.number(g) >= 2), s.number(s.base(g)) == s.number(g) - 1
        ),
        lambda s, g: [s.made(g), s.base(g)],
    ),
    Conjunct(
        "Steps",
        "A member goes from a view to the next one only.",
        ("group", "group"),
        lambda s, g, h: Implies(
            s.step(g, h), And(s.installed(h), s.base(h) == g, s.number(h) == s.number(g) + 1)
        ),
        lambda s, g, h: [s.step(g, h)],
    ),
)

LIVES: Final = (
    Conjunct(
        "Lives",
        "A running process has not ended; a process that has led is running or has ended.",
        ("process",),
        lambda s, p: And(
            Implies(s.running(p), Not(s.dead(p))),
            Implies(s.led(p), Or(s.running(p), s.dead(p))),
        ),
        lambda s, p: [s.running(p), s.dead(p), s.led(p)],
    ),
    Conjunct(
        "GoneAreGone",
        "A process that a member takes for gone has ended.",
        ("process", "process"),
        lambda s, p, m: Implies(And(s.running(p), s.gone(p, m)), s.dead(m)),
        lambda s, p, m: [s.gone(p, m)],
    ),
    Conjunct(
        "InLast",
        "A running process is a member of the last installed view and of its own, which is"
        " installed.",
        ("process",),
        lambda s, p: Implies(
            s.running(p),
            And(
                s.member(s.top(), p),
                s.member(s.view(p), p),
                s.installed(s.view(p)),
            ),
        ),
        lambda s, p: [s.running(p)],
    ),
    Conjunct(
        "HoldsLast",
        "A member that lacks the last view is in the one before it, and holds the last.",
        ("process",),
        lambda s, p: Implies(
            And(s.running(p), behind(s, p)),
            And(
                s.number(s.top()) >= 2,
                s.view(p) == s.base(s.top()),
                s.holds(p),
                s.held(p) == s.top(),
            ),
        ),
        lambda s, p: [s.running(p), s.view(p)],
    ),
    Conjunct(
        "HoldsNext",
        "The view that a member holds is the one after its own.",
        ("process",),
        lambda s, p: Implies(
            And(s.running(p), s.holds(p)),
            And(
                s.held(p) == ahead(s, p),
                s.made(s.held(p)),
                s.member(s.held(p), p),
                s.base(s.held(p)) == s.view(p),
                s.number(s.held(p)) == s.number(s.view(p)) + 1,
            ),
        ),
        lambda s, p: [s.holds(p)],
    ),
    Conjunct(
        "AllInLast",
        "Once the next view is decided, every running member has installed the last one.",
        ("group", "process"),
        lambda s, g, p: Implies(
            And(s.made(g), s.number(g) == s.number(s.top()) + 1, s.running(p)),
            s.view(p) == s.top(),
        ),
        lambda s, g, p: [(s.made(g), s.running(p))],
    ),
    Conjunct(
        "AllJoined",
        "Once the next view is decided, every member of the last one is running or has ended.",
        ("group", "process"),
        lambda s, g, p: Implies(
            And(
                s.made(g),
                s.number(g) == s.number(s.top()) + 1,
                s.member(s.top(), p),
                Not(s.dead(p)),
            ),
            And(s.running(p), s.member(g, p)),
        ),
        lambda s, g, p: [(s.made(g), s.member(s.top(), p)), (s.made(g), s.running(p))],
    ),
    Conjunct(
        "NextOfLast",
        "The next view is based on the last installed one.",
        ("group",),
        lambda s, g: Implies(
            And(s.made(g), s.number(g) == s.number(s.top()) + 1), s.base(g) == s.top()
        ),
        lambda s, g: [s.made(g)],
    ),
    Conjunct(
        "JoinedBefore",
        "Every member of an earlier view is running or has ended.",
        ("group", "process"),
        lambda s, g, p: Implies(
            And(
                s.installed(g),
                s.number(g) < s.number(s.top()),
                s.member(g, p),
                Not(s.dead(p)),
            ),
            s.running(p),
        ),
        lambda s, g, p: [(s.installed(g), s.member(g, p))],
    ),
    Conjunct(
        "AckIsTrue",
        "A member that has acknowledged a view holds it or has installed it.",
        ("process", "number"),
        lambda s, p, k: Implies(
            And(s.running(p), s.acked(p, k)),
            Or(
                k <= s.number(s.view(p)),
                And(s.holds(p), k <= s.number(s.held(p))),
            ),
        ),
        lambda s, p, k: [s.acked(p, k)],
    ),
    Conjunct(
        "NoAckYet",
        "A process acknowledges no view before it is a member.",
        ("process", "number"),
        lambda s, p, k: Implies(s.acked(p, k), Or(s.running(p), s.dead(p))),
        lambda s, p, k: [s.acked(p, k)],
    ),
)

INVARIANT: Final = (*VIEWS, *LIVES, *LEADERS, *PROMISES, *CHOICES)
