"""Traces of real members of a ring: what they do is the model's, and the promises are kept."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.ring.generator import NAMES as NODES
from raincheck.conformance.trace.ring.generator import RecordedRing, record_ring
from raincheck.conformance.trace.ring.promises import NAMES
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.messages import Address
from raincheck.impl.raincore.core import Raincore, Repairs
from raincheck.impl.raincore.events import Initialise, Recover, StarvingTimeout
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.raincore import RingTrace, cut_to
from raincheck.impl.ring.node import RingNode

Records = list[dict[str, Any]]
AS_WRITTEN = Repairs(**dict.fromkeys(Repairs.__dataclass_fields__, False))


def checked(folder: Path) -> RunVerdict:
    """What the traces of one run say."""
    (verdict,) = check_paths([folder])
    return verdict


def records(path: Path) -> Records:
    """The records of a file, to be damaged."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, lines: Records) -> None:
    """Write them again."""
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traces of a ring's life."""
    folder = tmp_path_factory.mktemp("good")
    record_ring(folder)
    return folder


@pytest.fixture
def traces(good: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "traces"))


def test_a_whole_life_conforms_and_keeps_every_promise(good: Path) -> None:
    verdict = checked(good)

    assert (verdict.findings, verdict.problems) == ([], [])
    asked = (*NAMES, "raincore.TypeOK", "raincore.PlacesKept")
    assert {each.name: each.verdict for each in verdict.promises} == dict.fromkeys(asked, "holds")
    assert verdict.files == 5
    assert verdict.actions.keys() >= {
        "Initialise", "ReceiveToken", "Receive911", "TokenUndelivered", "EatingTimeout",
        "Multicast", "Leave", "TokenDelivered", "Crash", "Recover",
    }  # fmt: skip


def test_what_comes_back_with_its_state_goes_on_in_the_same_file(good: Path) -> None:
    lines = records(good / "sim-1.b.0.raincore.jsonl")
    actions = [each.get("action") for each in lines]

    at = actions.index("Crash")
    assert actions[at + 1] == "Recover"
    assert [each["index"] for each in lines[1:-1]] == [*range(1, len(lines) - 1)]
    assert lines[at]["changed"] == {"up": "down"}
    assert (good / "sim-1.c.1.raincore.jsonl").is_file()


def test_the_text_as_written_conforms_to_its_model_and_breaks_its_promises(tmp_path: Path) -> None:
    ring = RecordedRing(tmp_path, repairs=AS_WRITTEN)
    ring.found("a", "b", "c")
    ring.run(0.5)
    ring.close()

    verdict = checked(tmp_path)

    assert verdict.findings == []
    found = {each.name: each for each in verdict.promises}
    assert found["FenceUnique"].verdict == "violated"  # each founder makes a token
    assert found["FenceUnique"].witness["fence"] == [0, "", 0, 1]
    assert found["SevenStates"].verdict == "holds"


