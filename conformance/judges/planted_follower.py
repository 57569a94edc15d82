"""Faults planted for the rules of `trace/follower.py`: one file of any protocol with a binding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.follower import check_file

from .pingpong_talk import Change, Records, at, event, insert, judged, known, plant, talk, unsure
from .planting import Plant, Planted, Told

_TAKE: Final = "Follower.take: "
_CHANGES: Final = "Follower._changes: "
_MESSAGES: Final = "Follower._messages: "
_SAME: Final = "Follower._same: "
_RECEIVED: Final = "Follower._received_end: "
_END: Final = "Follower._end: "
_INITIAL: Final = "initial_local: "
_OTHERWISE: Final = "not what the model does; "
_STRANGER: Final = "a record of another run, node or incarnation than the header's"
_HEADLESS: Final = "the first record is not a header: nothing in this file can be checked"
_SAYS: Final = '["Note","a",{"number":10,"half":10}]'
_CALLS: Final = '["Hail","a",{"number":4}]'


def _alone(words: str, first: str, **more: Any) -> Plant:
    """Plant a file with that first line, judged alone."""

    def told(folder: Path, lines: list[str]) -> Told:
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


def _header(**values: Any) -> Change:
    """b's header has these values."""
    return at("b", 0, **values)


def _footer_first(records: Records) -> None:
    """b's footer comes before its last event, and counts accordingly."""
    *rest, last, footer = records["b"]
    footer["index"] -= 1
    records["b"] = [*rest, footer, last]


def _again(records: Records) -> None:
    """a's first number comes once more, and the footer agrees."""
    records["a"].insert(-1, event("a", "Rest", index=1))
    records["a"][-1]["index"] = 1


def _unspoken(records: Records) -> None:
    """b's last event records nothing of its having said more."""
    del records["b"][5]["changed"]["said"]


def _other_protocol(records: Records) -> None:
    for each in records["b"][:-1]:
        each["protocol"] = "nothing"


def _in_parts() -> Plant:
    """Plant a trace of the real class, whose changes are recorded in parts."""

    def bad(folder: Path) -> Told:
        records = talk(real=True)
        records["b"][5]["changed"]["said"] = 7
        return judged(folder, records)

    return Plant(
        good=lambda folder: judged(folder, talk(real=True)),
        bad=bad,
        words=f"{_OTHERWISE}said: 7, not 2",
    )


