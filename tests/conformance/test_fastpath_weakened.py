"""Each condition of the fast path is needed: without it some wrong trace would be taken."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from raincheck.conformance.campaigns.traced import record_group
from raincheck.conformance.trace import channels_compared, run
from raincheck.conformance.trace.following import fastends, fastpath, follower, lines, shared
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths

Record = dict[str, Any]
LAYERS = ("unicast", "nakack", "stable", "gms", "flush")


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, list[Record]]]:
    """The records of a good run of that protocol, by file."""
    folder = tmp_path_factory.mktemp("lives")
    record_group(folder, LAYERS)

    @cache
    def texts(protocol: str) -> dict[str, str]:
        paths = sorted(folder.glob(f"*.{protocol}.jsonl"))
        return {path.name: path.read_text() for path in paths}

    def records(protocol: str) -> dict[str, list[Record]]:
        found = texts(protocol).items()
        return {name: [json.loads(line) for line in text.splitlines()] for name, text in found}

    return records


def written(folder: Path, records: dict[str, list[Record]]) -> Path:
    for name, each in records.items():
        text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in each)
        (folder / name).write_text(text)
    return folder


def verdicts(folder: Path) -> list[RunVerdict]:
    return check_paths([folder])


# ---------------------------------------------------------------- wrong traces


def of(action: str, *, sends: bool = False, silent: bool = False) -> Callable[[Record], bool]:
    """Whether it is a record of that action, which sends something, or changes nothing."""

    def fits(record: Record) -> bool:
        if record.get("action") != action:
            return False
        return (bool(record["sent"]) or not sends) and not (silent and record["changed"])

    return fits


def more(record: Record) -> None:
    """Once more what it sent."""
    record["sent"].append(record["sent"][-1])


def nak(record: Record) -> None:
    """Something else that it sent."""
    record["sent"].append(
        {
            "id": ["Nak", "a", 0, "b", 0],
            "to": ["b", 0],
            "message": "Nak",
            "content": {"source": ["b", 0], "missing": [1]},
        }
    )


def coloured(record: Record) -> None:
    """The first message that it sent has a field that no message has, behind its id."""
    first = record["sent"][0]
    record["sent"][0] = {"id": first.pop("id"), "colour": [1], **first}


def longer(name: list[Any]) -> None:
    """The receiver's incarnation begins with the one that it has."""
    assert name[4] == 0
    name[4] = 0.5


def content(**values: Any) -> Callable[[Record], None]:
    return lambda record: record["sent"][0]["content"].update(values)


def known_as(*parts: Any) -> Callable[[Record], None]:
    """Another id of what it sent."""
    return lambda record: record["sent"][0].update(id=list(parts))


def changed(**values: Any) -> Callable[[Record], None]:
    return lambda record: record["changed"].update(values)


def but(**values: Any) -> Callable[[Record], None]:
    return lambda record: record.update(values)


def args(**values: Any) -> Callable[[Record], None]:
    return lambda record: record["args"].update(values)


Fault = tuple[str, Callable[[Record], bool], Callable[[Record], Any]]
FAULTS: dict[str, Fault] = {
    "a copy too many": ("nakack", of("Multicast"), more),
    "a message of who sends none": ("nakack", of("ReceiveData"), nak),
    "a message of who says something": ("nakack", of("Deliver"), nak),
    "a word of who says none": ("nakack", of("ReceiveData"), but(told=[["Delivered", []]])),
    "another word": ("nakack", of("Deliver"), but(told=[["Delivered", [["a", 0], 9, 9]]])),
    "another datagram": ("nakack", of("Multicast"), content(seqno=9)),
    "another id of a datagram": (
        "nakack", of("Multicast"), known_as("Data", "b", 7, "a", 0, 1, 2)
    ),
    "something behind the id": ("nakack", of("Multicast"), coloured),
    "an id with a longer number": ("nakack", of("Multicast"), lambda r: longer(r["sent"][0]["id"])),
    "another number in a FIFO channel": (
        "gms", of("InstallView", sends=True), lambda r: r["sent"][0]["id"].__setitem__(5, 7)
    ),
    "a number too many in parts": (
        "nakack", of("ReceiveAlive", silent=True), changed(sent=4)
    ),
    "another number in parts": ("nakack", of("Multicast"), changed(sent=4)),
    "another value": ("gms", of("BeginChange"), changed(phase="installing")),
    "a change that is not told": ("gms", of("BeginChange"), lambda r: r["changed"].pop("phase")),
    "what others change": ("flush", of("Multicast"), but(given={"view": 9})),
    "received by another name": (
        "nakack", of("ReceiveAlive"), but(received=["Alive", "b", 7, "a", 0, 0, False, 0])
    ),
    "received by a longer name": (
        "nakack", of("ReceiveAlive"), lambda r: longer(r["received"])
    ),
    "another number of what is received": (
        "gms", of("ReceiveViewAck"), lambda r: r["received"].__setitem__(5, 7)
    ),
    "an event left out": ("gms", of("Finish"), lambda record: record.clear()),
    "another node's": ("gms", of("Finish"), but(node="b")),
    "contents that nobody sent": (
        "nakack", of("ReceiveAlive", silent=True), args(delivered=99)
    ),
    "contents of another in a FIFO channel": (
        "flush", of("ReceiveCompleted"), args(digest=[[["a", 0], 0], [["b", 0], 5]])
    ),
}  # fmt: skip


