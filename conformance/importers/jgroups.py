"""What a Receiver of JGroups logs, such as `examples/foreign/ReceiverLog.java`.

    self A
    view [A|2] (3) [A, B, C]
    deliver B 17
    sent 18

A view is written as JGroups itself writes it. Its id is one that all members share.
"""

import re
from collections.abc import Iterator
from typing import Final

from .callbacks import ADVICE, Installed, read_callbacks
from .found import Found, Importer, Lines

_VIEW: Final = re.compile(r"(?:MergeView::)?\[(?P<id>.+?\|\d+)\] (?:\(\d+\) )?\[[^\]]*\]")


def view_of(_: str, text: str) -> Installed:
    """Return what a view says; raise ValueError if it is none."""
    match = _VIEW.match(text)
    if match is None:
        raise ValueError("a view is written as JGroups does: [A|2] (3) [A, B, C]")
    # The id, not the list: that comes again after a merge, and JGroups cuts long ones.
    return Installed((match["id"],))


def read(lines: Lines, file: str) -> Iterator[Found]:  # noqa: ARG001
    """Yield the rows of one member's log."""
    return read_callbacks(lines, view_of, "view")


IMPORTER: Final = Importer(
    "jgroups",
    read,
    (".log", ".txt"),
    "members of a JGroups channel: the lines of examples/foreign/ReceiverLog.java",
    ADVICE,
)
