"""The assumptions that each property of an implemented protocol needs."""

from collections.abc import Sequence

from raincheck.conformance.cases.tables import HOLDS, NOT_FOUND, Assumption, Case


def needs_of(
    cases: Sequence[Case], assumptions: Sequence[Assumption]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the assumptions each property needs: a case that lacks just that one breaks it."""
    named = {(each.protocol, each.name) for each in assumptions}
    found: dict[tuple[str, str], dict[str, None]] = {}
    for case in cases:
        # A case that also takes a rule back says nothing about an assumption.
        if case.expected in (HOLDS, NOT_FOUND) or not case.as_implemented or len(case.lacking) != 1:
            continue
        (lacking,) = case.lacking
        if (case.protocol, lacking) in named:
            found.setdefault((case.protocol, case.expected), {})[lacking] = None
    return {key: tuple(names) for key, names in found.items()}
