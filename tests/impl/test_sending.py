"""Traces that are sent to a reader: it costs the member nothing, and what is lost is counted."""

import json
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import raincheck
from raincheck.impl.recording.sending import AGAIN, LINGER, Place, TraceSender, place_of

HEADER = {"kind": "header", "run": "r"}


class Reader:
    """A reader at a Unix socket, who reads only when told."""

    def __init__(self, path: Path) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.made: socket.socket | None = None
        self.bytes = b""

    def accept(self) -> None:
        self.hang_up()
        self.made, _ = self.listener.accept()

    def read(self) -> None:
        """All that has come."""
        assert self.made is not None
        while select.select([self.made], [], [], 0)[0]:
            piece = self.made.recv(1 << 16)
            if not piece:
                return
            self.bytes += piece

    def hang_up(self) -> None:
        if self.made is not None:
            self.made.close()
            self.made = None

    @property
    def records(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.bytes.splitlines()]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    found = Reader(tmp_path / "s")
    yield found
    found.hang_up()
    found.listener.close()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def sender_to(tmp_path: Path, clock: Clock, said: list[str], room: int = 1 << 20) -> TraceSender:
    place = Place(path=str(tmp_path / "s"))
    return TraceSender(place, room=room, problem=said.append, clock=clock)


def event(index: int, size: int = 10) -> dict[str, object]:
    return {"kind": "event", "index": index, "text": "x" * size}


def test_all_records_come_in_their_order(tmp_path: Path, reader: Reader, clock: Clock) -> None:
    said: list[str] = []
    sender = sender_to(tmp_path, clock, said)
    records = [HEADER, *map(event, range(1, 50)), {"kind": "footer", "index": 49}]
    for record in records:
        sender(record)
    assert sender.pending
    sender.flush()
    reader.accept()
    sender.flush()
    reader.read()

    assert reader.records == records
    assert (sender.pending, sender.lost, said) == (False, 0, [])
    sender.close()


def test_a_reader_that_does_not_read_costs_records_and_no_time(
    tmp_path: Path, reader: Reader, clock: Clock
) -> None:
    said: list[str] = []
    sender = sender_to(tmp_path, clock, said, room=10_000)
    sender(HEADER)
    sender.flush()
    reader.accept()
    for index in range(1, 1001):
        sender(event(index, 2000))
        sender.flush()  # it returns, whatever the reader does
    lost = sender.lost
    assert lost > 0
    assert len(said) == 1
    assert "too slowly" in said[0]
    while sender.pending:
        reader.read()
        sender.flush()
    sender(event(1001))
    sender({"kind": "footer", "index": 1001})
    sender.close()
    reader.read()

    came = [each["index"] for each in reader.records if each["kind"] == "event"]
    assert len(came) == 1001 - lost
    assert came == sorted(set(came))
    assert came[-1] == 1001
    assert sender.lost == lost


def test_a_reader_that_comes_late_has_what_fits(tmp_path: Path, clock: Clock) -> None:
    said: list[str] = []
    sender = sender_to(tmp_path, clock, said, room=300)
    sender(HEADER)
    for index in range(1, 11):
        sender(event(index))
        sender.flush()
    assert len(said) == 1
    assert "the member goes on without it" in said[0]
    lost = sender.lost
    reader = Reader(tmp_path / "s")
    sender.flush()  # it is not time yet to call again
    clock.now += AGAIN
    sender.flush()
    reader.accept()
    sender.flush()
    reader.read()

    assert [each["kind"] for each in reader.records] == ["header"] + ["event"] * (10 - lost)
    assert lost == sender.lost > 0
    sender.close()
    reader.hang_up()
    reader.listener.close()


def test_a_reader_that_comes_back_has_the_header_again(
    tmp_path: Path, reader: Reader, clock: Clock
) -> None:
    said: list[str] = []
    sender = sender_to(tmp_path, clock, said)
    sender(HEADER)
    sender(event(1))
    sender.flush()
    reader.accept()
    reader.hang_up()
    sender(event(2))
    sender.flush()
    sender.flush()
    assert sender.lost == 1
    clock.now += AGAIN
    sender(event(3))
    sender.flush()
    reader.accept()
    sender.flush()
    reader.read()

    assert reader.records == [HEADER, event(3)]
    assert len(said) == 1
    sender.close()


def test_the_end_of_a_trace_waits_for_no_reader(
    tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    sender = sender_to(tmp_path, clock, [], room=10_000_000)
    sender(HEADER)
    for index in range(1, 2000):
        sender(event(index, 2000))

    def waited(*_: object) -> tuple[list[object], ...]:
        clock.now += LINGER / 3
        return [], [sender], []

    sender.flush()
    reader.accept()
    monkeypatch.setattr("raincheck.impl.recording.sending.select.select", waited)
    sender.close()

    assert clock.now <= 2 * LINGER
    assert sender.lost > 0
    assert not sender.pending


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("unix:/run/trace", Place(path="/run/trace")),
        ("tcp:127.0.0.1:7400", Place("127.0.0.1", 7400)),
        ("tcp:localhost:7400", Place("127.0.0.1", 7400)),
        ("tcp:[::1]:7400", Place("::1", 7400)),
        ("traces", None),
        ("/tmp/a:b", None),
    ],
)
def test_a_place_is_read_as_it_is_written(text: str, place: Place | None) -> None:
    assert place_of(text) == place
    assert place is None or place_of(str(place)) == place


@pytest.mark.parametrize(
    "text", ["unix:", "tcp:", "tcp:example.org:7", "tcp:1.2.3.4:x", "tcp:1.2.3.4:70000"]
)
def test_a_place_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^.tcp:|^.unix:"):
        place_of(text)
    with pytest.raises(raincheck.ConfigError, match="trace="):
        raincheck.Channel.connect("orders", trace=text)
