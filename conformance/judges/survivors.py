"""The reasons why a damage of a checker may survive all inputs without being a gap."""

from __future__ import annotations

import re
from typing import Final

REASONS: Final = (
    (
        r"^trace\.run check_run: .*\bturns\b"
        r"|^trace\.streams Streams\.settle: .*set\(self\._files\)",
        "it only says when memory is freed: what is found does not depend on that",
    ),
    (
        r"^trace\.channels_compared (_places|_met): (.*\bFEW\b|records lost: zip\()"
        r"|^trace\.channels_compared _met: .*where\.setdefault",
        "short channels are looked up one by one, and otherwise compared as tables, which must say "
        "the same: each input for them asks in both ways",
    ),
    (
        r"^trace\.following\.follower Follower\._fold: .*_fast is None"
        r"|^trace\.following\.follower Follower\.done: .*_fast is not"
        r"|^trace\.following\.initial .*forms\.initial is not",
        "what is not read at once is judged in full, which must say the same: test_fastpath.py "
        "compares both",
    ),
    (
        r"^trace\.sequencer\.promises _common: .*p\.keys\[0\]"
        r"|^bindings\.sequencer\.trace intervals_changed: .*resend is waited"
        r"|^bindings\.stable\.speaks calls: .*len\(outputs\) == 1",
        "it only finds sooner what a comparison of all finds as well",
    ),
    (
        r"^bindings\.unicast\.invariants _gather: .*before\.closed is not",
        "ends that are not gathered are judged step by step, which must say the same: "
        "test_invariants.py compares both",
    ),
    (
        r"^trace\.ring\.views _in_order: (records lost|.*= each\.members)",
        "entries that came in order need not be looked at; without that each one is, and none of "
        "them lacks anything",
    ),
)
"""A pattern for the keys of damages, and the reason."""


def reason_of(key: str) -> str:
    """Return why the damage of that key may survive, or ""."""
    return next((words for pattern, words in REASONS if re.search(pattern, key)), "")