class RecordedTwice(RecordedRing):
    """A ring whose members' events are recorded by the binding, too."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.by_binding: dict[Address, Records] = {}

    def _watch(self, name: str, node: RingNode) -> None:
        core = node.core
        found = self.by_binding.setdefault(core.me, [])
        binding = FromBinding(binding_of("raincore"))
        attach(core, Recorder(binding, self.name, core.me, NODES, found.append))
        super()._watch(name, node)


def test_members_record_what_their_binding_says(tmp_path: Path) -> None:
    ring = RecordedTwice(tmp_path)
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    ring.multicast("a", [b"one", b"two"])
    ring.run(0.1)
    ring.crash("b")
    ring.join("d", contacts=["b", "a"])
    ring.run_until(lambda: ring.in_one_view("a", "c", "d"))
    ring.leave("a")
    ring.run(0.3)
    ring.close()

    told = set[str]()
    for (node, life), found in ring.by_binding.items():
        header, *lines = records(tmp_path / f"sim-1.{node}.{life}.raincore.jsonl")
        lines = [each for each in lines if each["kind"] == "event"]
        for each in lines:
            del each["at"]
        assert json.loads(json.dumps(found)) == [header, *lines]
        told |= {name for each in lines for name, _ in each.get("told", [])}
    assert told == {"Eats", "Committed", "Deliver"}
    assert len(ring.by_binding) == 4


# ---------------------------------------------------------------- what does not conform


def telling(lines: Records, name: str) -> Iterator[dict[str, Any]]:
    return (each for each in lines if any(n == name for n, _ in each.get("told", [])))


def test_indications_to_the_application_are_compared_with_the_model(traces: Path) -> None:
    path = traces / "sim-1.b.0.raincore.jsonl"
    lines = records(path)
    record = next(telling(lines, "Committed"))
    record["told"] = [each for each in record["told"] if each[0] != "Committed"]
    rewritten(path, lines)

    first = checked(traces).first

    assert first is not None
    assert (first.node, first.index) == ("b", record["index"])
    assert first.differences[0].name == "told[1]"


def test_a_message_that_comes_as_one_field_is_compared_whole(traces: Path) -> None:
    path = traces / "sim-1.b.0.raincore.jsonl"
    lines = records(path)
    record = next(each for each in lines if each.get("action") == "ReceiveToken")
    record["args"]["token"][5] += 1  # the global view number
    rewritten(path, lines)

    found = [each for each in checked(traces).findings if each.part == "network"]

    assert "was never sent" in found[0].reason
    assert (found[0].node, found[0].index) == ("b", record["index"])


def test_whom_a_joiner_may_ask_is_given_and_nothing_else(tmp_path: Path) -> None:
    ring = RecordedRing(tmp_path)
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.crash("a")
    ring.crash("b")
    ring.join("c", contacts=["a"])
    ring["c"].core.handle(Initialise("joiner", (), (Address("a", 0),)))
    ring["c"].core.contacts = (Address("b", 0),)  # it has heard of another
    ring["c"].core.handle(StarvingTimeout())
    ring.close()
    path = tmp_path / "sim-1.c.0.raincore.jsonl"
    lines = records(path)
    record = next(each for each in lines if "given" in each)

    assert record["given"] == {"contacts": [["b", 0]]}
    assert checked(tmp_path).verdict == "holds"
    rewritten(path, [each | {"given": {"said": 3}} if each is record else each for each in lines])
    verdict = checked(tmp_path)
    assert verdict.verdict == "inconclusive"
    assert "nobody but the core changes said" in verdict.problems[0].reason
    rewritten(path, [{k: v for k, v in each.items() if k != "given"} for each in lines])
    assert checked(tmp_path).verdict == "violated"


# ---------------------------------------------------------------- a file that goes on


def header(state: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "header", "initial": state}


def event(index: int, **changed: Any) -> dict[str, Any]:
    return {"kind": "event", "index": index, "changed": changed}


def written(path: Path, *lines: dict[str, Any], tail: str = "") -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines) + tail)


def test_what_was_recorded_and_not_kept_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [header({"up": "new", "x": 0}), event(1, up="up", x=1), event(2), event(3, x=2)]
    written(path, *lines, tail='{"kind":"ev')

    _, index, state = cut_to(path, {"up": "down", "x": 1})

    assert (index, state) == (2, {"up": "up", "x": 1})
    assert records(path) == lines[:3]


def test_who_wants_the_token_is_not_kept_and_does_not_keep_a_record_either(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    first = header({"up": "new", "x": 0, "awaited": []})
    lines = [first, event(1, up="up", x=1), event(2, awaited=["b"]), event(3, x=2)]
    written(path, *lines)

    _, index, state = cut_to(path, {"up": "down", "x": 1, "awaited": []})

    assert (index, state) == (2, {"up": "up", "x": 1, "awaited": ["b"]})
    assert records(path) == lines[:3]


def test_what_no_state_file_has_cuts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [header({"up": "new", "awaited": []}), event(1, up="up"), event(2, awaited=["b"])]
    written(path, *lines)

    _, index, state = cut_to(path, {"up": "down", "awaited": []})

    assert (index, state["awaited"]) == (2, ["b"])  # a reader beside the file may have it


def test_a_life_that_comes_back_is_not_traced_without_its_earlier_records(tmp_path: Path) -> None:
    said: list[str] = []
    for trace in (str(tmp_path), "unix:nobody"):
        core = Raincore(Address("a", 0))
        core.up = "down"
        traced = RingTrace(core, trace, "r", "ab", problem=said.append)
        core.handle(Recover())
        assert not traced.pending
        traced.close()
    (tmp_path / "r.a.0.raincore.jsonl").write_text("no trace\n")
    core.up = "down"
    RingTrace(core, tmp_path, "r", "ab", problem=said.append).close()

    assert [each.split(": ")[0] for each in said] == ["a.0 has come back, and is not traced"] * 3
    assert "cannot go on" in said[2]
    assert (tmp_path / "r.a.0.raincore.jsonl").read_text() == "no trace\n"


def test_a_state_that_never_was_cuts_nothing_but_the_half_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [header({"up": "new", "x": 0}), event(1, up="up", x=1)]
    written(path, *lines, tail='{"kind":"ev')

    _, index, _ = cut_to(path, {"up": "down", "x": 7})

    assert index == 1
    assert records(path) == lines


def test_a_state_that_was_not_kept_whole_is_found(tmp_path: Path) -> None:
    """A member that comes back with less than it had promised, say."""
    ring = RecordedRing(tmp_path)
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.crash("b")
    begin = ring._begin

    def forgetful(*args: Any, **how: Any) -> None:
        begin(*args, **how)

    node = ring["b"].node
    node.core.said += 5
    kept = node._keeper.state(node.core, node._mailbox, node.manager.kept(), node.locks.session)
    ring["b"].kept = kept
    ring.recover("b")
    ring.run(0.2)
    ring.close()

    verdict = checked(tmp_path)

    assert verdict.verdict == "violated"
    assert verdict.first is not None
    assert verdict.first.node == "b"
    assert any(each.name == "said" for each in verdict.first.differences)