def faulty(fault: str, lives: Callable[[str], dict[str, list[Record]]]) -> dict[str, list[Record]]:
    """The run's records with that fault in a's file, or else in another one."""
    protocol, fits, change = FAULTS[fault]
    records = lives(protocol)
    for each in records.values():
        found = next((record for record in each if fits(record)), None)
        if found is not None:
            change(found)
            each[:] = [record for record in each if record]
            return records
    raise AssertionError(f"nothing fits {fault}")


# ---------------------------------------------------------------- weakenings


def _fast(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    patch.setattr(shared, "FastPath", module.FastPath)


def _ends(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    patch.setattr(fastpath, "FastEnds", module.FastEnds)


def _lines(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    patch.setattr(follower, "Lines", module.Lines)


def _channels(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    patch.setattr(run, "compare_all", module.compare_all)


PLACES: dict[ModuleType, Callable[[pytest.MonkeyPatch, ModuleType], None]] = {
    fastpath: _fast,
    fastends: _ends,
    lines: _lines,
    channels_compared: _channels,
}

WEAKENINGS: list[tuple[ModuleType, str, str, str]] = [
    (fastpath, "record.given is not UNSET", "False", "what others change"),
    (fastpath, "record.index != last + 1 or ", "", "an event left out"),
    (fastpath, "encode_as_is(made) == changed or", "True or", "another value"),
    (fastpath, "encode_as_is(made) == changed or", "True or", "a change that is not told"),
    (fastpath, "encode_as_is(made) == changed or", "True or", "a number too many in parts"),
    (fastpath, "and alike(made, changed)", "", "another number in parts"),
    (fastends, "at != len(sent)", "at < 0", "a copy too many"),
    (fastends, "at != len(sent)", "at < 0", "a message of who says something"),
    (fastends, "at != len(sent)", "at < 0", "a message of who sends none"),
    (fastpath, "encode(made) == bytes(recorded)", "True", "a word of who says none"),
    (fastpath, "encode(made) == bytes(recorded)", "True", "another word"),
    (fastpath, "if write(made) == ", "if made or ", "another value"),
    (fastpath, "if write(made) == ", "if made or ", "another word"),
    (
        fastends,
        'text != b"%b%d%b%b" % (begin, channel.count + 1, behind, written)',
        "False",
        "another number in a FIFO channel",
    ),
    (fastends, "not text.startswith(begin) or ", "", "another id of a datagram"),
    (fastends, "or not text.endswith(rest)", "", "another datagram"),
    (fastends, ' or b"]" in tail', "", "something behind the id"),
    (fastends, '(tail and tail[:1] != b",") or ', "", "an id with a longer number"),
    (
        fastends,
        'received != b"%b,%d]" % (prefix, channel.count + 1)',
        "False",
        "another number of what is received",
    ),
    (fastends, "not received.startswith(prefix) or ", "", "received by another name"),
    (
        fastends,
        ' or received[len(prefix)] not in b",]"',
        "",
        "received by a longer name",
    ),
    (fastends, "digests(mark)\n                indices(index)", "pass",
     "contents that nobody sent"),
    (lines, "not block.startswith(head)", "False", "another node's"),
    (
        channels_compared,
        "same and received.digests == sent.digests[:count]",
        "same",
        "contents of another in a FIFO channel",
    ),
]  # fmt: skip


def weakened(module: ModuleType, before: str, after: str) -> ModuleType:
    """The module without a condition."""
    assert module.__file__ is not None
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert source.count(before) == 1, before
    made = ModuleType(module.__name__)
    made.__package__ = module.__package__
    exec(compile(source.replace(before, after), module.__file__, "exec"), vars(made))
    return made


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_noticed(
    fault: str, lives: Callable[[str], dict[str, list[Record]]], tmp_path: Path
) -> None:
    assert {each.verdict for each in verdicts(written(tmp_path, faulty(fault, lives)))} != {"holds"}


@pytest.mark.parametrize(
    ("module", "before", "after", "fault"),
    WEAKENINGS,
    ids=[f"{before} -> {after}" for _, before, after, _ in WEAKENINGS],
)
def test_without_a_condition_some_fault_is_judged_otherwise(
    module: ModuleType,
    before: str,
    after: str,
    fault: str,
    lives: Callable[[str], dict[str, list[Record]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = written(tmp_path, faulty(fault, lives))
    told = verdicts(folder)
    PLACES[module](monkeypatch, weakened(module, before, after))
    assert verdicts(folder) != told
