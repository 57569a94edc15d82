"""Traces: complete, in the format of docs/trace-format.md, and without any influence."""

import errno
import io
import json

import pytest

from raincheck.impl.messages import Address
from raincheck.impl.recording.sequencer import sequencer_recorder
from raincheck.impl.recording.writer import TraceWriter
from raincheck.impl.simulation.group import Link, Simulator

A = Address("a", 0)


def eventful(recorder=lambda _: None, seed=4):
    """A run with losses, a crash, a return, a join and a leave."""
    sent = []
    group = Simulator(
        seed, link=Link(loss=0.1, duplicate=0.1, delay=(0.001, 0.01)), recorder=recorder
    )
    transmit = group._transmit
    group._transmit = lambda node, out: (
        sent.append((group.now, node.name, out)),
        transmit(node, out),
    )
    group.start("a", "b", "c", founders=True)
    for step in range(40):
        for name in "bc":
            group.at(step * 0.02, lambda n=name: group[n].stack.view and group.send(n, [b"x"] * 7))
    group.at(0.3, lambda: group.crash("a"))
    group.at(0.9, lambda: group.restart("a"))
    group.run(3.0)
    group.leave("b")
    group.run(2.0)
    assert group.in_one_view("a", "c")
    return group, sent


def traced():
    records = {}

    def recorder(me):
        return sequencer_recorder("r1", me, "abc", records.setdefault(me, []).append)

    group, sent = eventful(recorder)
    return records, group, sent


def test_a_run_is_the_same_datagram_by_datagram_with_and_without_tracing():
    plain, sent_plain = eventful()
    _, group, sent = traced()

    assert sent == sent_plain
    assert len(sent) > 300
    for name in "abc":
        assert group[name].delivered == plain[name].delivered


def test_each_file_begins_with_its_header_and_its_indices_and_clocks_grow():
    records, _, _ = traced()

    assert sorted(records) == [A, Address("a", 1), Address("b", 0), Address("c", 0)]
    for me, (header, *rest) in records.items():
        founder = me.incarnation == 0
        assert (header["kind"], header["nodes"]) == ("header", ["a", "b", "c"])
        assert (header["initial"] is not None) == founder
        events = [record for record in rest if record["kind"] == "event"]
        assert [event["index"] for event in events] == list(range(1, len(events) + 1))
        clocks = [event["clock"] for event in events]
        assert clocks == sorted(set(clocks))
    last = records[Address("b", 0)][-1]
    assert last == {"kind": "footer", "run": "r1", "node": "b", "incarnation": 0,
                    "index": last["index"]}  # fmt: skip


def test_the_trace_tells_all_actions_and_every_delivery():
    records, group, _ = traced()
    actions = {r["action"] for rs in records.values() for r in rs if r["kind"] == "event"}

    assert actions == {"Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend",
                       "Leave", "Stop"}  # fmt: skip
    told = [
        record["changed"]["delivered"]["messages"]
        for record in records[Address("c", 0)]
        if "delivered" in record.get("changed", {})
    ]
    assert told == [[*run.sender, run.first, run.size] for run, _ in group["c"].delivered]


def test_whatever_was_received_was_sent_before():
    records, _, _ = traced()
    events = [r for rs in records.values() for r in rs if r["kind"] == "event"]
    sent = {json.dumps(s["id"]): (e["clock"], s) for e in events for s in e["sent"]}

    received = [event for event in events if event["received"] is not None]

    assert len(received) > 200
    for event in received:
        clock, message = sent[json.dumps(event["received"])]
        assert clock < event["clock"]
        if message["id"][0] != "JOIN_RSP":
            assert message["crc"] == event["args"]["crc"]
            assert message["messages"] == event["args"]["messages"]


# ------------------------------------------------------------------ the file


def test_a_file_is_made_with_the_first_record_and_has_a_line_for_each(tmp_path):
    writer = TraceWriter(tmp_path / "traces", "r1", A)
    writer.flush()
    assert not writer.path.exists()

    for number in range(3):
        writer({"number": number})
    writer.close()

    assert writer.path == tmp_path / "traces" / "r1.a.0.jsonl"
    assert writer.path.read_text() == '{"number":0}\n{"number":1}\n{"number":2}\n'
    assert not writer.failed


def test_an_earlier_trace_is_never_overwritten(tmp_path):
    (tmp_path / "r1.a.0.jsonl").write_text("precious")
    problems = []
    writer = TraceWriter(tmp_path, "r1", A, problem=problems.append)

    writer({"x": 1})
    writer.close()

    assert (tmp_path / "r1.a.0.jsonl").read_text() == "precious"
    assert len(problems) == 1


class FullDisk(io.BytesIO):
    """A disk with little room."""

    def write(self, data):
        if self.tell() + len(data) > 9_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_a_full_disk_stops_the_trace_not_the_member_and_the_file_looks_incomplete(tmp_path):
    problems, writers = [], {}

    def recorder(me):
        writers[me] = TraceWriter(
            tmp_path,
            "r1",
            me,
            buffer=1000,
            problem=problems.append,
            open_file=lambda _: FullDisk(),
        )
        return sequencer_recorder("r1", me, "abc", writers[me])

    group, _ = eventful(recorder)
    plain, _ = eventful()

    assert group["c"].delivered == plain["c"].delivered
    writer = writers[Address("c", 0)]
    assert writer.failed
    assert writer.lost > 0
    mine = [text for text in problems if "r1.c.0.jsonl" in text]
    assert mine == [
        f"tracing to {writer.path} has stopped (No space left on device); "
        f"the member goes on without it"
    ]


@pytest.mark.parametrize("run", ["r1"])
def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, run):
    (tmp_path / "file").write_text("")
    problems = []
    writer = TraceWriter(tmp_path / "file" / "traces", run, A, problem=problems.append)

    writer({"x": 1})
    writer.flush()
    writer({"x": 2})

    assert writer.lost == 2
    assert len(problems) == 1
