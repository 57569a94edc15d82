"""Traces that are judged while they grow: the batch's verdict, and nobody accused before."""

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from raincheck.__main__ import main
from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.campaigns.traced import record_merges
from raincheck.conformance.cases.tables import load_cases, select
from raincheck.conformance.damage.files import Files
from raincheck.conformance.damage.raw import KINDS
from raincheck.conformance.errors import UsageError
from raincheck.conformance.field.merging.traced import TRACED
from raincheck.conformance.replay.replayable import Replayable
from raincheck.conformance.testing.growing import PIECES, grown, violated
from raincheck.conformance.trace.findings import HOLDS, VIOLATED
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.live.alarms import Alarms, action_of
from raincheck.conformance.trace.live.live import Broken, Live
from raincheck.conformance.trace.live.receiver import Receiver
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.tracegen import Shape, Walk, write_trace
from raincheck.conformance.verbs import following
from raincheck.conformance.verbs.following import about
from raincheck.impl.recording.sending import Place, TraceSender

Capture = pytest.CaptureFixture[str]
PROTOCOLS = ("sequencer", "nakack", "flush", "gms", "raincore")


def walked(protocol: str, folder: Path, seed: int) -> None:
    """A good run of a walk."""
    if protocol == "sequencer":
        write_trace(folder, Walk(seed, Shape(synchronous=True), run="r").run().files())
        return
    binding = binding_of(protocol)
    groups = Replayable(binding, select(load_cases(), names=[protocol])).instances()
    systems = [each.system for group in groups.values() for each in group]
    folder.mkdir()
    record_walk(binding, systems[seed % len(systems)], folder, seed=seed, steps=25)


def told(broken: Broken) -> set[tuple[Any, ...]]:
    return {about(*each) for each in broken.findings} | violated(broken.verdicts)


def followed(
    source: Path, place: Path, seed: int, pieces: Sequence[int] = PIECES
) -> set[tuple[Any, ...]]:
    """Follow the files while they grow; the verdict is the batch's. Return what was told before."""
    live, found, now = Live([place]), set[tuple[Any, ...]](), 0.0
    for now in grown(source, place, Random(seed), pieces):
        live.turn(now)
        found |= told(live.broken(whole=True))
    verdicts = live.close(now)

    batch = check_paths([place])
    assert msgspec.json.encode(verdicts) == msgspec.json.encode(batch)
    assert found <= violated(batch)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", range(2))
def test_however_good_files_grow_nobody_is_accused_and_the_verdict_is_the_batchs(
    protocol: str, seed: int, tmp_path: Path
) -> None:
    walked(protocol, tmp_path / "whole", seed)

    assert followed(tmp_path / "whole", tmp_path / "grown", seed) == set()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_however_damaged_files_grow_the_verdict_is_the_batchs(
    protocol: str, tmp_path: Path
) -> None:
    damages = 0
    for seed, kind in enumerate(Random(protocol).sample(sorted(KINDS), 6)):
        walked(protocol, tmp_path / f"good{seed}", seed)
        files = Files.read(tmp_path / f"good{seed}")
        if any(files.events()) and KINDS[kind].damage(Random(seed), files):
            files.write(tmp_path / f"bad{seed}")
            followed(tmp_path / f"bad{seed}", tmp_path / f"grown{seed}", seed)
            damages += 1

    assert damages


def test_all_layers_of_groups_that_merge_are_followed(tmp_path: Path) -> None:
    record_merges(tmp_path / "whole", TRACED, with_state=True)

    pieces = (10_000, 80_000)
    assert followed(tmp_path / "whole", tmp_path / "grown", 1, pieces) == set()


def steady(folder: Path, events: int = 300) -> dict[str, bytes]:
    write_steady(folder, events)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_wrong_number_is_told_before_the_line_after_it_is_whole(tmp_path: Path) -> None:
    [(name, text), *_] = steady(tmp_path / "whole").items()
    wrong = text.replace(b'"seqno":3,', b'"seqno":4,', 1)
    end = wrong.index(b"\n", wrong.index(b'"seqno":4,'))
    place = tmp_path / "grown"
    place.mkdir()
    live = Live([place])

    (place / name).write_bytes(wrong[:end])
    live.turn(0.0)
    assert told(live.broken(whole=False)) == set()  # it may not be all of the line
    with (place / name).open("ab") as file:
        file.write(wrong[end : end + 40])
    live.turn(1.0)
    [(protocol, finding)] = live.broken(whole=False).findings

    assert (protocol, finding.action, finding.differences[0].name) == ("sequencer", "Send", "seqno")
    assert live.wrong
    live.close(2.0)


