"""Traces of named locks: what members post and read is the model's, and the promises are kept."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import load_cases, select
from raincheck.conformance.field.ring.locks_trace import cut_posts
from raincheck.conformance.judges.around_runs import ENGINES
from raincheck.conformance.replay.replayable import system_for
from raincheck.conformance.trace.following import follower
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.ring.locks_generator import LockingRing, record_locks
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.traceparquet import write_parquet
from raincheck.impl.locks.core import Locks
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Epoch

Records = list[dict[str, Any]]
ASKED = {
    "TypeOK",
    "OneWriterOrReaders",
    "OneCurrent",
    "FenceUnique",
    "FencesMonotone",
    "NobodyPasses",
    "Faithful",
}


def checked(folder: Path) -> RunVerdict:
    """What the traces of LOCKS in a folder say, not those of the ring below."""
    paths = [*folder.glob("*.locks.*"), *folder.glob("*.faults.jsonl")]
    (verdict,) = (each for each in check_paths(paths) if each.protocol == "locks")
    return verdict


def records(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, lines: Records) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


def of(verdict: RunVerdict) -> dict[str, str]:
    """The verdicts on the invariants."""
    return {each.name.removeprefix("locks."): each.verdict for each in verdict.promises}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traces of a ring in which one comes back, one is cut off, and one leaves."""
    folder = tmp_path_factory.mktemp("locks")
    ring = record_locks(folder)
    assert ring.lost, "somebody has to lose what it holds"
    return folder


@pytest.fixture
def traces(good: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "traces"))


def test_real_members_conform_and_keep_every_promise(good: Path) -> None:
    for verdict in check_paths([good]):
        assert (verdict.findings, verdict.problems, verdict.verdict) == ([], [], "holds")
    found = checked(good)

    assert of(found) == dict.fromkeys(ASKED, "holds")
    assert found.actions.keys() == {"Arrive", "Depart", "Want", "Drop", "NewSession"}
    assert found.files == 5  # c has two lives
    told = {name for path in good.glob("*.locks.jsonl") for each in records(path)
            for name, _ in each.get("told", ())}  # fmt: skip
    assert told == {"Post", "Held", "Lost"}


def test_both_engines_say_the_same(good: Path) -> None:
    local, sparks = (engine([good]) for engine in ENGINES.values())

    assert local == sparks


