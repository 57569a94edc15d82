"""Faults planted for the rules of `trace/following/ends.py`: both ends of messages."""

from __future__ import annotations

from typing import Final

from .pingpong_talk import at, plant, unsure
from .planting import Planted

_RECEIVED: Final = "Ends.received: "
_END: Final = "Ends._end: "

PLANTED: Final[dict[str, Planted]] = {
    "trace.following.ends": {
        "Ends.sent: … has no message …": unsure(
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
            'received: ["fifo","b"] is no id of a message',
            at("a", 4, received=["fifo", "b"]),
            breaks=IndexError,
            why="what is not there cannot be looked at",
        ),
        f"{_RECEIVED}type(ends[1]) is not int": unsure(
            'received: ["fifo","b","x","a",0,1] is no id of a message',
            at("a", 4, received=["fifo", "b", "x", "a", 0, 1]),
            breaks=ValueError,
            why="which of its lives a process is in is a number wherever ids are read",
        ),
        f"{_RECEIVED}it comes from …, and the sender is …": unsure(
            'received: it comes from ["b",0], and the sender is "c"',
            at("a", 4, args__sender="c"),
        ),
        f"{_END}… is not the id of a … between …": unsure(
            'sent: ["Hail","b",5,"a",0] is not the id of a Hail between ["b",0,"a",0]',
            at("b", 4, sent__0__id=["Hail", "b", 5, "a", 0]),
        ),
        f"{_END}name[:5] != [called, *ends]": unsure(
            'sent: ["fifo","b",5,"a",0,1] is not an id of channel \'fifo\' between',
            at("b", 5, sent__0__id=["fifo", "b", 5, "a", 0, 1]),
        ),
        f"{_END}len(name) != 6": unsure(
            'sent: ["fifo","b",0,"a",0,2,2] is not an id of channel \'fifo\' between',
            at("b", 5, sent__0__id=["fifo", "b", 0, "a", 0, 2, 2]),
        ),
        f"{_END}…: …": plant(
            "message 2 of the channel is next, and this is 5",
            at("b", 5, sent__0__id=["fifo", "b", 0, "a", 0, 5]),
        ),
    },
}