def test_contents_that_were_not_sent_are_told_when_both_ends_are_there(tmp_path: Path) -> None:
    files = steady(tmp_path / "whole")
    names = sorted(files)
    lines = files[names[1]].splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"ReceiveData"' in line)
    crc = json.loads(lines[at])["args"]["crc"]
    lines[at] = lines[at].replace(f'"crc":{crc}'.encode(), b'"crc":7', 1)
    place = tmp_path / "grown"
    place.mkdir()
    live = Live([place])
    (place / names[1]).write_bytes(b"".join(lines))
    live.turn(0.0)
    assert told(live.broken(whole=False)) == set()

    (place / names[0]).write_bytes(files[names[0]])
    live.turn(1.0)
    found = [finding for _, finding in live.broken(whole=False).findings]

    assert "was sent with other contents" in found[0].reason
    assert f"{found[0].node}.{found[0].incarnation}" in names[1]
    live.close(2.0)


def test_a_promise_is_told_as_soon_as_all_that_breaks_it_is_there(tmp_path: Path) -> None:
    files = steady(tmp_path / "whole")
    place = tmp_path / "grown"
    place.mkdir()
    live = Live([place])
    name = sorted(files)[1]
    lines = files[name].splitlines(keepends=True)
    twice = next(n for n, line in enumerate(lines) if b'"delivered"' in line)
    (place / name).write_bytes(b"".join([*lines[: twice + 1], lines[twice], *lines[twice + 1 :]]))
    live.turn(0.0)

    (verdict,) = live.broken(whole=True).verdicts
    assert verdict.verdict != HOLDS
    assert all(promise.verdict != HOLDS for promise in verdict.promises)
    live.close(1.0)


def test_a_file_that_is_begun_anew_goes_on(tmp_path: Path) -> None:
    files = steady(tmp_path / "whole")
    place = tmp_path / "grown"
    place.mkdir()
    live = Live([place])
    for name, text in files.items():
        (place / name).write_bytes(text)
    name = sorted(files)[0]
    lines = files[name].splitlines(keepends=True)
    (place / name).write_bytes(b"".join(lines[:50]))
    live.turn(0.0)
    (place / name).rename(tmp_path / "rotated")
    live.turn(1.0)
    # It begins with its header again, as who has one ready would write it.
    (place / name).write_bytes(b"".join([lines[0], *lines[50:]]))
    live.turn(2.0)

    (verdict,) = live.close(3.0)
    assert verdict.verdict == HOLDS
    assert verdict.events == check_paths([tmp_path / "whole"])[0].events


def test_records_that_a_cut_file_has_lost_are_a_hole(tmp_path: Path) -> None:
    [(name, text), *_] = steady(tmp_path / "whole").items()
    place = tmp_path / "grown"
    place.mkdir()
    live = Live([place])
    lines = text.splitlines(keepends=True)
    (place / name).write_bytes(b"".join(lines[:50]))
    live.turn(0.0)
    (place / name).write_bytes(b"".join(lines[60:70]))
    live.turn(1.0)

    (verdict,) = live.close(2.0)
    assert verdict.verdict == "inconclusive"
    assert verdict.conforming == {"n00.0": 49}


def test_a_member_that_comes_late_has_its_rows_compared_at_the_end(tmp_path: Path) -> None:
    files = steady(tmp_path / "whole", 600)
    place = tmp_path / "grown"
    place.mkdir()
    live = Live([place])
    *early, late = sorted(files)
    for step in range(20):  # those of the others are read, and nobody waits for the last one
        for name in early:
            size = len(files[name]) // 20 + 1
            with (place / name).open("ab") as file:
                file.write(files[name][step * size : (step + 1) * size])
        live.turn(step * 30.0)
    (place / late).write_bytes(files[late])

    (verdict,) = live.close(1000.0)
    assert verdict.verdict == HOLDS


def test_a_long_log_of_deliveries_goes_to_the_disk_and_is_judged_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raincheck.conformance.bindings.sequencer.localrun.SPILL", 5)
    walked("sequencer", tmp_path / "whole", 4)

    assert followed(tmp_path / "whole", tmp_path / "grown", 4) == set()


# ---------------------------------------------------------------- the verb


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, where files that have ended are over at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(following, "OVER", 0.0)
    monkeypatch.setattr(following, "POLL", 0.0)