def test_the_fast_path_says_the_same(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = checked(good)
    monkeypatch.setattr(follower, "forms_of", lambda _binding: None)

    assert checked(good) == fast


def test_a_member_that_begins_a_session_of_itself_goes_on_in_its_file(tmp_path: Path) -> None:
    ring = LockingRing(tmp_path)
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.use(0.2)
    desk = ring["a"].node.locks
    assert desk.core.epoch is not None
    desk._begin_anew(desk.core.epoch)  # as where a post that must come first finds no room
    ring.run(0.2)
    ring.use(0.2, "b")
    ring.close()

    found = checked(tmp_path)

    assert (found.verdict, found.findings) == ("holds", [])
    assert found.actions["NewSession"] == 1


# ---------------------------------------------------------------- what does not conform


def test_a_post_that_nobody_sent_is_told_of_its_reader(traces: Path) -> None:
    """Both files follow the model by themselves: the reader's has it that a name is another."""
    text = (traces / "locks-1.d.0.locks.jsonl").read_text()
    assert '"x"' in text
    (traces / "locks-1.d.0.locks.jsonl").write_text(text.replace('"x"', '"z"'))

    found = checked(traces)

    assert found.verdict == "violated"
    assert found.first is not None
    assert (found.first.part, found.first.node) == ("network", "a")
    assert found.first.reason == '["Post","d",0,"a",0] was never sent'


def test_a_post_that_is_told_otherwise_is_not_the_models(traces: Path) -> None:
    path = traces / "locks-1.b.0.locks.jsonl"
    lines = records(path)
    record = next(each for each in lines if each.get("told") and each["told"][0][0] == "Post")
    record["told"][0][1][2] += 1  # its place
    rewritten(path, lines)

    found = checked(traces)

    assert found.verdict == "violated"
    assert any(f.node == "b" and f.differences[0].name == "told[1]" for f in found.findings)


def test_a_session_that_is_not_a_new_one_is_refused(traces: Path) -> None:
    path = traces / "locks-1.b.0.locks.jsonl"
    lines = records(path)
    record = next(each for each in lines if each.get("action") == "NewSession")
    record["args"]["session"] = 1
    rewritten(path, lines)

    first = checked(traces).first

    assert first is not None
    assert [each.text for each in first.conjuncts] == ["session' > session[n]"]


def test_a_rule_that_is_taken_back_breaks_what_rests_on_it(tmp_path: Path) -> None:
    (case,) = select(load_cases(), names=["locks-chained-undone"])
    record_walk(
        binding_of("locks"), system_for(case), tmp_path, run="locks-chained-undone-17", seed=17
    )

    found = {each.name: each for each in checked(tmp_path).promises}

    for name in ("locks.OneCurrent", "locks.Faithful"):
        assert (found[name].verdict, found[name].assumption) == ("violated", "chained")


# ---------------------------------------------------------------- what is missing


def _hole(path: Path) -> str:
    lines = records(path)
    del lines[len(lines) // 2]
    rewritten(path, lines)
    return "missing"


def _cut(path: Path) -> str:
    rewritten(path, records(path)[:-20])
    return "no footer: events may be missing at the end"


def _gone(path: Path) -> str:
    path.unlink()
    return "do not show its sending"


def _life(path: Path) -> str:
    for each in path.parent.glob("locks-1.c.*"):
        each.unlink()
    (path.parent / "locks-1.faults.jsonl").unlink()
    return "there is no file of node c"


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
@pytest.mark.parametrize("damage", [_hole, _cut, _gone, _life])
def test_what_is_missing_accuses_nobody(damage: Any, kind: str, traces: Path) -> None:
    reason = damage(traces / "locks-1.a.0.locks.jsonl")
    if kind == ".parquet":
        for path in traces.glob("*.locks.jsonl"):
            write_parquet(path.with_suffix(kind), records(path))
            path.unlink()

    found = checked(traces)

    assert found.verdict == "inconclusive"
    assert any(reason in each.reason for each in found.findings)
    assert {each.verdict for each in found.promises} == {"inconclusive"}


def test_a_protocol_that_was_recorded_has_to_have_a_file(traces: Path) -> None:
    for path in traces.glob("*.locks.jsonl"):
        path.unlink()

    stray = check_paths([traces])[-1]

    assert [each.reason for each in stray.problems] == [
        "there is no file of locks of locks-1, which was recorded"
    ]


# ---------------------------------------------------------------- what was not kept


def test_what_was_recorded_and_not_kept_is_cut_off(traces: Path) -> None:
    """The state lacks the last post: its token was never sent."""
    path = traces / "locks-1.b.0.locks.jsonl"
    lines = records(path)
    at = max(n for n, each in enumerate(lines) if any(t == "Post" for t, _ in each.get("told", ())))
    epoch, place = lines[at]["told"][0][1][1:3]
    core = Locks(Address("b", 0), 9, epoch=Epoch(epoch[0], Address(*epoch[1])))

    assert cut_posts(path, core, place)[1] == lines[-1]["index"]  # it was kept
    _, index, state = cut_posts(path, core, place - 1)

    assert index == lines[at]["index"] - 1
    assert records(path) == lines[:at]
    assert state["session"] == 2
    assert cut_posts(path, Locks(Address("b", 0), 2, epoch=core.epoch), place)[2]["session"] == 1
    assert cut_posts(path, Locks(Address("b", 0), 2), 0)[1] < index
