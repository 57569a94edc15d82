"""The smallest witness against each property of delivery logs, by the questions of `queries.py`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from raincheck.conformance.deliveries.cuts import FOUND, cut_witness
from raincheck.conformance.deliveries.cycles import cycle_in
from raincheck.conformance.deliveries.properties import (
    Facts,
    Message,
    Witness,
    agreement_witness,
    order_witness,
)

from . import queries
from .shipping import at_workers, function
from .tables import Tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row as SparkRow


WITNESSES: Final[dict[str, Callable[[Tables, Facts], Witness | None]]] = {
    "total_order": lambda tables, _: total_order(tables, queries.ORDER),
    "uniform_total_order": lambda tables, _: total_order(tables, queries.UNIFORM_ORDER),
    "agreement": lambda tables, _: agreement(tables.one(queries.AGREEMENT)),
    "uniform_agreement": lambda tables, _: agreement(tables.one(queries.LACKING)),
    "no_duplication": lambda tables, _: duplicate(tables.one(queries.DUPLICATE)),
    "no_creation": lambda tables, facts: no_creation(tables) if facts.sends else None,
    "sender_fifo": lambda tables, _: _pair(tables.one(queries.FIFO)),
    "virtual_synchrony": lambda tables, facts: (
        _views(tables.one(queries.VIEWS_DIFFER)) if facts.views else None
    ),
    "sending_view": lambda tables, facts: (
        _late(tables.one(queries.SENT_ELSEWHERE)) if facts.views else None
    ),
    "gap_freeness": lambda tables, facts: _gap(
        tables.one(queries.MISSING_KNOWN if facts.sparse else queries.GAP)
    ),
    "state_cut": lambda tables, facts: cut(tables.one(queries.CUT)) if facts.states else None,
}
"""The smallest witness against each property, in the order in which they are looked for."""


def total_order(tables: Tables, asked: queries.Order) -> Witness | None:
    row = tables.one(asked.reference)
    if row is not None:
        return order_witness(row.p, row.q, (row.sender1, row.message1), (row.sender2, row.message2))
    # A cycle is looked for by one worker: only what several unlike logs have in common gets there.
    look = function(at_workers(tables.session), look_for_cycle)
    unlike = tables.frame(asked.unlike).groupBy("everybody")
    rows = unlike.applyInArrow(look, "witness string").collect()
    return msgspec.json.decode(rows[0].witness) if rows else None


def look_for_cycle(rows: "pa.Table") -> "pa.Table":
    """On a worker: look for a cycle in the orders of these deliveries."""
    import pyarrow as pa

    keys = ("member", "position", "sender", "message")
    orders: dict[str, list[Message]] = {}
    for row in rows.sort_by([(key, "ascending") for key in keys]).to_pylist():
        orders.setdefault(row["member"], []).append((row["sender"], row["message"]))
    found = cycle_in(orders)
    told = [] if found is None else [msgspec.json.encode(found).decode()]
    return pa.table({"witness": pa.array(told, type=pa.string())})


def agreement(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return agreement_witness(row.view, (row.sender, row.message), row.has, row.lacks)


def duplicate(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return {
        "members": [row.member],
        "messages": [[row.sender, row.message]],
        "positions": [row.before, row.position],
    }


def no_creation(tables: Tables) -> Witness | None:
    return _created(tables.one(queries.CREATED) or tables.one(queries.EARLY))


def _created(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    witness: Witness = {
        "members": [row.member],
        "messages": [[row.sender, row.message]],
        "positions": [row.position],
    }
    return witness if row.after is None else witness | {"sent_after": row.after}


def _pair(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    messages = [[row.sender, row.before], [row.sender, row.message]]
    return {"members": [row.member], "messages": messages}


def _views(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return {
        "messages": [[row.sender, row.message]],
        "views": [row.low, row.high],
        "members": [row.low_member, row.high_member],
    }


def _late(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return {
        "messages": [[row.sender, row.message]],
        "views": [row.sent_view, row.view],
        "members": [row.member],
    }


def cut(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    key = row.sender, row.message
    return cut_witness(FOUND[row.found], row.member, key, row.position, row.at)


def _gap(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return {"members": [row.member], "messages": [[row.sender, str(row.missing)]]}
