"""Which cases speak of a protocol as it is implemented, and what such a one still assumes."""

from collections.abc import Mapping, Sequence
from typing import Final

from raincheck.conformance.replaying.verticals import as_implemented, system_for
from raincheck.conformance.tlc.catalog import HOLDS, Assumption, Case
from raincheck.conformance.tlc.cfgfile import read_cfg
from raincheck.model.values import Value

from .errors import UsageError
from .faces import faces_of

SEQUENCER: Final = "sequencer"
_ENVIRONMENT: Final = frozenset({"VirtualSynchrony", "FifoForward"})


def repaired(case: Case) -> bool:
    """Tell whether the case speaks of the protocol as it is implemented."""
    if "undone" in case.name or case.name.endswith("-seed"):
        return False
    if case.protocol == SEQUENCER:
        return _all_on(case)
    return _usual_rules(case) is not False


def needs_of(
    cases: Sequence[Case], assumptions: Sequence[Assumption]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Which property needs which assumption: a case that lacks just that one breaks it."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for case in cases:
        if case.expected == HOLDS:
            continue
        named = {each.name for each in assumptions if each.protocol == case.protocol}
        lacking = _lacking(case, named)
        if len(lacking) == 1 and lacking[0] in named:
            found.setdefault((case.protocol, case.expected), {})[lacking[0]] = None
    return {key: tuple(names) for key, names in found.items()}


def _lacking(case: Case, assumptions: set[str]) -> list[str]:
    """What is switched off in the case: assumptions and repairs, by the spec's names."""
    constants: Mapping[str, Value] = read_cfg(case.cfg).constants
    off = [name for name, value in constants.items() if value is False]
    if case.protocol == SEQUENCER:
        return off if constants.get("JoinPolicy", "table") == "table" else []
    # Elsewhere a constant that is FALSE may be a bound; the model knows which ones are repairs.
    if _usual_rules(case) is not True:
        return []
    return [name for name in off if name in assumptions]


def _all_on(case: Case) -> bool:
    constants = read_cfg(case.cfg).constants
    return (
        all(value is not False for name, value in constants.items() if name not in _ENVIRONMENT)
        and constants.get("JoinPolicy", "table") == "table"
    )


def _usual_rules(case: Case) -> bool | None:
    """Whether all repairs are on in the case's model; None where there is no model to ask."""
    try:
        return as_implemented(faces_of(case.protocol), system_for(case).rules)
    except UsageError:
        return None
