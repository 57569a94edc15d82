"""The harness of the ring without its processes: plans, fences, verdicts."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Outcome
from raincheck.conformance.field.faults import Plan, kinds_of
from raincheck.conformance.field.lives import RunFailed
from raincheck.conformance.field.ring.checks import (
    AGREEMENT,
    AS_WRITTEN,
    DELIVERED,
    FENCED,
    NOT_JUDGED,
    ONE_FOUNDING,
    PROMISED,
    TRACE,
    RingJudged,
    judge_ring,
    ring_results,
)
from raincheck.conformance.field.ring.faults import (
    KINDS,
    MOMENTS,
    MOST,
    PROCESS,
    make_ring_plan,
)
from raincheck.conformance.field.ring.fence import NO_FENCE, Access, Fence, Resource, Write, judged
from raincheck.conformance.field.ring.members import RingMember, agreed, gone_round, newest, settled
from raincheck.conformance.field.ring.record import RingRecord, RingSettings
from raincheck.conformance.field.ring.run import RingRun
from raincheck.conformance.field.ring.status import Status
from raincheck.conformance.field.tally import judged_sum
from raincheck.conformance.trace.ring.generator import RecordedRing, record_ring
from raincheck.conformance.trace.ring.promises import NAMES

# ---------------------------------------------------------------- plans


def test_a_plan_depends_on_the_seed_alone_and_all_kinds_have_their_turn() -> None:
    plans = [make_ring_plan(KINDS, seed, 0.3) for seed in range(100)]

    assert plans == [make_ring_plan(KINDS, seed, 0.3) for seed in range(100)]
    assert len(set(map(repr, plans))) == 100
    drawn = Counter(fault.kind for plan in plans for fault in plan.faults)
    assert drawn.keys() == set(PROCESS)
    moments = {fault.moment for plan in plans for fault in plan.faults if fault.kind == "holder"}
    assert moments == set(MOMENTS)
    for plan in plans:
        times = [fault.at for fault in plan.faults]
        assert times == sorted(times)
        assert 0 < times[0] < times[-1] < 1
        assert len(times) == MOST
        assert set(plan.damage) == {"loss", "delay", "duplicate", "reorder"}
    pauses = [f.seconds for plan in plans for f in plan.faults if f.kind == "pause"]
    assert min(pauses) < 0.3 < max(pauses)


def test_a_kind_alone_comes_twice_and_none_never() -> None:
    assert [fault.kind for fault in make_ring_plan(("holder",), 1, 0.3).faults] == ["holder"] * 2
    assert make_ring_plan(("loss",), 1, 0.3).faults == ()
    assert make_ring_plan((), 1, 0.3) == Plan((), {})
    assert kinds_of("holder, loss", KINDS) == ("holder", "loss")
    with pytest.raises(UsageError, match="does not know requester: choose from holder, crash"):
        kinds_of("requester", KINDS)


# ---------------------------------------------------------------- the resource


def at(number: int, epoch: int = 0, by: str = "", turn: int = 0) -> Fence:
    return (epoch, by, 0, number, turn)


def test_a_late_holder_is_refused_over_the_network() -> None:
    async def story() -> tuple[list[bool], Resource]:
        resource = Resource(clock=lambda: 1.0)
        place = await resource.start()
        early, late = Access("a.0", place), Access("b.0", place)
        answers = [
            await early.write(at(5)),
            await early.write(at(5)),
            await late.write(at(2, 1, "b")),
            await early.write(at(5)),
            await late.write(at(2, 1, "b", 1)),
        ]
        early.close()
        late.close()
        await resource.close()
        return answers, resource

    answers, resource = asyncio.run(story())

    assert answers == [True, True, True, False, True]
    assert resource.log[3] == Write("a.0", at(5), False, 1.0)
    assert resource.greatest == at(2, 1, "b", 1)
    assert judged(resource.log) == []


class Careless(Resource):
    """It accepts whatever comes."""

    def accepts(self, _fence: Fence) -> bool:
        return True


class Strict(Resource):
    """It refuses whoever comes twice."""

    def accepts(self, fence: Fence) -> bool:
        return fence > self.greatest


def test_a_resource_that_does_not_compare_is_found_out() -> None:
    careless, strict = Careless(), Strict()
    for resource in (careless, strict):
        for who, fence in (("a.0", at(1)), ("b.0", at(2)), ("b.0", at(2)), ("a.0", at(1))):
            resource.write(who, fence)

    (found,) = judged(careless.log)
    assert found.promise == "Fenced"
    assert found.facts["fences"] == [at(2), at(1)]
    (found,) = judged(strict.log)
    assert found.facts["what"] == "refused, although none greater had come"


def test_two_holders_at_one_number_are_found_out() -> None:
    log = [Write("a.0", at(7), True, 0.5), Write("b.0", at(7, turn=1), True, 0.75)]

    (found,) = judged(log)

    assert (found.promise, found.at) == ("FenceUnique", 0.75)
    assert found.facts["members"] == ["a.0", "b.0"]


def test_nonsense_ends_a_connection_and_no_more() -> None:
    async def story() -> Resource:
        resource = Resource()
        place = await resource.start()
        host, _, port = place.rpartition(":")
        for nonsense in (b"{}\n", b"nonsense\n", b'{"who":"a","fence":7}\n', b"\xff" * 9999):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(nonsense)
            assert await reader.read() == b""
            writer.close()
        access = Access("a.0", place)
        assert await access.write(at(1))
        access.close()
        await resource.close()
        return resource

    assert [write.who for write in asyncio.run(story()).log] == ["a.0"]
    assert at(1) > NO_FENCE


# ---------------------------------------------------------------- settled


def member(name: str, **how: Any) -> RingMember:
    process: asyncio.subprocess.Process = None  # type: ignore[assignment]
    made = RingMember(name, 0, process, Path("none"))
    made.joined = True
    views = ((1, ("a", "b")),)
    made.ring = Status(name, 1.0, "up", "agreement", nodelist=("a", "b"), views=views)._replace(
        **how
    )
    return made


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, True),
        ({"view_state": "reserve"}, False),
        ({"nodelist": ("a", "b", "c")}, False),
        ({"nodelist": ("b",)}, False),
        ({"views": ((1, ("a", "b")), (2, None))}, False),
        ({"views": ()}, False),
    ],
)
def test_a_ring_is_settled_when_all_agree_on_all(how: dict[str, Any], expected: bool) -> None:
    assert settled([member("a"), member("b", **how)]) is expected


def test_who_is_on_its_way_into_the_ring_is_waited_for() -> None:
    late = member("b")
    late.joined = False

    assert not settled([member("a"), late])
    assert not settled([member("a")])  # b is on the list, and not there
    assert not settled([])


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([((0, ""), 14), ((0, ""), 15)], True),
        ([((0, ""), 13), ((0, ""), 15)], False),  # a has had it once
        ([((1, "a"), 3), ((1, "a"), 4)], True),  # made anew since
        ([((1, "a"), 3), ((0, ""), 11)], False),
    ],
)
def test_a_ring_has_recovered_when_its_token_has_come_to_all_twice(
    numbers: list[tuple[tuple[int, str], int]], expected: bool
) -> None:
    before = [member("a", seq=9), member("b", seq=10)]
    now = [
        member(name, epoch=epoch, seq=seq) for name, (epoch, seq) in zip("ab", numbers, strict=True)
    ]

    assert gone_round(now, newest(before)) is expected


# ---------------------------------------------------------------- the last messages


class Scripted(RingRun):
    """A run without processes: while it waits, the next act of a script happens."""

    def __init__(self, folder: Path, script: str) -> None:
        super().__init__(RingSettings(), 1, folder)
        self.script = list(script)
        self.told: list[str] = []
        self.members.all = [member("a"), member("b")]
        for each in self.members.all:
            each.sent = 1
        self._rest = agreed(self.members.all)

    async def _until(self, condition: Callable[[], bool], what: str, _seconds: float) -> None:
        while not condition():
            if not self.script:
                raise RunFailed(what)
            self.act(self.script.pop(0))

    def act(self, word: str) -> None:
        """`d`: both deliver what was sent last; `v`: a comes to the next view; `w`: b does."""
        for each in self.members.all:
            assert each.ring is not None
            if word == "d":
                each.highest = {"a.0": 1, "b.0": 1}
            elif word == {"a": "v", "b": "w"}[each.name]:
                each.ring = each.ring._replace(views=((2, ("a", "b")),))

    async def _stopped(self, word: str) -> None:
        self.told.append(word)


@pytest.mark.parametrize(
    ("script", "told", "comes"),
    [("", [], False), ("d", [], True), ("v", [], False), ("vw", ["again"], False),
     ("vwd", ["again"], True), ("vdw", [], True)],
)  # fmt: skip
def test_the_last_messages_are_sent_again_only_if_the_view_has_changed(
    script: str, told: list[str], comes: bool, tmp_path: Path
) -> None:
    run = Scripted(tmp_path, script)

    with nullcontext() if comes else pytest.raises(RunFailed, match="Delivering"):
        asyncio.run(run._arrived("Delivering"))

    assert run.told == told


@pytest.mark.parametrize(
    ("call", "finds"),
    [
        ({"founders": "a@h:1,b@h:2"}, True),  # a asks b
        ({"founders": "a@h:1,b@h:3"}, False),  # b is elsewhere by now
        ({"founders": "a@h:1"}, False),
        ({"join": "h:9,h:2"}, True),
        ({"join": "h:9"}, False),
    ],
)
def test_who_is_started_again_can_find_the_ring(
    call: dict[str, str], finds: bool, tmp_path: Path
) -> None:
    run = Scripted(tmp_path, "")
    for each, bind in zip(run.members.all, ("h:1", "h:2"), strict=True):
        each.bind = bind

    assert run._finds(call | {"bind": "h:1"}) is finds


# ---------------------------------------------------------------- verdicts


def in_ring(name: str, identity: str) -> RingMember:
    """A member that has been in the ring of that identity."""
    made = member(name)
    made.identity = identity
    return made


def record(**how: Any) -> RingRecord:
    made = RingRecord("ring-1", 1, Plan((), {}), seconds=5.0)
    made.agreed = made.heard = True
    made.writes = [Write("a.0", at(1), True, 0.5)]
    made.lives = [in_ring("a", "f00d"), in_ring("b", "f00d")]
    for name, value in how.items():
        setattr(made, name, value)
    return made


def judged_run(as_written: bool = False, **how: Any) -> RingJudged:
    made = judge_ring(record(**how), Path("none"), as_written=as_written, check=False)
    made.verdicts[TRACE] = "holds"
    for name in PROMISED:
        made.verdicts.setdefault(name, "holds")
    return made


def test_a_run_that_comes_to_its_end_holds() -> None:
    assert judged_run().verdict == "holds"
    assert judge_ring(record(), Path("none")).verdict == "inconclusive"  # no trace at all


def test_a_run_that_cannot_finish_is_inconclusive_and_says_whom_it_waited_for() -> None:
    failure = "Agreeing after the last fault took longer than 20 s; a: hungry, waits for b"

    found = judged_run(agreed=False, heard=False, failure=failure)

    assert found.verdict == "inconclusive"
    assert found.verdicts[AGREEMENT] == found.verdicts[DELIVERED] == "inconclusive"
    assert found.result("again").detail.startswith(f"Incomplete: {failure}")


def test_as_written_the_same_is_a_finding() -> None:
    found = judged_run(agreed=False, heard=False, failure="it waits for b", as_written=True)

    assert found.verdict == "holds"
    assert found.violated == [AGREEMENT]
    assert found.soonest == {AGREEMENT: 5.0}
    result = found.result("again")
    assert (result.verdict, result.expected) == ("violated", "violated")
    assert result.figures["holes"] == AGREEMENT


@pytest.mark.parametrize(
    "how", [{"defects": ["a.0 wrote to stderr: boom"]}, {"writes": []}, {"failure": "boom"}]
)
def test_what_went_wrong_around_it_leaves_a_run_undecided(how: dict[str, Any]) -> None:
    found = judged_run(**how)

    assert found.verdict == "inconclusive"
    assert "boom" in found.reasons[-1] or "nobody has used the resource" in found.reasons


def test_a_resource_that_was_fooled_fails_the_run() -> None:
    log = [Write("a.0", at(2), True, 0.5), Write("b.0", at(1), True, 0.6)]

    found = judged_run(writes=log)

    assert found.verdict == "violated"
    assert found.violated == [FENCED]
    assert "a smaller fence was accepted" in "\n".join(found.reasons)


def test_a_ring_that_was_founded_again_fails_the_run() -> None:
    lives = [in_ring("a", "f00d"), in_ring("b", ""), in_ring("c", "beef")]

    found = judged_run(lives=lives)

    assert (found.verdict, found.violated) == ("violated", [ONE_FOUNDING])
    assert found.witnesses[ONE_FOUNDING] == {"rings": {"f00d": "a.0", "beef": "c.0"}}
    assert judged_run(lives=[in_ring("a", "")]).verdicts[ONE_FOUNDING] == "inconclusive"


def test_results_of_a_campaign_say_how_often_and_how_soon() -> None:
    runs = [judged_run(as_written=True) for _ in range(3)]
    runs[1].violates("OneLock", 2.5, {"members": ["a", "b"]})
    runs[2].violates("OneLock", 1.5, {"members": ["b", "c"]})

    found = {each.name: each for each in ring_results(runs, {1: "again"})}

    lock = found["OneLock"]
    assert (lock.verdict, lock.as_expected) == ("violated", True)
    assert lock.figures.items() >= {
        "runs": 3, "violated": 2, "first_run": 2, "soonest": 1.5, "median": 2.0,
        "witness": {"members": ["a", "b"]},
    }.items()  # fmt: skip
    assert found["Fifo"].verdict == "holds"
    assert found[AS_WRITTEN].figures == {"runs": 3, "broken_runs": 2, "holes": "OneLock"}
    assert all(each.as_expected for each in found.values())


def test_as_written_a_campaign_that_finds_nothing_is_a_surprise() -> None:
    found = ring_results([judged_run(as_written=True)], {1: "again"})[-1]

    assert (found.name, found.verdict, found.as_expected) == (AS_WRITTEN, "holds", False)


def test_as_implemented_a_broken_promise_fails_the_campaign() -> None:
    run = judged_run()
    run.violates("ConsistentHistory", None, {})

    found = {each.name: each for each in ring_results([run], {1: "raincheck again"})}

    assert not found["ConsistentHistory"].as_expected
    assert not found["ring-1"].as_expected
    assert found["ring-1"].detail.endswith("Again: raincheck again")
    assert AS_WRITTEN not in found


# ---------------------------------------------------------------- what is owed


@pytest.mark.parametrize("as_written", [False, True])
@pytest.mark.parametrize("trace", ["violated", "inconclusive"])
def test_a_trace_that_is_not_the_models_is_never_expected(trace: str, as_written: bool) -> None:
    """Not even as written, where broken promises are."""
    run = judged_run(as_written)
    run.verdicts[TRACE] = trace
    run.violates("OneLock", 1.0, {})

    result = run.result("raincheck again")

    broken = trace == "violated" or not as_written
    assert run.verdict == result.verdict == ("violated" if broken else "inconclusive")
    assert (result.expected, result.as_expected) == ("holds", False)
    assert result.detail.endswith("Again: raincheck again")
    over_all = {each.name: each for each in ring_results([run], {1: "raincheck again"})}
    assert (over_all[TRACE].verdict, over_all[TRACE].as_expected) == (trace, False)


def test_all_that_is_promised_is_owed() -> None:
    assert (*NAMES, FENCED, AGREEMENT, DELIVERED, ONE_FOUNDING) == PROMISED
    for name in (TRACE, *PROMISED):
        for verdict in ("violated", "inconclusive"):
            run = judged_run()
            run.verdicts[name] = verdict
            assert run.verdict == verdict, name
            assert not run.result("").as_expected
        run = judged_run()
        del run.verdicts[name]
        assert run.verdict == "inconclusive", name


def test_what_is_broken_counts_for_more_than_what_nobody_can_tell() -> None:
    run = judged_run(failure="it took too long")
    run.verdicts["Fifo"] = "inconclusive"
    run.violates("OneLock", None, {})

    assert run.verdict == "violated"


def test_the_soonest_time_and_the_first_witness_are_kept() -> None:
    run = judged_run()
    for at, witness in ((2.0, "first"), (1.0, "second"), (3.0, "third"), (None, "fourth")):
        run.violates("OneLock", at, witness)

    assert (run.soonest, run.witnesses) == ({"OneLock": 1.0}, {"OneLock": "first"})


def test_as_written_only_the_trace_is_owed() -> None:
    run = judged_run(as_written=True)
    for name in PROMISED:
        run.verdicts[name] = "inconclusive"

    assert run.verdict == "holds"
    result = run.result("again")
    assert (result.verdict, result.expected, result.detail) == ("holds", "holds", "")
    assert result.figures["holes"] == "none"
    run.record.defects.append("a.0 wrote to stderr: boom")
    assert run.result("again").verdict == "inconclusive"


def outcome(*runs: RingJudged) -> str:
    return Outcome("run", ring_results(list(runs), {1: "again"}), "again").verdict


def test_one_run_decides_over_all() -> None:
    broken, undecided = judged_run(), judged_run()
    broken.violates("Integrity", 0.1, {})
    undecided.verdicts["Fifo"] = "inconclusive"

    assert outcome(judged_run(), judged_run()) == "holds"
    assert outcome(judged_run(), undecided, judged_run()) == "inconclusive"
    assert outcome(judged_run(), broken, undecided) == "violated"


def test_as_written_the_outcome_is_that_some_promise_is_broken() -> None:
    kept, broken, wrong = (judged_run(as_written=True) for _ in range(3))
    broken.violates("OneLock", 0.1, {})
    wrong.verdicts[TRACE] = "violated"

    assert outcome(kept, broken) == "holds"
    assert outcome(kept) == "violated"  # a surprise
    assert outcome(broken, wrong) == "violated"
    wrong.verdicts[TRACE] = "inconclusive"
    assert outcome(broken, wrong) == "inconclusive"


def test_as_written_a_promise_that_no_run_judged_was_not_kept() -> None:
    runs = [judged_run(as_written=True) for _ in range(2)]
    for run in runs:
        run.verdicts["Fifo"] = "inconclusive"
    runs[0].verdicts["OneLock"] = "inconclusive"
    runs[0].violates("FenceUnique", 0.1, {})

    found = {each.name: each for each in ring_results(runs, {1: "again"})}

    assert found["Fifo"].verdict == found["Fifo"].expected == NOT_JUDGED
    assert found["Fifo"].figures == {"runs": 2, "inconclusive": 2}
    assert found["OneLock"].verdict == "holds"
    assert found["OneLock"].figures == {"runs": 2, "inconclusive": 1}
    assert found["FenceUnique"].verdict == "violated"


# ---------------------------------------------------------------- over how much


def recorded(tmp_path: Path) -> Path:
    """A folder such as a run leaves it, with the traces of a ring in virtual time."""
    (tmp_path / "traces").mkdir()
    record_ring(tmp_path / "traces", "ring-1")
    return tmp_path


INVARIANTS = ("raincore.TypeOK", "raincore.PlacesKept")
"""The specification's invariants that speak of each member's state."""


def test_results_say_over_how_much_each_promise_was_judged(tmp_path: Path) -> None:
    run = judge_ring(record(), recorded(tmp_path))

    assert run.verdict == "holds", run.reasons
    assert list(run.judged) == [*NAMES, *INVARIANTS]
    assert run.judged["Fifo"] == {"members": 4, "messages": 12}  # most of them posts of LOCKS
    assert run.judged["SevenStates"] == {"members": 5, "states": 7}
    assert run.result("again").figures["judged"] == run.judged
    found = {each.name: each for each in ring_results([run, run], {1: "again"})}
    assert found["Fifo"].figures == {"runs": 2, "judged": {"members": 8, "messages": 24}}
    assert found["SevenStates"].figures["judged"] == {"members": 10, "states": 14}
    assert "judged" not in found[AGREEMENT].figures
    assert "judged" not in found[TRACE].figures


def test_a_promise_of_which_nothing_was_asked_leaves_the_run_undecided(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    ring = RecordedRing(tmp_path / "traces", "ring-1")
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    ring.multicast("a", [b"one"])
    ring.run(0.5)
    ring.close()

    run = judge_ring(record(), tmp_path)

    assert run.verdict == "inconclusive"
    undecided = {name for name, verdict in run.verdicts.items() if verdict != "holds"}
    assert undecided == {"Fifo", "AgreedOrder"}
    assert run.judged["Fifo"] == {"members": 0, "messages": 0}
    assert "Fifo: nobody delivered two messages of one sender" in run.reasons
    assert "AgreedOrder: no two members delivered the same two messages" in run.reasons
    assert not any(reason.startswith("OneLock") for reason in run.reasons)
    assert run.judged["NoHoles"] == {"members": 3, "views": 1}  # all agree in the end


def test_what_the_traces_say_is_broken_is_broken(tmp_path: Path) -> None:
    """With its first time, its witness and the reason, and whatever the log of writes says."""
    path = recorded(tmp_path) / "traces" / "ring-1.b.0.raincore.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    turn = next(each for each in lines if each.get("changed", {}).get("reserved") == 4)
    turn["changed"]["token_state"] = "starving"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))

    run = judge_ring(record(), tmp_path)

    assert (run.verdict, run.verdicts[TRACE]) == ("violated", "violated")
    assert run.violated == ["SevenStates"]
    assert run.judged.keys() == {*NAMES, *INVARIANTS} <= run.verdicts.keys()
    assert run.soonest == {"SevenStates": turn["at"]}
    assert run.witnesses["SevenStates"]["state"] == "starving-reserve"
    assert any(reason.startswith("SevenStates is violated: {") for reason in run.reasons)
    assert any(
        reason.startswith("violated: not what the model does (b.0") for reason in run.reasons
    )
    assert run.events > 100


def test_without_a_trace_nothing_is_known_of_any_event(tmp_path: Path) -> None:
    run = judge_ring(record(), tmp_path)

    assert (run.verdicts[TRACE], run.events, run.judged) == ("inconclusive", 0, {})
    assert run.reasons == ["no member has written a trace"]


def test_counts_of_all_runs_are_added_by_name() -> None:
    assert judged_sum([]) == {}
    runs = [{"members": 2, "views": 1}, {}, {"members": 3, "messages": 5}]
    assert judged_sum(runs) == {"members": 5, "views": 1, "messages": 5}


@pytest.mark.parametrize(
    ("how", "verdicts"),
    [
        ({}, ("holds", "holds")),
        ({"heard": False}, ("holds", "inconclusive")),
        ({"agreed": False, "heard": False}, ("inconclusive", "inconclusive")),
    ],
)
def test_who_waits_too_long_can_say_nothing(how: dict[str, Any], verdicts: tuple[str, str]) -> None:
    run = judged_run(**how)

    assert (run.verdicts[AGREEMENT], run.verdicts[DELIVERED]) == verdicts
    assert run.violated == []


def test_as_written_who_agrees_and_does_not_hear_has_broken_its_promise() -> None:
    run = judged_run(as_written=True, heard=False, failure="b lacks a message")

    assert run.violated == [DELIVERED]
    assert (run.soonest, run.witnesses) == ({DELIVERED: 5.0}, {DELIVERED: "b lacks a message"})


# ---------------------------------------------------------------- the command line


def test_a_dry_run_names_the_members_and_what_is_done_to_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["run", "raincore", "-n", "--members", "4", "--faults", "holder,pause"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert sum("raincheck.conformance.field.ring.node --name=" in line for line in lines) == 4
    assert sum(line.startswith("at ") for line in lines) == 2
    assert "--founders=a@HOST:PORT,b@HOST:PORT,c@HOST:PORT,d@HOST:PORT" in lines[0]
    assert any("holder: the token's holder" in line for line in lines)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["raincore", "--members", "2"], "--members is 2: a ring has from 3 to 8 founders"),
        (["raincore", "--members", "9"], "--members is 9"),
        (["raincore", "--transport", "tcp"], "a ring has UDP only"),
        (["raincore", "--messages", "5"], "--messages is for the stack"),
        (["raincore", "--size", "5"], "--size is 5: choose from 16"),
        (["raincore", "--seconds", "0"], "--seconds is 0"),
        (["raincore", "--rate", "-1"], "--rate is -1"),
        (["raincore", "--runs", "0"], "--runs is 0"),
        (["raincore", "--soak", "0"], "--soak is 0"),
        (["raincore", "--faults", "requester"], "does not know requester"),
        (["--as-written"], "--as-written is for the ring"),
        (["--watch"], "--watch is for the ring"),
        (["torus"], "no protocol torus"),
    ],
)
def test_what_cannot_be_run_is_refused(
    given: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *given, "--out", str(tmp_path / "out")]) == 3
    assert sentence in capsys.readouterr().err
