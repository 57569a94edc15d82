"""What a client of corosync's CPG logs, such as `examples/foreign/cpg_log.c`.

    self 1:4711
    confchg members 1:4711 2:4712 left 3:4713/procdown joined 2:4712
    deliver 1:4711 17
    sent 18

A member is a node's id and a process's id. CPG does not number its configurations, so views are
known by their members, in the order in which each member has had them.
"""

from collections.abc import Iterator
from typing import Final

from .callbacks import ADVICE, Installed, read_callbacks
from .found import Found, Importer, Lines

_LISTS: Final = ("members", "left", "joined")
CRASHED: Final = "procdown"
"""The one reason that says that a process is dead; a node that is down may only be cut off."""


def view_of(me: str, text: str) -> Installed:
    """Return what a configuration change says; raise ValueError if it is none."""
    words = text.split()
    heads = [place for place, word in enumerate(words) if word in _LISTS]
    if [words[place] for place in heads] != list(_LISTS) or heads[0] != 0:
        raise ValueError("a confchg has the words members, left and joined, each with a list")
    members, left = words[1 : heads[1]], words[heads[1] + 1 : heads[2]]
    crashed = [who for who, _, why in (each.partition("/") for each in left) if why == CRASHED]
    gone = me not in members
    if gone and me not in (each.partition("/")[0] for each in left):
        raise ValueError(f"{me} is neither among the members nor among those who left")
    return Installed(tuple(members), tuple(crashed), gone)


def read(lines: Lines, file: str) -> Iterator[Found]:  # noqa: ARG001
    """Yield the rows of one client's log."""
    return read_callbacks(lines, view_of, "confchg")


IMPORTER: Final = Importer(
    "corosync",
    read,
    (".log", ".txt"),
    "clients of corosync CPG: the lines of examples/foreign/cpg_log.c",
    ADVICE,
)
