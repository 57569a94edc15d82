"""Faults planted for the rules of `bindings/sequencer/trace.py`: the events of every message."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from raincheck.conformance.trace.events import Delivered, Released, Sent

from . import sequencer_stories as stories
from .planting import Plant, Planted
from .sequencer_story import A, B, C, on, plant, sets, story_plant

_DATA = "SequencerTrace._receive_data: "
_SEND = "SequencerTrace._send: "
_FORWARD = "SequencerTrace._receive_forward: "
_AB: Final = (("a", 0), ("b", 0))
_ROWS: Final = (("a", 0, 1),)
_GOES_ON = "the value that is missing is needed to go on"

_ARGUMENTS: Final[dict[str, tuple[Any, str]]] = {
    "members": (_AB, 'args: {"members":[["a",0],["b",0]]}, not {}'),
    "table": (_ROWS, 'args: {"table":[["a",0,1]]}, not {}'),
    "digest": (_ROWS, 'args: {"digest":[["a",0,1]]}, not {}'),
    "position": (7, 'args: {"position":7}, not {}'),
    "view": (1, 'args: {"view":1}, not {}'),
    "from_": (("b", 0), 'args: {"from":["b",0]}, not {}'),
}
"""Superfluous arguments of an event, and the complaint about each."""
_VARIABLES: Final[dict[str, tuple[Any, str]]] = {
    "seqno": (7, 'seqno: 7, not "unchanged"'),
    "said": (7, 'said: 7, not "unchanged"'),
    "view": (7, 'view: 7, not "unchanged"'),
    "early": ((), 'early: [], not "unchanged"'),
    "status": ("left", 'status: "left", not "unchanged"'),
    "incarnation": (7, 'incarnation: 7, not "unchanged"'),
    "position": ((("a", 0, 7),), 'position: [["a",0,7]], not "unchanged"'),
    "held": (7, 'held: 7, not "unchanged"'),
    "told": (7, 'told: 7, not "unchanged"'),
    "announced": (7, 'announced: 7, not "unchanged"'),
    "heard": (_ROWS, 'heard: [["a",0,1]], not "unchanged"'),
    "released": (
        Released(1, (("b", 0, 1, 1),)),
        'released: {"view":1,"messages":[["b",0,1,1]]}, not "unchanged"',
    ),
    "received_table": (_ROWS, 'receivedTable: [["a",0,1]], not "unchanged"'),
    "delivered": (
        Delivered(1, ("b", 0, 1, 1)),
        'delivered: {"view":1,"messages":["b",0,1,1]}, not "unchanged"',
    ),
}
"""Variables that an event wrongly records as changed, and the complaint about each."""


def _surplus(prefix: str, who: Any, action: str, names: str) -> dict[str, Plant]:
    return {
        f"{prefix}args.{name} is not None": plant(
            _ARGUMENTS[name][1], on(who, action, sets(**{f"args__{name}": _ARGUMENTS[name][0]}))
        )
        for name in names.split()
    }


def _invented(prefix: str, who: Any, action: str, names: str) -> dict[str, Plant]:
    return {
        f"{prefix}changed.{name} is not UNSET": plant(
            _VARIABLES[name][1],
            on(who, action, sets(**{f"changed__{name}": _VARIABLES[name][0]})),
        )
        for name in names.split()
    }


def _lacks(prefix: str, who: Any, action: str, words: str, **names: str) -> dict[str, Plant]:
    return {
        f"{prefix}{text} is None": plant(
            words,
            on(who, action, sets(**{name: None}), last=True),
            breaks=TypeError,
            why=_GOES_ON,
        )
        for text, name in names.items()
    }


_DATA_NEEDS = "ReceiveData needs received, args.from, args.messages, args.view"
_FORWARD_NEEDS = "ReceiveForward needs received, args.messages, args.view"
_NO_CHANNEL = "an id that names no message has no place in a channel either"
_SENT: Final = (Sent(("DATA", "c", 0, 1), None, 1, ("c", 0, 1, 1), 1),)
_OTHER_LIFE = sets(args__from_=("a", 1), changed__received_table=(("a", 1, 2),))
_OTHER_NODE = sets(args__from_=("b", 0), changed__received_table=(("b", 0, 2),))
_TABLE = "forwardTable: [[9,9]], not "
_RESEND = 'resend: [[9,9]], not "unchanged"'


def _data(words: str, number: int = 0, /, **values: Any) -> Plant:
    return plant(words, on(C, "ReceiveData", sets(**values), number))


def _send(words: str, /, **values: Any) -> Plant:
    return plant(words, on(B, "Send", sets(**values)))


PLANTED: Final[dict[str, Planted]] = {
    "bindings.sequencer.trace": {
        **_lacks(
            _DATA,
            C,
            "ReceiveData",
            _DATA_NEEDS,
            received="received",
            place="args__messages",
            view="args__view",
            origin="args__from_",
        ),
        f"{_DATA}not well_formed(received)": plant(
            'received: ["DATA","a",0,"x"], not ["DATA","coordinator",0,0]',
            on(C, "ReceiveData", sets(received=("DATA", "a", 0, "x"))),
            then="it read its channel out of order",
            why=_NO_CHANNEL,
        ),
        f"{_DATA}received[0] != 'DATA'": plant(
            'received: ["FORWARD","a",0,"c",0,1], not ["DATA","coordinator",0,0]',
            on(C, "ReceiveData", sets(received=("FORWARD", "a", 0, "c", 0, 1))),
            then="it read its channel out of order",
            why=_NO_CHANNEL,
        ),
        f"{_DATA}position != reader.count + 1": story_plant(
            "it read its channel out of order; false: the channel is read in order",
            stories.skipped_data,
        ),
        f"{_DATA}args.position != position": _data(
            "it read its channel out of order", args__position=9
        ),
        f"{_DATA}return differs('sent', [], [list(sent.id) for sent in event.sent])": _data(
            'sent: [["DATA","c",0,1]], not []', sent=_SENT
        ),
        f"{_DATA}origin_node != node": plant(
            'args.from: ["b",0], not ["a",0]',
            on(C, "ReceiveData", _OTHER_NODE, last=True),
            chapter=1,
            then="was sent with other contents",
            why="who sent a message is part of its contents",
        ),
        f"{_DATA}origin_life != life": plant(
            'args.from: ["a",1], not ["a",0]',
            on(C, "ReceiveData", _OTHER_LIFE, last=True),
            chapter=1,
        ),
        f"{_DATA}return self._other_view(reader, sender.address, place, view)": story_plant(
            "the guard is false; false: VirtualSynchrony => d.view = view[n]",
            stories.read_too_late,
        ),
        f"{_DATA}return refused(taken)": plant(
            "the guard is false; false: ViewTag => d.view <= view[n]",
            on(C, "ReceiveData", sets(args__view=99)),
            breaks=TypeError,
            why="what the handler refuses has no next state",
        ),
        f"{_DATA}changed.position != ((reader.node, reader.life, at),)": _data(
            'position: [["a",0,7]], not [["a",0,2]]', changed__position=(("a", 0, 7),)
        ),
        f"{_DATA}not intervals_changed(changed, old, new)": _data(
            f'{_TABLE}"unchanged"', changed__forward_table=((9, 9),)
        ),
        **_invented(_DATA, C, "ReceiveData", "seqno said view early status incarnation"),
        f"{_DATA}not nothing_of_safe(changed)": _data(_VARIABLES["held"][1], changed__held=7),
        f"{_SEND}not nothing_of_safe(changed)": _send(_VARIABLES["held"][1], changed__held=7),
        **{
            f"nothing_of_safe: not changed.{name} is UNSET": _data(
                _VARIABLES[name][1], **{f"changed__{name}": _VARIABLES[name][0]}
            )
            for name in ("held", "released", "told", "heard", "announced")
        },
        **_surplus(_DATA, C, "ReceiveData", "members table digest"),
        f"{_DATA}delivered is UNSET": plant(
            'delivered: "unchanged", not {"view":1,"messages":["a",0,1,2]}',
            on(C, "ReceiveData", sets(changed__delivered=UNSET)),
            breaks=AttributeError,
            why=_GOES_ON,
        ),
        f"{_DATA}delivered.view != now": _data(
            'delivered: {"view":2,"messages":["a",0,1,2]}, not {"view":1',
            changed__delivered=Delivered(2, ("a", 0, 1, 2)),
        ),
        f"{_DATA}delivered.messages != (place if fresh == first else (node, life, fresh, "
        "last - fresh + 1))": _data(
            'delivered: {"view":1,"messages":["a",0,2,1]}, not {"view":1,"messages":["a",0,1,2]}',
            changed__delivered=Delivered(1, ("a", 0, 2, 1)),
        ),
        f"{_DATA}changed.received_table != self._rows_of(new.received_table)": _data(
            'receivedTable: [["a",0,1]], not [["a",0,2]]', changed__received_table=_ROWS
        ),
        f"{_DATA}delivered is not UNSET": _data(
            _VARIABLES["delivered"][1], 3, changed__delivered=_VARIABLES["delivered"][0]
        ),
        f"{_DATA}changed.received_table is not UNSET": _data(
            _VARIABLES["received_table"][1], 3, changed__received_table=_ROWS
        ),
        f"{_SEND}return lacking(event, 'args.messages')": plant(
            "Send needs args.messages",
            on(B, "Send", sets(args__messages=None)),
            breaks=TypeError,
            why=_GOES_ON,
        ),
        f"{_SEND}return differs('args.messages', expected, place)": _send(
            'args.messages: ["b",0,2,2], not ["b",0,1,2]', args__messages=("b", 0, 2, 2)
        ),
        f"{_SEND}return refused(answer)": plant(
            "the guard is false; false: HoldSends => resend[n] = <<>>",
            on(B, "Resend", sets(action="Send", args__messages=("b", 0, 4, 1))),
            breaks=TypeError,
            why="what the handler refuses has no next state",
        ),
        f"{_SEND}changed.seqno != new.seqno": _send("seqno: 41, not 2", changed__seqno=41),
        f"{_SEND}changed.said != new.said": _send("said: 41, not 2", changed__said=41),
        f"{_SEND}not intervals_changed(changed, me, new)": _send(
            f"{_TABLE}[[1,2]]", changed__forward_table=((9, 9),)
        ),
        **_invented(
            _SEND, B, "Send", "position delivered received_table view early status incarnation"
        ),
        f"{_SEND}event.received is not None": _send(
            'received: ["DATA","a",0,1], not null', received=("DATA", "a", 0, 1)
        ),
        **_surplus(_SEND, B, "Send", "from_ view position members table digest"),
        f"{_SEND}wrong = self.outbox.compare(event, me, new, outputs, ())": story_plant(
            "sent: [], not", stories.not_sent
        ),
        **_lacks(
            _FORWARD,
            A,
            "ReceiveForward",
            _FORWARD_NEEDS,
            received="received",
            place="args__messages",
            view="args__view",
        ),
        f"{_FORWARD}not well_formed(received)": plant(
            'received: ["FORWARD","b",0,"a",0,"x"], not ["FORWARD","from",0,"a",0,0]',
            on(A, "ReceiveForward", sets(received=("FORWARD", "b", 0, "a", 0, "x"))),
            then="it read its channel out of order",
            why=_NO_CHANNEL,
        ),
        f"{_FORWARD}not wanted": story_plant(
            'received: ["FORWARD","c",0,"b",0,1], not ["FORWARD","from",0,"d",0,0]',
            stories.for_another,
        ),
        f"{_FORWARD}a FORWARD of an earlier life comes after one of a later life": story_plant(
            "a FORWARD of an earlier life comes after one of a later life", stories.late_forward
        ),
        f"{_FORWARD}return self._out_of_order(reader, event, position)": story_plant(
            "it read its channel out of order", stories.skipped_forward
        ),
        f"{_FORWARD}return differs('args.from', reader.plain, args.from_)": plant(
            'args.from: ["c",0], not ["b",0]', on(A, "ReceiveForward", sets(args__from_=("c", 0)))
        ),
        f"{_FORWARD}answer.__class__ is Refused": plant(
            "the guard is false; false: Running(n)",
            stories.after_the_end,
            breaks=TypeError,
            why="what the handler refuses has no next state",
        ),
        f"{_FORWARD}answer[0] is not self.me": story_plant(
            'early: "unchanged", not [[2,"b",0,1,1]]', stories.early_in_silence
        ),
        f"{_FORWARD}event.changed != UNCHANGED": plant(
            'seqno: 7, not "unchanged"', on(A, "ReceiveForward", sets(changed__seqno=7))
        ),
        **_surplus(_FORWARD, A, "ReceiveForward", "position members table digest"),
        f"{_FORWARD}wrong = self.outbox.compare(event, self.me, self.me, answer[1], "
        "(args.crc,))": story_plant("sent: [], not", stories.kept_to_itself),
        "intervals_changed: not changed.forward_table is UNSET": _data(
            f'{_TABLE}"unchanged"', changed__forward_table=((9, 9),)
        ),
        "intervals_changed: not changed.resend is UNSET": _data(_RESEND, changed__resend=((9, 9),)),
        "intervals_changed: not changed.forward_table == (UNSET if table == was else table)": _send(
            f"{_TABLE}[[1,2]]", changed__forward_table=((9, 9),)
        ),
        "intervals_changed: not changed.resend == (UNSET if resend == waited else resend)": _send(
            _RESEND, changed__resend=((9, 9),)
        ),
    },
}
