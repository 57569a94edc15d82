"""The order of a file's records: one header, events 1, 2, 3 without a gap, at most one footer."""

from __future__ import annotations

from typing import Any

from raincheck.conformance.trace.records import Footer, Header

from .reports import Unusable


def check_place(header: Header, record: Any, last: int, ended: bool) -> None:
    """Raise Unusable for a record that cannot come after event `last` of the header's file.

    `ended`: a footer was there already.
    """
    if record.__struct_config__.tag == "header":
        raise Unusable("a second header")
    mine = (header.run, header.node, header.incarnation)
    if (record.run, record.node, record.incarnation) != mine:
        raise Unusable("a record of another run, node or incarnation than the header's")
    if ended:
        raise Unusable("a record after the footer")
    if isinstance(record, Footer):
        return
    if record.protocol != header.protocol:
        raise Unusable(f"an event of {record.protocol!r}")
    if record.index <= last:
        raise Unusable(f"index {record.index} came before")


def gap(record: Any, last: int) -> str:
    """Return what is missing between event `last` and this record, or ""."""
    if isinstance(record, Footer) and record.index != last:
        lost = ": records are missing" if record.index > last else ""
        return (
            f"the footer says that event {record.index} is the last one, "
            f"the file ends with event {last}{lost}"
        )
    if record.index > last + 1:
        low, high = last + 1, record.index - 1
        missing = f"event {low} is" if low == high else f"events {low} to {high} are"
        return f"{missing} missing: what follows cannot be checked"
    return ""
