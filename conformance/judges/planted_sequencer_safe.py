"""Faults planted for the rules of `bindings/sequencer/safe.py`: the events of safe delivery."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.tracegen import Trace
from raincheck.model.sequencer.handlers import Rules

from .planting import Complaints, Plant, Planted
from .sequencer_story import A, B, C, Change, Story, judged, on, sets, story_plant

_HOLD: Final = "SafeTrace._hold: "
_ACK: Final = "SafeTrace._receive_ack: "
_SAFE: Final = "SafeTrace._receive_safe: "
_GOES_ON: Final = "the value that is missing is needed to go on"
_NAMED: Final = "the message's id names it too"
_DATA_NEEDS: Final = "ReceiveData needs received, args.from, args.messages, args.view"
_NEEDS: Final = "needs received, args.from, args.position"
_RECEIVED: Final = "received is not what the model expects"
_UNSENT: Final = "was never sent"
_NOBODY: Final = "nobody has sent that"


def safe_story() -> Story:
    """Return a run in which three messages are safe, and one is when c is gone."""
    story = Story()
    story.script = Script("abc", rules=Rules(delivery="safe"))
    story.world = story.script.world
    do = story.do
    do(A, "Send", 2)
    do(B, "Send", 1)
    do(A, "ReceiveForward", B)
    story.all_receive(A, A, B, C)
    for member in (B, C):
        do(member, "Acknowledge")
        do(A, "ReceiveAck", (member, 3))
    do(A, "Announce")
    for member in (A, B, C):
        do(member, "ReceiveSafe", (A, 3))
    do(B, "Send", 1)
    do(A, "ReceiveForward", B)
    story.all_receive(A, A, B, C)
    do(C, "Leave")
    do(C, "Stop")
    story.install(2, A, B, of=(A, B))
    return story


@cache
def _trace() -> Trace:
    return safe_story().files()


def _good(folder: Path) -> Complaints:
    return judged(folder, _trace())


def plant(words: str, change: Change, verdict: str = VIOLATED, **more: Any) -> Plant:
    """Plant a fault in the records of that run."""

    def bad(folder: Path) -> Complaints:
        trace = copy(_trace())
        change(trace)
        return judged(folder, trace)

    return Plant(good=_good, bad=bad, words=words, verdict=verdict, **more)


def _hold(words: str, then: str = "", why: str = "", /, **values: Any) -> Plant:
    """Plant these values in c's first DATA, behind which its file ends."""
    return plant(words, on(C, "ReceiveData", sets(**values), last=True), then=then, why=why)


def _heard_again(bad: bool) -> Trace:
    """In view 2 a hears what b has acknowledged in view 1."""
    story = safe_story()
    if bad:
        story.world.taken.clear()
        story.do(A, "ReceiveAck", (B, 3))
    return story.files()


def _lacks(words: str, who: Any, action: str, name: str, then: str = "") -> Plant:
    change = on(who, action, sets(**{name: None}), last=True)
    if then:
        return plant(words, change, then=then, why=_NAMED)
    return plant(words, change, breaks=TypeError, why=_GOES_ON)


PLANTED: Final[dict[str, Planted]] = {
    "bindings.sequencer.safe": {
        f"{_HOLD}received is None": _lacks(_DATA_NEEDS, C, "ReceiveData", "received"),
        f"{_HOLD}place is None": _lacks(_DATA_NEEDS, C, "ReceiveData", "args__messages"),
        f"{_HOLD}view is None": _lacks(_DATA_NEEDS, C, "ReceiveData", "args__view"),
        f"{_HOLD}args.from_ is None": _lacks(
            _DATA_NEEDS, C, "ReceiveData", "args__from_", "args.from is not what the model expects"
        ),
        f"{_HOLD}return differs('received', ['DATA', 'coordinator', 0, 0], received)": plant(
            'received: ["SAFE","a",0,1], not ["DATA","coordinator",0,0]',
            on(C, "ReceiveData", sets(received=("SAFE", "a", 0, 1)), last=True),
            breaks=AttributeError,
            why=_GOES_ON,
        ),
        f"{_HOLD}position != reader.count + 1": plant(
            "it read its channel out of order",
            on(
                C,
                "ReceiveData",
                sets(received=("DATA", "a", 0, 9), args__position=9),
                last=True,
            ),
            then=_UNSENT,
            why=_NOBODY,
        ),
        f"{_HOLD}args.position != position": plant(
            "it read its channel out of order", on(C, "ReceiveData", sets(args__position=9))
        ),
        f"{_HOLD}return differs('args.from', place[:2], args.from_)": plant(
            'args.from: ["b",0], not ["a",0]', on(C, "ReceiveData", sets(args__from_=("b", 0)))
        ),
        f"{_HOLD}return self._other_view(reader, sender.address, place, view)": _hold(
            "VirtualSynchrony => d.view = view[n]",
            "was sent with other contents",
            "the view is part of a message's contents",
            args__view=0,
        ),
        f"{_ACK}received is None": _lacks(
            f"ReceiveAck {_NEEDS}", A, "ReceiveAck", "received", _RECEIVED
        ),
        f"{_ACK}args.from_ is None": _lacks(f"ReceiveAck {_NEEDS}", A, "ReceiveAck", "args__from_"),
        f"{_ACK}args.position is None": _lacks(
            f"ReceiveAck {_NEEDS}", A, "ReceiveAck", "args__position", _RECEIVED
        ),
        f"{_ACK}return differs('received', expected, received)": plant(
            'received: ["ACK","b",0,"a",0,9], not ["ACK","b",0,"a",0,3]',
            on(A, "ReceiveAck", sets(received=("ACK", "b", 0, "a", 0, 9))),
            then=_UNSENT,
            why=_NOBODY,
        ),
        f"{_SAFE}received is None": _lacks(
            f"ReceiveSafe {_NEEDS}", C, "ReceiveSafe", "received", _RECEIVED
        ),
        f"{_SAFE}args.from_ is None": _lacks(
            f"ReceiveSafe {_NEEDS}", C, "ReceiveSafe", "args__from_"
        ),
        f"{_SAFE}args.position is None": _lacks(
            f"ReceiveSafe {_NEEDS}", C, "ReceiveSafe", "args__position", _RECEIVED
        ),
        f"{_SAFE}return differs('received', expected, received)": plant(
            'received: ["SAFE","a",0,9], not ["SAFE","a",0,3]',
            on(C, "ReceiveSafe", sets(received=("SAFE", "a", 0, 9))),
            then=_UNSENT,
            why=_NOBODY,
        ),
        "SafeTrace._heard: return self._out_of_order(reader, event, place)": story_plant(
            "it read its channel out of order", _heard_again
        ),
    },
}
