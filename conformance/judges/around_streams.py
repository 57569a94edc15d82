"""Streams that are compared piece by piece: what is kept of them, and what is found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from raincheck.conformance.trace.columns import STREAM_ROW, Columns, Stream
from raincheck.conformance.trace.streams import Streams

from .around_channels import found_in
from .planting import Complaints, Shown


class _File(NamedTuple):
    """A file as far as it was read."""

    columns: Columns


class _Reading:
    """The files of three processes, and the streams between them."""

    def __init__(self) -> None:
        self.streams = Streams(["a.0", "b.0", "c.0"])
        self.files = {who: _File(Columns()) for who in ("a.0", "b.0", "c.0")}

    def opened(self, *names: str) -> None:
        for who in names:
            self.streams.follow(who, self.files[who])

    def sends(self, numbers: Iterable[int], name: str = '["DATA","a",0]') -> None:
        """a sends messages, each at the clock ten times its number."""
        end = self.files["a.0"].columns.sent.setdefault(name, Stream(name))
        assert isinstance(end, Stream)
        for number in numbers:
            end.append(STREAM_ROW(100 + number, number, number, 10 * number))

    def reads(self, who: str, numbers: Iterable[int], *, wrong: int = 0, late: int = 5) -> None:
        """It reads a's messages, one of them with other contents, a little after they are sent."""
        name = f'["DATA","a",0,"{who[0]}",0]'
        ends = self.files[who].columns.received
        end = ends.setdefault(name, Stream(name, '["DATA","a",0]'))
        assert isinstance(end, Stream)
        for number in numbers:
            digest = 100 + number + (number == wrong)
            end.append(STREAM_ROW(digest, number, number, 10 * number + late))
            end.count = number

    def ended(self, *names: str) -> None:
        for who in names:
            self.streams.reading.discard(who)

    def settled(self) -> str:
        return f"{self.streams.settle()} rows are kept"

    def finished(self) -> Complaints:
        return [f"{text}: {found_in(found)}" for text, found in self.streams.finish().items()]


def _kept_until_read(_: Path) -> Complaints:
    """Rows are kept as long as a reader may ask for them."""
    now = _Reading()
    now.opened("a.0", "b.0")
    now.sends(range(1, 5))
    said = [now.settled()]
    now.reads("b.0", [1, 2, 3])
    said.append(now.settled())  # c may read any of them
    now.opened("c.0")
    now.reads("c.0", [1, 2])
    now.reads("a.0", [1, 2, 3, 4])
    said.append(now.settled())
    now.ended("c.0")
    said.append(now.settled())
    now.ended("b.0")
    said.append(now.settled())
    now.sends([5])
    now.reads("a.0", [5])
    said.append(now.settled())
    now.ended("a.0")
    said.append(now.settled())
    return [*said, *now.finished()]


def _kept_until_sent(_: Path) -> Complaints:
    """Rows that were read wait for those that were sent; the rest is compared at the end."""
    now = _Reading()
    now.opened("a.0", "b.0")
    now.ended("c.0")
    now.reads("b.0", [1, 2, 3])
    said = [now.settled()]
    now.sends([1, 2])
    now.reads("a.0", [1, 2])
    said.append(now.settled())
    now.sends([3])
    now.reads("a.0", [3])
    said.append(now.settled())
    now.reads("b.0", [4, 5])
    said.append(now.settled())
    now.sends([4])
    now.ended("a.0", "b.0")
    said.append(now.settled())
    return [*said, *now.finished()]


def _first_wrong_one(_: Path) -> Complaints:
    """Of a reader only the first message that is wrong is told; nobody waits for it any longer."""
    now = _Reading()
    now.opened("a.0", "b.0", "c.0")
    now.ended("a.0")
    now.sends(range(1, 7))
    now.reads("b.0", [1, 2, 3], wrong=2)
    now.reads("c.0", range(1, 6))
    said = [now.settled()]
    now.reads("b.0", [4, 5], wrong=5)
    said.append(now.settled())
    return [*said, *now.finished()]


def _one_reader(_: Path) -> Complaints:
    """A stream whose name has its reader waits for nobody else."""
    now = _Reading()
    now.opened("a.0", "b.0")
    name = '["JOIN","a",0,"b",0]'
    now.sends([1, 2, 3], name)
    said = [now.settled()]
    ends = now.files["b.0"].columns.received
    end = ends[name] = Stream(name)
    end.append(STREAM_ROW(101, 1, 1, 15))
    end.count = 1
    said.append(now.settled())
    now.ended("b.0")
    said.append(now.settled())
    return [*said, *now.finished()]


_STREAMS: Final[dict[str, Shown]] = {
    "rows are kept until all have read them": Shown(
        _kept_until_read,
        (
            "4 rows are kept",
            "4 rows are kept",
            "2 rows are kept",
            "1 rows are kept",
            "0 rows are kept",
            "0 rows are kept",
            "0 rows are kept",
        ),
    ),
    "rows that were read wait for those that were sent": Shown(
        _kept_until_sent,
        (
            "3 rows are kept",
            "1 rows are kept",
            "0 rows are kept",
            "2 rows are kept",
            "0 rows are kept",
            '["DATA","a",0,"b",0]: [] [\'absent 5 5\']',
        ),
    ),
    "of a reader the first wrong message is told": Shown(
        _first_wrong_one,
        (
            "1 rows are kept",
            "1 rows are kept",
            '["DATA","a",0,"b",0]: [] [\'contents 2 2\']',
        ),
    ),
    "a stream for one reader": Shown(
        _one_reader,
        (
            "3 rows are kept",
            "2 rows are kept",
            "0 rows are kept",
        ),
    ),
}

AROUND: Final[dict[str, dict[str, Shown]]] = {"trace.streams": _STREAMS}
