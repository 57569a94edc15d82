"""Faults planted for what is between files: `trace/channels_compared.py` and `judged.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.channels_compared import ABSENT, Bad, Compared
from raincheck.conformance.trace.events import NEVER_CAME
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.judged import judge
from raincheck.conformance.trace.layers.speaks import VIEW, Statement, view
from raincheck.conformance.trace.records import Address
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.conformance.trace.streams import NO_ORIGINS

from .pingpong_talk import (
    Records,
    at,
    files,
    heard,
    judged,
    note,
    plant,
    talk,
    unsure,
)
from .planted_streams import EARLY
from .planting import Complaints, Plant, Planted, sentences

_JUDGE: Final = "judge: "
_COMPARE: Final = "compare: "
_ROW: Final = ", int(received[at, INDEX]), int(numbered[at])"
_TOLD: Final = "what was found is told all the same"


def _only(words: str, good: Records, bad: Records, **more: Any) -> Plant:
    """Plant another run than the usual one."""
    return Plant(
        good=lambda folder: judged(folder, good),
        bad=lambda folder: judged(folder, bad),
        words=words,
        **more,
    )


_unmerged: Final = unsure(
    "traces of pingpong in groups that merge cannot be judged", at("a", 0, merges=True)
)


def _lonely(records: Records) -> Records:
    """Remove the file of b."""
    return {"a": records["a"]}


def _unrecorded(records: Records) -> None:
    """a's file ends before its hail, and does not say that an event is missing."""
    del records["a"][2:]


_ALONE: Final = files(note("a", 1, 1))
CIRCLE: Final = (
    files(note("a", 1, 1), heard("b", "Note", 1, 1), note("b", 5, 1), heard("a", "Note", 5, 1)),
    files(heard("a", "Note", 5, 1), note("a", 1, 1), heard("b", "Note", 1, 1), note("b", 5, 1)),
)

_CONTENTS: Final = plant(
    '["fifo","b",0,"a",0,1] was sent with other contents',
    at("a", 4, args__number=6, told=[["Heard", [6]]]),
)
NEVER: Final = plant(
    '["Hail","a",0,"b",0] was never sent',
    at("b", 2, args__number=9, told=[["Heard", [9]]]),
)
_EARLY: Final = _only('["fifo","b",0,"a",0,1] was received before it was sent', *CIRCLE)


def _stream(bad: Iterable[Bad]) -> Complaints:
    """Return the complaints about b, reading the stream of a, killed after it had sent three."""
    reports = [
        Summary(
            path=name,
            run="r1",
            node=name,
            incarnation=0,
            nodes=("a", "b"),
            events=1,
            written=written,
        )
        for name, written in (("a", {'["DATA","a",0]': 3}), ("b", {}))
    ]
    compared = {'["DATA","a",0,"b",0]': Compared(NO_ORIGINS, list(bad))}
    return sentences([judge("r1", "sequencer", reports, compared, {("a", 0), ("b", 0)}, [])])


def _lives(*sent_to: Address, gone: Address | None = None) -> Complaints:
    """Return the complaints about a and b, the first of which has sent something to those."""
    reports = [
        FileReport(
            path=name,
            run="r1",
            protocol="pingpong",
            node=name,
            incarnation=0,
            nodes=("a", "b"),
            events=1,
            end="footer",
            complete=True,
            sent_to=sent_to,
        )
        for name in "ab"
    ]
    return sentences([judge("r1", "pingpong", reports, {}, {gone} if gone else (), [])])


def _with_a_loss(folder: Path) -> Complaints:
    """Return the complaints about a circle in which a line was put into quarantine."""
    records = CIRCLE[1]
    return judged(folder, records | {"b": [*records["b"], records["b"][-1]]})


def _beginning(*members: tuple[str, int]) -> Complaints:
    """Judge two files of one protocol, the second of which begins with these members."""
    begins = {"a": (("a", 0), ("b", 0)), "b": members}
    reports = [
        FileReport(
            run="r1",
            protocol="pingpong",
            node=node,
            incarnation=0,
            path=f"r1.{node}.jsonl",
            nodes=("a", "b"),
            events=1,
            conforming=1,
            end="footer",
            complete=True,
            said=[Statement(VIEW, 0, view(1, first))],
        )
        for node, first in begins.items()
    ]
    return sentences([judge("r1", "pingpong", reports, {}, (), ())])


