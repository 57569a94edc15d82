"""Faults planted for the rules of `bindings/sequencer/sent.py`: the messages of an event."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.events import Sent

from .planted_sequencer_safe import plant as safe_plant
from .planting import Plant, Planted
from .sequencer_story import A, B, Change, on, plant, sets

_COMPARE: Final = "Outbox.compare: "
_WELCOME: Final = "Outbox._welcome: "
_MESSAGE: Final = "Outbox.message: "
_OTHER: Final = "it sent something else than the model sends; sent."
_PAIRED: Final = "each message that was sent is held against one of the model's"


def _sent(**values: Any) -> Change:
    """The first message that a passes on has these values."""
    return on(A, "ReceiveForward", lambda event: sets(**values)(event.sent[0]))


def _welcome(**values: Any) -> Plant:
    """Plant these values in b's message when it admits c again."""
    ((name, value),) = values.items()
    change = on(B, "InstallView", lambda event: sets(**values)(event.sent[0]), 3)
    told = {
        "id": '[["JOIN_RSP","b",0,"c",1,6],["c",1],5,',
        "to": '[["JOIN_RSP","b",0,"c",1,5],["a",0],5,',
        "view": '[["JOIN_RSP","b",0,"c",1,5],["c",1],9,',
        "table": '["c",1],5,[["b",0,7]],[["b",0,1]]],',
        "digest": '["c",1],5,[["b",0,4],["d",0,2]],[["b",0,9]]],',
    }
    assert value
    return plant(told[name], change)


def _without(number: int) -> Plant:
    """Leave out one of a's messages when it admits d."""

    def change(event: Any) -> None:
        sent = [*event.sent]
        del sent[number]
        event.sent = tuple(sent)

    words = ('sent: [["DATA","a",0,6]], not', 'sent: [["JOIN_RSP","a",0,"d",0,2]], not')
    return plant(words[number], on(A, "InstallView", change), breaks=ValueError, why=_PAIRED)


PLANTED: Final[dict[str, Planted]] = {
    "bindings.sequencer.sent": {
        f"{_COMPARE}len(recorded) != len(messages)": _without(1),
        f"{_COMPARE}len(welcomes) != len(joiners)": _without(0),
        "Outbox._place: return differs('sent', [builtins(want)], [builtins(sent) for sent in "
        "event.sent])": safe_plant(
            'sent: [{"id":["SAFE","a",0,9]}], not [{"id":["SAFE","a",0,3]}]',
            on(A, "Announce", sets(sent=(Sent(("SAFE", "a", 0, 9)),))),
        ),
        f"{_WELCOME}sent.id != name": _welcome(id=("JOIN_RSP", "b", 0, "c", 1, 6)),
        f"{_WELCOME}sent.to != tuple(joiner)": _welcome(to=("a", 0)),
        f"{_WELCOME}sent.view != answer.view": _welcome(view=9),
        f"{_WELCOME}sent.table != table": _welcome(table=(("b", 0, 7),)),
        f"{_WELCOME}given != digest": _welcome(digest=(("b", 0, 9),)),
        f"{_MESSAGE}sent.messages != place": plant(
            f'{_OTHER}messages: ["b",0,1,1], not ["b",0,1,2]', _sent(messages=("b", 0, 1, 1))
        ),
        f"{_MESSAGE}sent.crc != crc": plant(f"{_OTHER}crc: 1, not 101", _sent(crc=1)),
        f"{_MESSAGE}sent.view != view": plant(f"{_OTHER}view: 9, not 1", _sent(view=9)),
        f"{_MESSAGE}sent.to != writer.to": plant(
            f'{_OTHER}to: ["b",0], not null', _sent(to=("b", 0))
        ),
        f"{_MESSAGE}sent.id != (*writer.channel, position)": plant(
            f'{_OTHER}id: ["DATA","a",0,9], not ["DATA","a",0,3]', _sent(id=("DATA", "a", 0, 9))
        ),
        f"{_MESSAGE}sent.table is not None": plant(
            f'{_OTHER}table: [["a",0,1]], not null', _sent(table=(("a", 0, 1),))
        ),
        f"{_MESSAGE}sent.digest is not None": plant(
            f'{_OTHER}digest: [["a",0,1]], not null', _sent(digest=(("a", 0, 1),))
        ),
    },
}
