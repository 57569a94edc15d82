"""Each case of the quick tier shows something that no other case of it shows.

CI has little time: a case that shows nothing new belongs to the full tier. So does a case of a
further flaw whose violation the model exhibits too (tests/model/test_flaws.py).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from raincheck.conformance.bindings.binding import bound_protocols
from raincheck.conformance.cases.tables import HOLDS, Case, load_assumptions, load_cases
from raincheck.conformance.protocols.registry import protocols

CASES = load_cases()
QUICK = [case for case in CASES if case.tier == "quick"]
Shown = tuple[str, ...]

KEPT_FOR: Final[Mapping[str, str]] = {
    "flush-f7-policy": "OpenLatch is taken",
    "gms-crash": "leaders crash one after the other",
    "gms-join": "the largest graph of GMS with its assumptions granted",
    "gms-leave": "Leave and ReceiveLeave are taken",
    "gms-return": "Restart is taken",
    "gms-transfer": "RequestTransfer is taken",
    "locks-joins-calm": "a process without a token cannot post; Multicast is taken",
    "merge2-f6-repaired": "the largest graph of MERGE2 with its assumptions granted",
    "nakack-f15-altered": "Corrupt is taken",
    "nakack-f15-undone": "Forge is taken",
    "pbcast-f8-repaired": "Discard is taken",
    "pbcast-lost-two": "Lose is taken",
    "primary-pair": "Crash, Restart and SetVotes are taken",
    "raincore-f5-seed": "StarvingTimeout is taken",
    "raincore-split-pair": "Split and Heal are taken",
    "raincore-start": "Leave and TokenDelivered are taken",
    "ring-start-late": "Delay and HearLate are taken",
    "ring-start-leaver-repaired": "Leave is taken",
    "sequencer-f12-seed": "Stabilise is taken",
    "sequencer-return-one": "Restart is taken",
    "sequencer-safe-demote": "Demote and the actions of safe delivery are taken",
    "stable-exclude": "Exclude is taken",
    "stable-f2-undone": "Vote is taken",
    "stable-f7-undone": "OnlyStablePurged breaks in the model as with TLC",
    "stable-return": "Crash and Restart are taken",
    "state-transfer-crash": "the largest graph of state transfer",
    "state-transfer-garbage-given-up": "Garble is taken",
    "state-transfer-refuse": "ReadFailed and ReceiveRefuse are taken",
    "total-acknowledged": "Acknowledge and ReceiveCumSeqAck are taken",
    "unicast-return-one": "Crash and Restart are taken",
}
"""Cases that are quick for what the tables do not say, and what that is: `generate` wants each
action taken on the real core, and each protocol has a graph that is not small.
"""


def shown_by(case: Case) -> Iterator[Shown]:
    """What a case shows, by its table alone."""
    if case.expected != HOLDS:
        yield "breaks", case.protocol, case.expected
        if case.flaw and case.expected in case.temporal:
            yield "flaw", case.protocol, case.flaw
        if case.as_implemented and len(case.lacking) == 1:
            yield "needs", case.protocol, case.lacking[0], case.expected
        return
    asked = [name for name in case.properties if name not in case.idle]
    for name in asked if case.as_implemented else ():
        if not case.lacking:
            yield "holds", case.protocol, name
        for assumption in case.lacking:
            yield "keeps", case.protocol, assumption, name


def evidence() -> set[str]:
    """The cases that the tables of assumptions and the records of protocols name as evidence."""
    said = [word for each in load_assumptions() for word in each.evidence]
    for record in protocols().values():
        said += [word for circle in record.circles for word in circle.by]
    return {word.removeprefix("case ") for word in said if word.startswith("case ")}


def redundant(quick: Collection[Case], kept: Collection[str]) -> list[str]:
    """The cases that show nothing which the others do not show."""
    mine = {case.name: set(shown_by(case)) for case in quick}
    found = []
    for name, shown in mine.items():
        others = set().union(*(each for other, each in mine.items() if other != name))
        if name not in kept and shown <= others:
            found.append(name)
    return found


def test_every_quick_case_shows_what_no_other_quick_case_shows() -> None:
    assert redundant(QUICK, KEPT_FOR.keys() | evidence()) == []


def test_no_case_is_kept_for_a_second_reason_that_it_does_not_need() -> None:
    names = {case.name for case in QUICK}

    assert [name for name in KEPT_FOR if name not in names] == []
    assert [name for name in KEPT_FOR if name not in redundant(QUICK, evidence())] == []


@pytest.mark.parametrize("kind", ["holds", "breaks", "flaw", "keeps", "needs"])
def test_a_case_that_shows_only_what_another_shows_is_named(kind: str) -> None:
    case = next(case for case in QUICK if any(shown[0] == kind for shown in shown_by(case)))
    again = replace(case, name="again")

    assert "again" in redundant([*QUICK, again], ())
    assert case.name in redundant([*QUICK, again], ())


def test_every_implemented_protocol_has_a_quick_case_that_holds_and_one_that_breaks() -> None:
    for protocol in bound_protocols():
        shown = {each[0] for case in QUICK if case.protocol == protocol for each in shown_by(case)}

        assert {"holds", "breaks"} <= shown, protocol