def conform(capsys: Capture, *words: str) -> tuple[int, dict[str, Any], str]:
    code = main(["conform", *words, "--out", "e", "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_following_ends_when_all_files_have_ended(capsys: Capture) -> None:
    write_steady(Path("t"), 200)
    code, answer, _ = conform(capsys, "t", "--follow")
    batch_code, batch, _ = conform(capsys, "t")

    assert (code, batch_code) == (0, 0)
    assert answer["follow"] == {"told": 0, "alarms": 0, "alarms_failed": 0}
    assert [(r["name"], r["verdict"], r.get("judged")) for r in answer["results"]] == [
        (r["name"], r["verdict"], r.get("judged")) for r in batch["results"]
    ]


def test_following_ends_at_the_first_violation_if_that_is_wanted(capsys: Capture) -> None:
    [path, *others] = write_steady(Path("t"), 200)
    path.write_text(path.read_text().replace('"seqno":3,', '"seqno":4,', 1))
    others[0].write_bytes(others[0].read_bytes()[:-30])  # it has not ended
    code, answer, err = conform(capsys, "t", "--follow", "--on-violation", "exit")

    assert code == 1
    assert answer["follow"]["told"] >= 1
    assert "expected 3" in err
    assert "after it was written" in err


def test_ctrl_c_ends_following_with_the_verdict_so_far(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path, *_] = write_steady(Path("t"), 200)
    path.write_bytes(path.read_bytes()[:-30])
    monkeypatch.setattr(following.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    code, answer, _ = conform(capsys, "t", "--follow")

    assert code == 2
    assert "no footer" in json.dumps(answer)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that takes what is posted."""
    posted: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", posted
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_violation_is_posted_and_given_to_a_command(
    capsys: Capture, hook: tuple[str, list[dict[str, Any]]]
) -> None:
    [path, *_] = write_steady(Path("t"), 200)
    path.write_text(path.read_text().replace('"seqno":3,', '"seqno":4,', 1))
    url, posted = hook
    words = ["--on-violation", url, "--on-violation", "tee given"]
    code, answer, _ = conform(capsys, "t", "--follow", *words)

    assert code == 1
    assert posted[0]["action"] == "Send"
    assert Path("given").read_text() == json.dumps(posted[-1], separators=(",", ":")) + "\n"
    assert len(posted) == answer["follow"]["told"]
    assert answer["follow"]["alarms"] == 2 * answer["follow"]["told"]


@pytest.mark.parametrize("action", ["http://127.0.0.1:9/", "false", "./there-is-none"])
def test_an_alarm_that_fails_hides_no_violation(action: str, capsys: Capture) -> None:
    [path, *_] = write_steady(Path("t"), 200)
    path.write_text(path.read_text().replace('"seqno":3,', '"seqno":4,', 1))
    code, answer, err = conform(capsys, "t", "--follow", "--on-violation", action)

    assert code == 1
    assert answer["follow"]["alarms_failed"] == answer["follow"]["told"] > 0
    assert "has failed" in err


@pytest.mark.parametrize(
    "words",
    [
        ["t", "--on-violation", "exit"],
        ["t", "--follow", "--on-violation", "ftp://x/"],
        ["t", "--follow", "--on-violation", "'"],
        ["t", "--follow", "--on-violation", ""],
        ["t", "--follow", "--on-violation", "http://"],
        ["t", "--follow", "--on-violation", "http://[x/"],
        ["t", "--follow", "--on-violation", "https://example org/"],
        ["t", "--follow", "--engine", "spark"],
        ["t", "--follow", "--log-format", "nothing"],
        ["nowhere", "--follow"],
    ],
)
def test_what_cannot_be_followed_is_a_usage_error(words: list[str], capsys: Capture) -> None:
    write_steady(Path("t"), 20)
    code, answer, err = conform(capsys, *words)

    assert code == 3
    assert answer["verdict"] == "error"
    assert err.startswith("raincheck: ")


def test_what_was_told_and_is_not_in_the_verdict_is_not_passed_over(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_steady(Path("t"), 200)
    real: Callable[..., Broken] = Live.broken

    def lying(self: Live, *, whole: bool) -> Broken:
        broken = real(self, whole=whole)
        wrong = [msgspec.structs.replace(v.promises[0], verdict=VIOLATED) for v in broken.verdicts]
        return broken._replace(
            verdicts=[
                msgspec.structs.replace(v, promises=[p])
                for v, p in zip(broken.verdicts, wrong, strict=True)
            ]
        )

    monkeypatch.setattr(Live, "broken", lying)
    code, answer, _ = conform(capsys, "t", "--follow")

    assert code == 2
    assert [r["name"] for r in answer["results"]][-1] == "follow: steady: TotalOrder"


# ---------------------------------------------------------------- sockets


def records_of(folder: Path) -> list[list[dict[str, Any]]]:
    return [
        [json.loads(line) for line in path.read_bytes().splitlines()]
        for path in sorted(folder.iterdir())
    ]


def test_traces_that_are_sent_are_judged_as_files_are(tmp_path: Path) -> None:
    steady(tmp_path / "whole")
    said: list[str] = []
    receiver = Receiver([Place(path="s"), Place("127.0.0.1", 0)], tmp_path / "got", said.append)
    for number, records in enumerate(records_of(tmp_path / "whole")):
        sender = TraceSender(receiver.places[number % 2], problem=said.append)
        for record in records:
            sender(record)
        while sender.pending:
            sender.flush()
        sender.close()
        assert sender.lost == 0
    live = Live([tmp_path / "got"])
    live.turn(0.0)
    receiver.close()

    (verdict,) = live.close(1.0)
    assert (verdict.verdict, verdict.files) == (HOLDS, 3)
    assert said == []
    assert not Path("s").exists()


def test_what_a_reader_missed_is_a_hole_in_the_file_that_goes_on(tmp_path: Path) -> None:
    steady(tmp_path / "whole")
    records = records_of(tmp_path / "whole")[0]
    said: list[str] = []
    receiver = Receiver([Place(path="s")], tmp_path / "got", said.append)
    for part in (records[1:50], records[60:]):
        sender = TraceSender(receiver.places[0])
        for record in (records[0], *part):
            sender(record)
        while sender.pending:
            sender.flush()
        sender.close()
    receiver.close()

    [path] = (tmp_path / "got").iterdir()
    came = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert came == [*records[:50], *records[60:]]
    (verdict,) = check_paths([tmp_path / "got"])
    assert (verdict.verdict, verdict.conforming) == ("inconclusive", {"n00.0": 49})


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n\r\n", b'{"kind":"event"}\n'])
def test_what_is_no_trace_is_refused_in_a_sentence(text: bytes, tmp_path: Path) -> None:
    said: list[str] = []
    receiver = Receiver([Place(path="s")], tmp_path / "got", said.append)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect("s")
        stranger.sendall(text)
        assert stranger.recv(1) == b""
    receiver.close()

    assert "does not begin with the header" in said[0]
    assert list((tmp_path / "got").iterdir()) == []


def test_an_answer_that_is_none_costs_no_later_alarm() -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                made, _ = server.accept()
                with made:
                    made.recv(1 << 16)
                    made.sendall(b"what?\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        alarms = Alarms([action_of(url)], said.append)
        for number in range(2):
            alarms.give({"number": number})
        alarms.close()

    assert (alarms.given, alarms.failed) == (0, 2)
    assert [each.partition(" has failed: ")[0] for each in said] == [f"the alarm {url}"] * 2


def test_a_reader_takes_the_socket_of_one_that_was_killed_and_no_other(tmp_path: Path) -> None:
    place = Place(path=str(tmp_path / "s"))
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(place.path)
    receiver = Receiver([place], tmp_path / "got", print)
    with pytest.raises(UsageError, match="already in use"):
        Receiver([place], tmp_path / "other", print)
    receiver.close()

    (tmp_path / "s").write_text("not a socket")
    with pytest.raises(UsageError, match="something that is no socket is there"):
        Receiver([place], tmp_path / "got", print)
    assert (tmp_path / "s").read_text() == "not a socket"


def test_a_reader_that_cannot_have_all_its_sockets_keeps_none(tmp_path: Path) -> None:
    first = Place(path=str(tmp_path / "s"))
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = Place("127.0.0.1", other.getsockname()[1])
        with pytest.raises(UsageError, match="already in use"):
            Receiver([first, taken], tmp_path / "got", print)
    assert not (tmp_path / "s").exists()
    Receiver([first, taken], tmp_path / "got", print).close()


def test_nobody_can_listen_where_there_is_no_folder(capsys: Capture) -> None:
    code, answer, _ = conform(capsys, "unix:no/such/folder", "--follow")

    assert code == 3
    assert "Nobody can listen" in answer["error"]


def test_that_nothing_was_sent_is_inconclusive(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
    code, answer, _ = conform(capsys, "unix:s", "--follow")

    assert code == 2
    assert answer["error"] == "No trace has come where it was looked for."
