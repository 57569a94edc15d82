"""Small delivery logs, written as words."""

from __future__ import annotations

import msgspec

from raincheck.conformance.deliveries.logs import Row


def log(*members: str, end: bool = True) -> list[Row]:
    """Return rows of members with these deliveries: "p: a1 2/b1" has b1 in view 2.

    "2/=q3" is a state, taken in view 2, of what q had at position 3.
    """
    rows = []
    for text in members:
        member, _, words = text.partition(":")
        for place, word in enumerate(words.split(), start=1):
            view, _, message = word.rpartition("/")
            row = Row(member, place, int(view or 0), message[0], message[1:])
            if message.startswith("="):
                row = Row(member, place, row.view, message[1], "", "state", int(message[2:]))
            rows.append(row)
        if end:
            rows.append(Row(member, len(words.split()), event="end"))
    return rows


def sent(*senders: str) -> list[Row]:
    """Return the rows of senders that have sent what their strings say."""
    return [msgspec.structs.replace(row, event="send") for row in log(*senders, end=False)]
