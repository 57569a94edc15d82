"""Faults planted for the rules of `trace/following/`: one file of any protocol with a binding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.following.files import check_file
from raincheck.conformance.trace.following.initial import check_owner
from raincheck.conformance.trace.following.reports import Unusable

from .pingpong_talk import Change, Records, at, event, insert, known, plant, talk, unsure
from .planting import Complaints, Plant, Planted

_TAKE: Final = "InFull.take: "
_PLACE: Final = "check_place: "
_INITIAL: Final = "initial_local: "
_OTHERWISE: Final = "not what the model does; "
_OTHER_SYSTEM: Final = "other constants or nodes than r1.a.jsonl"
_STRANGER: Final = "a record of another run, node or incarnation than the header's"
_HEADLESS: Final = "the first record is not a header: nothing in this file can be checked"


def _alone(words: str, first: str, **more: Any) -> Plant:
    """Plant a file with that first line, judged alone."""

    def told(folder: Path, lines: list[str]) -> Complaints:
        (folder / "alone.jsonl").write_text("".join(f"{line}\n" for line in lines))
        problems: list[Problem] = []
        with known():
            check_file(folder / "alone.jsonl", problems.append)
        return [problem.reason for problem in problems]

    lines = [json.dumps(each) for each in talk()["a"]]
    return Plant(
        good=lambda folder: told(folder, lines),
        bad=lambda folder: told(folder, [first, *lines]),
        words=words,
        **more,
    )


class _Owned(NamedTuple):
    """A state with both names of its process that models use."""

    me: tuple[str, int] = ("b", 1)
    incarnation: int = 1


def _owned(words: str, me: tuple[str, int] = ("b", 1), life: int = 1) -> Plant:
    """Plant a state that is another process's than its file."""

    def told(state: _Owned) -> Complaints:
        try:
            check_owner(state, ("b", 1))
        except Unusable as problem:
            return [str(problem)]
        return []

    return Plant(good=lambda _: told(_Owned()), bad=lambda _: told(_Owned(me, life)), words=words)


def _header(**values: Any) -> Change:
    """b's header has these values."""
    return at("b", 0, **values)


def _after_others(said: int) -> Change:
    """b begins as if it had said so many things."""
    return lambda records: (
        _header(initial__said=said)(records),
        at("b", 3, changed__said=said + 1)(records),
        at("b", 5, changed__said=said + 2)(records),
    )


def _footer_first(records: Records) -> None:
    """b's footer comes before its last event, and counts accordingly."""
    *rest, last, footer = records["b"]
    footer["index"] -= 1
    records["b"] = [*rest, footer, last]


def _again(records: Records) -> None:
    """a's first number comes once more."""
    records["a"].insert(-1, event("a", "Rest", index=1))


def _other_protocol(records: Records) -> None:
    for each in records["b"][:-1]:
        each["protocol"] = "nothing"