PLANTED: Final[dict[str, Planted]] = {
    "trace.follower": {
        "_begun: report(Problem(str(path), line, str(problem)))": unsure(
            "version 9: this reader knows version 1",
            _header(version=9),
            then="there is no file of node b",
            why="the file is lost, whether or not somebody says why",
        ),
        "Follower._judge: self._problem(Problem(str(self.path), line, str(problem)))": unsure(
            "index 1 came before", _again
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
        "_header: node … is not among the header's nodes": unsure(
            "node 'b' is not among the header's nodes", _header(nodes=["a"])
        ),
        "_binding: protocol …: this reader knows …": unsure(
            "protocol 'nothing': this reader knows flush, gms",
            _other_protocol,
            breaks=AttributeError,
            why="nothing can be checked without the protocol's binding",
        ),
        "Follower.__init__: constants: …": unsure(
            "constants: Rules.__init__() got an unexpected keyword argument 'luck'",
            _header(constants={"luck": 1}),
            breaks=AttributeError,
            why="nothing can be checked without the protocol's rules",
        ),
        "Follower.__init__: a node does not begin like this": plant(
            "a node does not begin like this",
            lambda records: (
                _header(initial__said=1)(records),
                at("b", 3, changed__said=2)(records),
                at("b", 5, changed__said=3)(records),
            ),
        ),
        f"{_TAKE}a second header": unsure(
            "a second header",
            lambda records: records["b"].insert(3, records["b"][0]),
            breaks=AttributeError,
            why="a header has no number",
        ),
        **{
            f"{_TAKE}record.{name} != self.header.{name}": unsure(
                _STRANGER, at("b", 5, **{name: value})
            )
            for name, value in {"run": "r9", "node": "a", "incarnation": 5}.items()
        },
        f"{_TAKE}a record after the footer": unsure("a record after the footer", _footer_first),
        f"{_TAKE}self._missing(self.last + 1, record.index, line)": unsure(
            "events 6 to 7 are missing", at("b", -1, index=7)
        ),
        f"{_TAKE}an event of …": unsure("an event of 'other'", at("b", 5, protocol="other")),
        f"{_TAKE}index … came before": unsure("index 1 came before", _again),
        f"{_TAKE}… has no action …": unsure(
            "pingpong has no action 'Fly'",
            at("a", 5, action="Fly"),
            then="args: {} is not null",
            why="an action that nobody knows takes no arguments",
        ),
        f"{_TAKE}self._missing(self.last + 1, record.index - 1, line)": unsure(
            "events 3 to 3 are missing", lambda records: records["a"].pop(3)
        ),
        "Follower._given: nobody but the core changes …": unsure(
            "given: nobody but the core changes said", at("a", 5, given={"said": 1})
        ),
        "Follower._step: the model cannot answer: …: …": plant(
            "the model cannot answer: ZeroDivisionError: integer division or modulo by zero",
            insert("b", event("b", "Say", 0)),
        ),
        "Follower._step: … is not enabled": plant(
            "Say is not enabled; false: said[n] < Limit",
            lambda records: (
                _header(constants={"limit": 2})(records),
                insert("b", event("b", "Say", 1))(records),
            ),
        ),
        "Follower._step: not what the model does": plant(
            f"{_OTHERWISE}said: 7, not 2", at("b", 5, changed__said=7)
        ),
        f"{_CHANGES}yield Difference(name, expected, told)": _in_parts(),
        f"{_CHANGES}name not in known": plant(
            f'{_OTHERWISE}colour: "red", not null', at("b", 5, changed__colour="red")
        ),
        f"{_CHANGES}name in self.binding.uncompared": plant(
            f"{_OTHERWISE}secret: 5, not null", at("b", 5, changed__secret=5)
        ),
        f"{_CHANGES}yield Difference(name, plain(new), record.changed[name])": plant(
            f'{_OTHERWISE}said: "x", not 2', at("b", 5, changed__said="x")
        ),
        f"{_CHANGES}yield Difference(name, plain(new), record.changed[name]) #2": plant(
            f"{_OTHERWISE}said: 7, not 2", at("b", 5, changed__said=7)
        ),
        f"{_CHANGES}yield Difference(name, plain(new), 'unchanged')": plant(
            f'{_OTHERWISE}said: "unchanged", not 2', _unspoken
        ),
        f"{_MESSAGES}yield Difference(name, list(expected[place][:3]), None)": plant(
            f"{_OTHERWISE}sent[1]: null, not {_CALLS}", at("b", 4, sent=[])
        ),
        f"{_MESSAGES}yield Difference(name, None, list(recorded[place]))": plant(
            f'{_OTHERWISE}sent[1]: ["Hail",["b",0],{{"number":2}}], not null',
            lambda records: at("a", 5, sent=records["a"][2]["sent"])(records),
        ),
        f"{_MESSAGES}yield Difference(name, list(expected[place][:3]), list(recorded[place]))": (
            plant(
                f'{_OTHERWISE}sent[1]: ["Hail",["a",0],{{"number":9}}], not {_CALLS}',
                at("b", 4, sent__0__content__number=9),
            )
        ),
        "Follower._told: yield Difference(f'told[{place}]', model, told)": plant(
            f'{_OTHERWISE}told[1]: ["Heard",[9]], not ["Heard",[5]]',
            at("a", 4, told=[["Heard", [9]]]),
        ),
        f"{_SAME}message != kind.__name__": plant(
            f'{_OTHERWISE}sent[1]: ["Note",["a",0],{{"number":4}}], not {_CALLS}',
            lambda records: (
                at("b", 4, sent__0__message="Note", sent__0__id=["fifo", "b", 0, "a", 0, 2])(
                    records
                ),
                at("b", 5, sent__0__id=["fifo", "b", 0, "a", 0, 3])(records),
            ),
        ),
        f"{_SAME}plain(to) not in (receiver[0], list(receiver))": plant(
            f'{_OTHERWISE}sent[1]: ["Hail",["b",0],{{"number":4}}], not {_CALLS}',
            at("b", 4, sent__0__to=["b", 0], sent__0__id=["Hail", "b", 0, "b", 0]),
        ),
        f"{_SAME}return False": plant(
            f'{_OTHERWISE}sent[1]: ["Hail",["a",0],{{"number":4,"colour":1}}], not {_CALLS}',
            at("b", 4, sent__0__content__colour=1),
            breaks=KeyError,
            why="a field that the message does not have cannot be compared",
        ),
        f"{_SAME}not all((shaped(content[n], kinds[n]) == getattr(made, n) for n in content))": (
            plant(
                f'{_OTHERWISE}sent[1]: ["Note",["a",0],{{"number":10,"half":7}}], not {_SAYS}',
                at("b", 5, sent__0__content__half=7),
            )
        ),
        f"{_SAME}return False #2": plant(
            f'{_OTHERWISE}sent[1]: ["Note",["a",0],{{"number":10,"half":"x"}}], not {_SAYS}',
            at("b", 5, sent__0__content__half="x"),
        ),
        "Follower._sent_end: channel is None": unsure(
            "sent: pingpong has no message 'Heard'",
            at("b", 5, sent__0__message="Heard"),
            breaks=KeyError,
            why="what goes by no channel arrives by no action",
        ),
        f"{_RECEIVED}… consumes no message": unsure(
            "received: Rest consumes no message", at("a", 5, received=["fifo", "b", 0, "a", 0, 2])
        ),
        f"{_RECEIVED}… consumes a message, and none is named": unsure(
            "received: ReceiveNote consumes a message, and none is named",
            at("a", 4, received=None),
            breaks=TypeError,
            why="the name that is missing is needed to go on",
        ),
        f"{_RECEIVED}len(ends) != 4": unsure(
            "received: ['fifo', 'b'] is no id of a message",
            at("a", 4, received=["fifo", "b"]),
            breaks=IndexError,
            why="what is not there cannot be looked at",
        ),
        f"{_RECEIVED}type(ends[1]) is not int": unsure(
            "received: ['fifo', 'b', 'x', 'a', 0, 1] is no id of a message",
            at("a", 4, received=["fifo", "b", "x", "a", 0, 1]),
            breaks=ValueError,
            why="which of its lives a process is in is a number wherever ids are read",
        ),
        f"{_RECEIVED}it comes from …, and the sender is …": unsure(
            "received: it comes from ['b', 0], and the sender is c", at("a", 4, args__sender="c")
        ),
        f"{_END}… is not the id of a … between …": unsure(
            "sent: ['Hail', 'b', 5, 'a', 0] is not the id of a Hail between ('b', 0, 'a', 0)",
            at("b", 4, sent__0__id=["Hail", "b", 5, "a", 0]),
        ),
        f"{_END}name[:5] != [kind, *ends]": unsure(
            "sent: ['fifo', 'b', 5, 'a', 0, 1] is not an id of channel 'fifo' between",
            at("b", 5, sent__0__id=["fifo", "b", 5, "a", 0, 1]),
        ),
        f"{_END}len(name) != 6": unsure(
            "sent: ['fifo', 'b', 0, 'a', 0, 2, 2] is not an id of channel 'fifo' between",
            at("b", 5, sent__0__id=["fifo", "b", 0, "a", 0, 2, 2]),
        ),
        f"{_END}…: …": plant(
            "message 2 of the channel is next, and this is 5",
            at("b", 5, sent__0__id=["fifo", "b", 0, "a", 0, 5]),
        ),
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
    },
}
REDUNDANT: Final = {
    "trace.follower": {
        "Follower._sent_end: kind is None": (
            "whatever has a channel is an output, so a name that is no output has no channel; it "
            "keeps binding that say otherwise from going on without the message's type"
        ),
    },
}
