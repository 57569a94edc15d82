"""Each specification's invariants: where a trace's check asks them, and that it would notice."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.flush import invariants as flush
from raincheck.conformance.bindings.gms import invariants as gms
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.judges import pingpong, pingpong_talk
from raincheck.conformance.judges.planted_invariants import PLANTED, STEPS, asked, reported
from raincheck.conformance.trace.channels_compared import Compared
from raincheck.conformance.trace.findings import VIOLATED, FileReport
from raincheck.conformance.trace.invariants.asked import (
    Followed,
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Promised,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import Moments
from raincheck.conformance.trace.invariants.watch import Watch, plan_of
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.step import Step
from raincheck.conformance.verbs.conform import run_results
from raincheck.model.machine.runs import Address
from raincheck.model.unicast import local as unicast_model

PROTOCOLS = (
    "unicast",
    "nakack",
    "stable",
    "gms",
    "flush",
    "state_transfer",
    "merge2",
    "sequencer",
    "raincore",
    "locks",
)
A, B = ["a", 0], ["b", 0]
B_0 = Address("b", 0)
HEAD: dict[str, Any] = {
    "run": "r1",
    "protocol": "gms",
    "incarnation": 0,
    "path": "",
    "events": 9,
}
PAGE = Path(__file__).parents[2] / "docs" / "trace-invariants.md"
PARTS = [
    (protocol, f"{name} {number}")
    for protocol in PROTOCOLS
    for name, parts in (binding_of(protocol).invariants or Invariants(of={})).of.items()
    for number, part in enumerate(parts)
    if isinstance(part, OfState | OfStep)
]


def invariants_of(protocol: str) -> Invariants:
    found = binding_of(protocol).invariants
    assert found is not None
    return found


def rows(protocol: str) -> Iterator[str]:
    """The rows of the page's table."""
    for name, parts in invariants_of(protocol).of.items():
        for part in parts:
            match part:
                case OfState():
                    where, how = "each state", part.how
                case OfStep():
                    where, how = f"each {', '.join(part.actions)}", part.how
                case OfMembers():
                    where, how = "between members", part.how
                case Promised():
                    where, how = "promise", part.how
                case Followed():
                    where, how = "conformance", part.how
                case Unshown():
                    where, how = "not shown", part.why
            yield f"| `{name}` | {where} | {how} |"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_invariant_of_the_specification_is_accounted_for(protocol: str) -> None:
    cases = [case for case in load_cases() if case.protocol == protocol]
    named = {name for case in cases for name in case.properties if name not in case.temporal}

    assert named
    assert named - invariants_of(protocol).of.keys() == set()
    assert all(invariants_of(protocol).of.values())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_page_says_where_each_invariant_is_asked(protocol: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition(f"\n## {protocol.upper().replace('_', ' ')}\n")[2].partition("\n## ")[
        0
    ]
    table = [line for line in section.splitlines() if re.match(r"\| `", line)]

    assert table == list(rows(protocol))


@pytest.mark.parametrize(("protocol", "part"), PARTS)
def test_a_step_that_breaks_an_invariant_is_noticed(protocol: str, part: str) -> None:
    good, bad = STEPS[protocol][part]

    assert asked(protocol, good)[part]
    assert not asked(protocol, bad)[part]


@pytest.mark.parametrize("protocol", [each for each in PROTOCOLS if each in STEPS])
def test_steps_that_are_evaluated_together_are_judged_as_one_by_one(protocol: str) -> None:
    binding = binding_of(protocol)
    plan = plan_of(binding)
    assert plan is not None
    together, apart = (Watch(plan, binding.rules(), hash) for _ in range(2))
    good, bad = zip(*STEPS[protocol].values(), strict=True)
    steps = [*good, *bad, *good]

    for index, step in enumerate(steps, 1):
        for watch in (together, apart):
            watch.take([step.at(index)])
        apart.settle()

    assert together.tested == apart.tested
    assert all(each.broken > 0 for each in together.tested.values())
    assert together.noted == apart.noted


def test_no_step_is_planted_for_what_is_not_evaluated() -> None:
    assert {(protocol, part) for protocol, parts in STEPS.items() for part in parts} == {*PARTS}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_judged_between_members_has_a_planted_run(protocol: str) -> None:
    parts = [part for each in invariants_of(protocol).of.values() for part in each]
    judges = {part.judge.__name__ for part in parts if isinstance(part, OfMembers)}
    keys = PLANTED.get(f"bindings.{protocol}.invariants", {})

    assert {key.partition(":")[0] for key in keys} == judges


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_spans_are_all_those_that_are_at_once(seed: int) -> None:
    rng = Random(seed)
    lives, reports, compared = [("a", 0), ("b", 0), ("c", 0)], {}, {}
    for node, life in lives:
        noted = [Statement("here", at, rng.random() < 0.9 or None) for at in range(0, 40, 4)]
        reports[node, life] = FileReport(
            run="r1", protocol="gms", node=node, incarnation=life, path=node, noted=noted
        )
    for one, other in permutations("abc", 2):
        rows = [[at, at - 2, 1] for at in sorted(rng.sample(range(3, 40), 8))]
        channel = json.dumps(["M", one, 0, other, 0], separators=(",", ":"))
        compared[channel] = Compared(np.array(rows, dtype=np.int64))
    moments = Moments(reports, compared, [("c", 0)])

    there = [span for span in moments.spans("here") if span.value is not None]
    both = [
        (one, other)
        for one, other in product(there, there)
        if one.who != other.who and moments.at_once(one, other)
    ]

    assert moments.pairs("here") == both
    assert 0 < len(both) < len(there) ** 2 // 2


# ---------------------------------------------------------------- of members that are gone

ONE, BOTH, ALONE = [[[1, A], [A, B], []], [[2, A], [A, B], []], [[2, A], [A], []]]


@pytest.mark.parametrize("how", ["left", "crashed", "stayed"])
@pytest.mark.parametrize("heard", [False, True])
def test_a_member_that_is_gone_is_lost_from_a_view_only_if_it_has_heard_of_it(
    how: str, heard: bool
) -> None:
    notes = [("a", "there", 3, ALONE), ("b", "there", 1, ONE), ("b", "there", 6, BOTH)]
    notes += [("b", "leaves", 9, True)] if how == "left" else []

    said = reported(
        "gms", notes, [("a", 4, "b", 5)] if heard else [], crashed="b" if how == "crashed" else ""
    )

    lost = "gms.NobodyIsLost is violated: b.0 is a member since its event 1"
    assert (lost in said) == (heard or how == "stayed")


@pytest.mark.parametrize("how", ["left", "crashed", "stayed"])
@pytest.mark.parametrize("heard", [False, True])
def test_a_leader_waits_for_a_member_that_is_gone_if_that_one_hears_of_it_yet(
    how: str, heard: bool
) -> None:
    notes = [("a", "step", 1, [ONE, BOTH]), ("b", "step", 6, [ONE, BOTH])]
    notes += [("a", "resume", 3, BOTH)]
    notes += [("b", "leaves", 9, True)] if how == "left" else []

    said = reported(
        "gms", notes, [("a", 3, "b", 7)] if heard else [], crashed="b" if how == "crashed" else ""
    )

    early = "gms.AcksBeforeResume is violated: b.0 installs it by its event 6"
    assert (early in said) == (heard or how == "stayed")


@pytest.mark.parametrize("heard", [False, True])
def test_a_suspicion_is_wrong_of_a_member_that_goes_after_it_has_heard_of_it(heard: bool) -> None:
    notes = [("a", "suspects", 2, B), ("b", "leaves", 9, True)]
    reports = {("a", 0): FileReport(**HEAD, node="a"), ("b", 0): FileReport(**HEAD, node="b")}
    for who, *said in notes:
        reports[who, 0].noted.append(Statement(*said))
    channel = json.dumps(["M", "a", 0, "b", 0], separators=(",", ":"))
    rows = {channel: Compared(np.array([[5, 4, 1]], dtype=np.int64))} if heard else {}

    assert bool(gms.accurate(Moments(reports, rows, ()))) == heard


@pytest.mark.parametrize("how", ["crashed", "left", "stayed"])
@pytest.mark.parametrize("heard", [False, True])
def test_a_requester_that_is_gone_has_suspended_whom_it_has_heard_of(how: str, heard: bool) -> None:
    notes = [
        ("a", "suspended", 3, [[1, A, 1], [B]]),
        ("a", "suspended", 7, None),
        ("b", "still", 2, [1, A, 1]),
        ("b", "still", 5, [2, B, 1]),
    ]
    views = [("a", [1, [A, B], True]), ("b", [1, [A, B], True])]
    views += [("b", [2, [B], True])] if how == "left" else []
    reports = {("a", 0): FileReport(**HEAD, node="a"), ("b", 0): FileReport(**HEAD, node="b")}
    for who, *said in notes:
        reports[who, 0].noted.append(Statement(*said))
    for place, (who, view) in enumerate(views):
        reports[who, 0].said.append(Statement("view", place, view))
    sent = {("b", "a"): [[3, 2, 1], *([[8, 6, 1]] if heard else [])]}
    compared = {
        json.dumps(["M", one, 0, other, 0], separators=(",", ":")): Compared(
            np.array(rows, dtype=np.int64)
        )
        for (one, other), rows in sent.items()
    }
    moments = Moments(reports, compared, [("a", 0)] if how == "crashed" else [])

    found = flush.participants_still(moments)

    assert (found.broken is not None) == (heard or how == "stayed")


@pytest.mark.parametrize("action", ["Forget", "Renew"])
def test_what_a_dropped_connection_had_come_to_is_compared_with_its_other_end(action: str) -> None:
    acked = unicast_model.Sender(1, 3, 0, 3)._replace(acked=2, consumed=1)
    receiver = unicast_model.Receiver(connection=1, arrived=2, consumed=1)
    before = unicast_model.Local("a", senders=((B_0, acked),), receivers=((B_0, receiver),))
    after = before._replace(senders=(), **({"receivers": ()} if action == "Forget" else {}))
    plan = plan_of(binding_of("unicast"))
    assert plan is not None
    watch = Watch(plan, binding_of("unicast").rules(), hash)
    watch.take([Step(action, 4, before, None, after, ())])

    numbers = ["b.0 0 1", 2, 1]
    dropped = [("acked", 4, numbers), *([("arrived", 4, numbers)] if action == "Forget" else [])]
    assert [(each.topic, each.index, each.value) for each in watch.noted] == dropped
    arrived = [("b", "arrived", 0, ["a.0 0 1", 1, 1]), ("b", "arrived", 0, ["a.0 0 1", 2, 0])]
    broken = "unicast.KeptUntilArrived is violated: b.0 has [1, 1] in the end"
    assert reported("unicast", [("a", *dropped[0]), arrived[0]]) == [broken]
    assert reported("unicast", [("a", *dropped[0]), *arrived]) == []


# ---------------------------------------------------------------- along with a file's fold

MODEST = Invariants(
    of={
        "Modest": (
            OfState(
                reads=("said",),
                holds=lambda rules, _, me: me.said < rules.limit,
                how="a node says less than it may",
            ),
            OfStep(
                actions=("Say",),
                holds=lambda _before, event, _after, _outputs: event.number < 20,
                how="no number is large",
            ),
        ),
        "Quiet": (Unshown(why="nobody knows"),),
    }
)


def judged(
    monkeypatch: pytest.MonkeyPatch, folder: Path, records: Any, *, compact: bool = True
) -> RunVerdict:
    real = replace(pingpong.BINDING.real, invariants=MODEST) if pingpong.BINDING.real else None
    monkeypatch.setattr(
        pingpong, "BINDING", replace(pingpong.BINDING, invariants=MODEST, real=real)
    )
    for node, lines in records.items():
        text = "".join(
            json.dumps(each, separators=(",", ":") if compact else None) + "\n" for each in lines
        )
        (folder / f"r1.{node}.jsonl").write_text(text)
    with pingpong_talk.known():
        (verdict,) = check_paths([folder])
    return verdict


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("compact", [False, True], ids=["in full", "fast"])
def test_invariants_are_evaluated_whichever_path_a_record_takes(
    real: bool, compact: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    records = pingpong_talk.talk(real=real)
    good = judged(monkeypatch, tmp_path, records, compact=compact)
    assert [(each.name, each.verdict) for each in good.promises] == [("pingpong.Modest", "holds")]
    # Two first states, three changes of `said`, three steps.
    assert good.promises[0].judged == {"members": 4, "states": 8, "pairs": 0}
    pingpong_talk.insert("b", pingpong_talk.note("b", 25, 3))(records)
    verdict = judged(monkeypatch, tmp_path, records, compact=compact)

    assert verdict.verdict == "holds"
    (promise,) = verdict.promises
    assert (promise.name, promise.verdict) == ("pingpong.Modest", VIOLATED)
    assert (promise.witness["member"], promise.witness["event"]) == ("b.0", 6)
    assert promise.witness["asked"] == "a node says less than it may"


def test_an_invariant_of_which_a_part_was_never_asked_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    records = pingpong_talk.files(pingpong_talk.event("a", "Rest"))
    verdict = judged(monkeypatch, tmp_path, records)
    (promise,) = verdict.promises

    assert (verdict.verdict, promise.verdict, promise.idle) == ("holds", "inconclusive", True)
    assert promise.parts == {"a node says less than it may": 2, "no number is large": 0}
    assert promise.reason == "this run asks nothing of: no number is large"
    _, found = run_results(verdict, strict=True)
    assert (found.verdict, found.idle) == ("inconclusive", True)
    assert found.figures["parts"] == promise.parts


def test_an_invariant_is_evaluated_on_the_state_in_which_a_file_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pingpong, "BINDING", replace(pingpong.BINDING, begins=None))
    records = pingpong_talk.talk()
    del records["b"][1:-1]
    records["b"][-1]["index"] = 0
    pingpong_talk.at("b", 0, initial__said=3)(records)
    (promise,) = judged(monkeypatch, tmp_path, records).promises

    assert promise.verdict == VIOLATED
    assert promise.witness["event"] == 0
