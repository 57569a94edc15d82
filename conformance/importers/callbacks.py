"""Logs of group members that write a line for each callback, one file for each member.

self NAME
view …            a new view, in the words of the system; ours is in it
deliver NAME ID   a message of that member
sent ID           a message of our own was handed to the system
end               nothing is missing in this log
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from .found import Found, Lines, Read, Refused

_ARGUMENTS: Final = {"self": 1, "deliver": 2, "sent": 1, "end": 0}
ADVICE: Final = {
    "agreement": "write the line end when a member has stopped and nothing more can come",
    "no_creation": "write the line sent ID for each message that is handed to the system",
    "sender_fifo": "number each sender's messages, or write the line sent ID for each",
    "gap_freeness": "number each sender's messages",
    "virtual_synchrony": "keep the log while members join, leave or crash",
}


class Installed(NamedTuple):
    """The words of a view."""

    members: tuple[str, ...]
    """Names by which all members know the same view."""
    crashed: tuple[str, ...] = ()
    """Members that this view lacks since their processes died."""
    gone: bool = False
    """Whether it is the view of the others, after we have left."""


View: TypeAlias = Callable[[str, str], Installed]
"""Our name, and what stands behind the line's first word; it raises ValueError for no view."""


def read_callbacks(lines: Lines, view: View, word: str) -> Iterator[Found]:
    """Yield the rows of one member's file; `word` begins the lines with a view."""
    me, position, sent, views = "", 0, 0, 0
    again = ""

    def row(line: int, event: str, **columns: Any) -> Read:
        return Read(line, {"member": me, "event": event, **columns})

    for line, text in lines:
        kind, _, rest = text.partition(" ")
        words = rest.split()
        if again:
            yield Refused(line, again)
        elif kind != word and (kind not in _ARGUMENTS or len(words) != _ARGUMENTS[kind]):
            known = ", ".join((word, *_ARGUMENTS))
            yield Refused(line, f"not a line of a member's log: it begins with none of {known}")
        elif kind == "self":
            if me:
                # Its messages and views count anew, in a second life of the same name as well.
                again = (
                    f"it stands in the log of {me} behind a second line self: cut the file there"
                )
                yield Refused(line, again)
            me = me or words[0]
        elif not me:
            yield Refused(line, "it stands before the line self, which names the member")
        elif kind == word:
            try:
                installed = view(me, rest.strip())
            except ValueError as error:
                yield Refused(line, str(error))
                continue
            yield from (Read(line, {"member": m, "event": "crash"}) for m in installed.crashed)
            if installed.gone:
                yield row(line, "end", position=position)
            else:
                # Each member counts its views; all know them by their members.
                views += 1
                listed = list(installed.members)
                yield row(line, "view", view=views, members=listed, after=position)
        elif not views:
            yield Refused(line, f"it stands before the first line {word}")
        elif kind == "deliver":
            position += 1
            sender, message = words
            yield row(line, kind, sender=sender, message=message, position=position, view=views)
        elif kind == "sent":
            sent += 1
            yield row(line, "send", message=words[0], position=sent, view=views, after=position)
        else:
            yield row(line, kind, position=position)