PLANTED: Final[dict[str, Planted]] = {
    "trace.following.files": {
        "_begun: report(Problem(str(path), line, str(problem)))": unsure(
            "version 9: this reader knows version 1",
            _header(version=9),
            then="there is no file of node b",
            why="the file is lost, whether or not somebody says why",
        ),
        "_header: not isinstance(record, Header)": _alone(
            _HEADLESS,
            json.dumps(talk()["a"][1]),
            breaks=AttributeError,
            why="what is no header has no version",
        ),
        "_header: line != 1": _alone(
            _HEADLESS, "{", then="not JSON", why="the line that stands in the way is no record"
        ),
        "_header: version …: this reader knows version …": unsure(
            "version 9: this reader knows version 1", _header(version=9)
        ),
        "_binding: protocol …: this reader knows …": unsure(
            "protocol 'nothing': this reader knows flush, frag, gms",
            _other_protocol,
            breaks=AttributeError,
            why="nothing can be checked without the protocol's binding",
        ),
        "_header: node … is not among the header's nodes": unsure(
            "node 'b' is not among the header's nodes",
            _header(nodes=["a"]),
            then=_OTHER_SYSTEM,
            why="a's header has other nodes",
        ),
    },
    "trace.following.follower": {
        "Follower._judge: self._problem(Problem(str(self.path), line, str(problem)))": unsure(
            "index 1 came before", _again
        ),
    },
    "trace.following.initial": {
        f"{_INITIAL}initial: the header must say in which state the node begins": unsure(
            "initial: the header must say in which state the node begins",
            _header(initial=None),
            breaks=TypeError,
            why="nothing can be checked without a state to begin in",
        ),
        f"{_INITIAL}initial: … is missing": unsure(
            "initial: heard is missing", lambda records: records["b"][0]["initial"].pop("heard")
        ),
        f"{_INITIAL}initial: there is no …": unsure(
            "initial: there is no colour", _header(initial__colour="red")
        ),
        "check_owner: initial: the state is that of node …": unsure(
            "initial: the state is that of node z", _header(initial__node="z")
        ),
        "check_owner: initial: the state is that of incarnation …": _owned(
            "initial: the state is that of incarnation 4", life=4
        ),
        "check_owner: initial: the state is that of ….…": _owned(
            "initial: the state is that of z.0", me=("z", 0)
        ),
    },
    "trace.following.in_full": {
        "InFull.__init__: constants: …": unsure(
            "constants: Rules.__init__() got an unexpected keyword argument 'luck'",
            _header(constants={"luck": 1}),
            breaks=AttributeError,
            why="nothing can be checked without the protocol's rules",
        ),
        "InFull._begin: a node does not begin like this": plant(
            "a node does not begin like this", _after_others(1)
        ),
        "InFull._begin: self._find(why, line=1, verdict=INCONCLUSIVE)": unsure(
            "the first state cannot be judged (IndexError: tuple index out of range)",
            _after_others(-9),
        ),
        f"{_TAKE}self._find(missing, line=line, verdict=INCONCLUSIVE)": unsure(
            "the footer says that event 7 is the last one, the file ends with event 5: records",
            at("b", -1, index=7),
        ),
        f"{_TAKE}… has no action …": unsure(
            "pingpong has no action 'Fly'",
            at("a", 5, action="Fly"),
            then="args: {} is not null",
            why="an action that nobody knows takes no arguments",
        ),
        f"{_TAKE}self._find(missing, line=line, verdict=INCONCLUSIVE) #2": unsure(
            "event 3 is missing", lambda records: records["a"].pop(3)
        ),
        "InFull._given: nobody but the core changes …": unsure(
            "given: nobody but the core changes said", at("a", 5, given={"said": 1})
        ),
        "InFull._step: the model cannot answer: …: …": plant(
            "the model cannot answer: ZeroDivisionError: integer division or modulo by zero",
            insert("b", event("b", "Say", 0)),
        ),
        "InFull._step: … is not enabled": plant(
            "Say is not enabled; false: said[n] < Limit",
            lambda records: (
                _header(constants={"limit": 2})(records),
                insert("b", event("b", "Say", 1))(records),
            ),
            then=_OTHER_SYSTEM,
            why="a's header has another limit",
        ),
        "InFull._step: not what the model does": plant(
            f"{_OTHERWISE}said: 7, not 2", at("b", 5, changed__said=7)
        ),
    },
    "trace.following.order": {
        f"{_PLACE}a second header": unsure(
            "a second header",
            lambda records: records["b"].insert(3, records["b"][0]),
            breaks=AttributeError,
            why="a header has no number",
        ),
        **{
            f"{_PLACE}record.{name} != header.{name}": unsure(
                _STRANGER, at("b", 5, **{name: value})
            )
            for name, value in {"run": "r9", "node": "a", "incarnation": 5}.items()
        },
        f"{_PLACE}a record after the footer": unsure("a record after the footer", _footer_first),
        f"{_PLACE}an event of …": unsure("an event of 'other'", at("b", 5, protocol="other")),
        f"{_PLACE}index … came before": unsure(
            "index 1 came before",
            _again,
            then="the footer says that event 5 is the last one, the file ends with event 1",
            why="the repeated number then counts as the last one",
        ),
        "gap: the footer says that event … is the last one, the file ends with event ……": unsure(
            "the footer says that event 4 is the last one, the file ends with event 5",
            at("b", -1, index=4),
        ),
        "gap: … missing: what follows cannot be checked": unsure(
            "event 3 is missing: what follows cannot be checked",
            lambda records: records["a"].pop(3),
        ),
    },
}