PLANTED: Final[dict[str, Planted]] = {
    "trace.channels_compared": {
        f"{_COMPARE}bad += [Bad(ABSENT{_ROW}) for at in lost]": NEVER,
        f"{_COMPARE}bad += [Bad(CONTENTS{_ROW}, sent_index=int(sent[pla…": _CONTENTS,
        "circle: stuck.append(Stuck(who, mine.next, channel, mine.numbers[mine.at]))": _EARLY,
    },
    "trace.judged": {
        f"{_JUDGE}…: the records do not show its sending before it was received": Plant(
            good=lambda folder: judged(folder, CIRCLE[0]),
            bad=_with_a_loss,
            words='["fifo","b",0,"a",0,1]: the records do not show its sending before',
            then="a record after the footer",
            why="what was put aside is told all the same",
        ),
        "_beyond: traces of … in groups that merge cannot be judged: its model has none": (
            _unmerged
        ),
        "_other_system: each.constants != first.constants": unsure(
            "other constants or nodes than r1.a.jsonl", at("b", 0, constants={"limit": 3})
        ),
        "_other_system: sorted(each.nodes) != sorted(first.nodes)": unsure(
            "other constants or nodes than r1.a.jsonl",
            at("b", 0, nodes=["a", "b", "c"]),
            then="there is no file of node c",
            why="a node that a header lists has a file",
        ),
        "_other_beginning: it begins in another view than …": Plant(
            good=lambda _folder: _beginning(("a", 0), ("b", 0)),
            bad=lambda _folder: _beginning(("a", 0)),
            words="b.0 event 1: it begins in another view than r1.a.jsonl",
            verdict="inconclusive",
        ),
        "_unknown: a crash of a node that no header names": Plant(
            good=lambda folder: judged(folder, talk()),
            bad=lambda folder: judged(folder, talk(), crashed="z"),
            words="z.0 event 0: a crash of a node that no header names",
            verdict="inconclusive",
        ),
        f"{_JUDGE}verdict = VIOLATED": plant(
            "r1: violated",
            at("b", 5, changed__said=7),
            then="not what the model does",
            why=_TOLD,
        ),
        f"{_JUDGE}findings": unsure(
            "r1: inconclusive",
            lambda records: records["b"].pop(),
            then="no footer",
            why=_TOLD,
        ),
        f"{_JUDGE}problems": unsure(
            "r1: inconclusive",
            lambda records: records["b"].append(records["b"][-1]),
            then="a record after the footer",
            why="what was put aside is told all the same",
        ),
        f"{_JUDGE}not any((report.events for report in by_who.values()))": _only(
            "r1: inconclusive", talk(), files()
        ),
        "_records: no footer: events may be missing at the end": unsure(
            "no footer: events may be missing at the end", lambda records: records["b"].pop()
        ),
        "_records: there is no file of node …": _only(
            "there is no file of node b", _ALONE, _lonely(_ALONE)
        ),
        "_records: there is no file of life … of node …": Plant(
            good=lambda _: _lives(("b", 0)),
            bad=lambda _: _lives(("b", 0), ("b", 1)),
            words="there is no file of life 1 of node b",
            verdict="inconclusive",
        ),
        "_records: node … is said never to have come, and has a file": Plant(
            good=lambda _: _lives(),
            bad=lambda _: _lives(gone=("b", NEVER_CAME)),
            words="node b is said never to have come, and has a file",
            verdict="inconclusive",
        ),
        "_unsent: … was sent with other contents": _CONTENTS,
        "_unsent: _whole(other)": replace(
            NEVER,
            then='["Hail","a",0,"b",0]: the records of a.0 do not show its sending',
            why="what no record shows is said of any file",
        ),
        "_unsent: 0 < bad.number <= _written(other, channel)": Plant(
            good=lambda _: _stream(()),
            bad=lambda _: _stream([Bad(ABSENT, 1, 2, 1)]),
            words='["DATA","a",0,"b",0,2] was never sent',
            then='["DATA","a",0,"b",0,2]: the records of a.0 do not show its sending',
            why="what no record shows is said of any file",
        ),
        "_unsent: … was received before it was sent": EARLY,
        "_unsent: …: the records of ….… do not show its sending": unsure(
            '["Hail","a",0,"b",0]: the records of a.0 do not show its sending',
            _unrecorded,
            crashed="a",
        ),
        f"{_JUDGE}… was received before it was sent": _EARLY,
    },
}
