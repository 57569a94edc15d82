"""Black-box checking of delivery logs on Spark: each property is one set-based query.

The twin of `properties_local.py`: the same questions in SQL, so that the answers scale with the
cluster. Files are read by the workers with the same reader, so quarantine is the same as well.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from raincheck.conformance.deliveries.cuts import FOUND, cut_witness
from raincheck.conformance.deliveries.cycles import cycle_in
from raincheck.conformance.deliveries.logs import SUFFIXES, delivery_files, label_of
from raincheck.conformance.deliveries.properties import (
    ON_DEMAND,
    UNIFORM,
    Answers,
    Facts,
    Message,
    Verdicts,
    Witness,
    agreement_witness,
    counts,
    judged,
    order_witness,
)
from raincheck.conformance.deliveries.states import State, parts_of
from raincheck.conformance.deliveries.views import SHARED, Numbered, Visit, numbered
from raincheck.conformance.importers.reading import log_files
from raincheck.conformance.importers.said import Said, told
from raincheck.conformance.importers.table import DELIVERIES, importer_of
from raincheck.conformance.trace.inputs import Uri

from . import queries
from .logs import load
from .parts import lines_numbered
from .remote import (
    left_out,
    listed,
    unread,
    whole_files,
)
from .shipping import at_workers, function

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import Row as SparkRow


def check_deliveries(
    session: "SparkSession",
    places: Iterable[Path | Uri],
    names: Iterable[str] = (),
    complete: bool = False,
    log_format: str = DELIVERIES,
) -> Verdicts:
    """Check the logs on Spark; the verdict is the local engine's.

    A path is one that the workers can open as well; what is on other file systems, Spark reads.
    """
    names, places = list(names), list(places)
    importer = None if log_format == DELIVERIES else importer_of(log_format)
    paths = [each for each in places if isinstance(each, Path)]
    uris = [each for each in places if isinstance(each, Uri)]
    files: list[Path] = []
    if paths:
        files = delivery_files(paths) if importer is None else log_files(paths, importer)
    suffixes = SUFFIXES if importer is None else importer.suffixes
    there = listed(session, uris, suffixes, "log") if uris else []
    with whole_files(session, there):
        frame = load(session, files, log_format, there).persist()
        if there:
            frame.count()  # with the settings of this block
    try:
        heard = frame.where("told is not null").select("told").collect()
        problems = lines_numbered(row.told for row in heard)
        problems += map(unread, left_out(there))
        said = Said()
        for row in frame.where("said is not null").select("said").distinct().collect():
            said = said.joined(msgspec.json.decode(row.said, type=Said))
        kept = frame.where("told is null and said is null")
        rows, views = numbered_views(session, kept)
        answers = ask(session, rows, names, views, said.sparse)
        found = judged(answers, sorted(problems), names, complete)
        return found if importer is None else told(found, importer, said, names)
    finally:
        frame.unpersist()


def numbered_views(session: "SparkSession", rows: "DataFrame") -> tuple["DataFrame", Numbered]:
    """Return the rows with numbers for views, as the local engine gives them."""
    rows.createOrReplaceTempView("labelled")
    strange = _one(session, queries.STRANGE_VIEWS)
    if strange is None:
        return rows.withColumn("view", rows["view"].cast("bigint")), SHARED
    found = numbered(
        Visit(each.member, label_of(each.label), tuple(each.members or ()), each.after, each.first)
        for each in session.sql(queries.VISITS).toLocalIterator()
    )
    stays = [(member, str(label), number) for (member, label), number in found.numbers.items()]
    known = session.createDataFrame(stays, "known string, label string, number bigint")
    same = (rows["member"] == known["known"]) & (rows["view"] == known["label"])
    joined = rows.join(known.hint("broadcast"), same, "left").fillna(0, ["number"])
    return joined.drop("view").withColumnRenamed("number", "view"), found


def ask(
    session: "SparkSession",
    rows: "DataFrame",
    names: Iterable[str] = (),
    views: Numbered = SHARED,
    sparse: bool = False,
) -> Answers:
    """Put every question to the rows; those that are judged on demand only if they are named."""
    rows.createOrReplaceTempView("log")
    states = {State(*row) for row in session.sql(queries.STATES).collect()}
    unknown = _know_parts(session, states)
    with ExitStack() as kept:
        for name, text in queries.VIEWS.items():
            # Each view is made once, so that the questions, which build on it, stay small.
            view = session.sql(text).persist()
            kept.callback(view.unpersist)
            view.createOrReplaceTempView(name)
        facts = _facts(session, views, len(states), unknown, sparse)
        return _answers(session, names, facts)


def _know_parts(session: "SparkSession", states: set[State]) -> str:
    """Make the tables of the states and of what is in them; return why that is unknown of some."""
    lengths: dict[str, int] = {}
    if states:
        lengths = {row.member: row.last for row in session.sql(queries.LAST_POSITIONS).collect()}
    known, why = parts_of(states, lengths)
    parts = [
        (state.member, state.position, part.member, part.behind, part.upto)
        for state, all_of_it in known.items()
        for part in all_of_it
    ]
    tables = {
        "states": (
            [*known],
            "position long, member string, provider string, after long, view long",
        ),
        "parts": (parts, "member string, at long, source string, behind long, upto long"),
    }
    for name, (rows, schema) in tables.items():
        session.createDataFrame(rows, schema).createOrReplaceTempView(name)
    return why


def _facts(
    session: "SparkSession", views: Numbered, states: int, unknown: str, sparse: bool
) -> Facts:
    facts = _one(session, queries.FACTS)
    assert facts is not None
    return Facts(
        rows=facts.rows,
        members=facts.members,
        messages=facts.messages,
        sends=facts.sends > 0,
        views=facts.views > 0,
        holes=sorted(row.member for row in session.sql(queries.HOLES).collect()),
        unordered=facts.unordered or "",
        open_end=facts.open_ends > 0,
        counted=facts.counted > 0,
        names=views.names,
        unclear=views.unclear,
        states=states,
        unknown=unknown,
        safe=facts.safe > 0,
        sparse=sparse,
    )


def _answers(session: "SparkSession", names: Iterable[str], known: Facts) -> Answers:
    named = {*names} or (UNIFORM if known.safe else frozenset())
    loose = _agreement(_one(session, queries.AGREEMENT_LAST))
    found: dict[str, Witness | None] = {
        "total_order": _total_order(session, queries.ORDER),
        "agreement": _agreement(_one(session, queries.AGREEMENT)),
        "no_duplication": _duplicate(_one(session, queries.DUPLICATE)),
        "sender_fifo": _pair(_one(session, queries.FIFO)),
        "gap_freeness": _gap(_one(session, queries.MISSING_KNOWN if known.sparse else queries.GAP)),
    }
    if "uniform_total_order" in named:
        found["uniform_total_order"] = _total_order(session, queries.UNIFORM_ORDER)
    if "uniform_agreement" in named:
        found["uniform_agreement"] = _agreement(_one(session, queries.LACKING))
    if known.views and "sending_view" in named:
        found["sending_view"] = _late(_one(session, queries.SENT_ELSEWHERE))
    if known.sends:
        found["no_creation"] = _created(
            _one(session, queries.CREATED) or _one(session, queries.EARLY)
        )
    if known.views:
        found["virtual_synchrony"] = _views(_one(session, queries.VIEWS_DIFFER))
    if known.states:
        found["state_cut"] = _cut(_one(session, queries.CUT))
    asked = [name for name in queries.JUDGED if name not in ON_DEMAND or name in named]
    judged = {
        row.name: counts(row.members, row.views, row.messages)
        for row in session.sql(queries.over_all(asked, known.sparse)).collect()
    }
    judged |= dict.fromkeys(queries.ALONE.split(", "), judged.pop(queries.ALONE))
    return Answers(known, {name: w for name, w in found.items() if w is not None}, loose, judged)


def _one(session: "SparkSession", query: str) -> "SparkRow | None":
    rows = session.sql(query).collect()
    return rows[0] if rows else None


def _total_order(session: "SparkSession", asked: queries.Order) -> Witness | None:
    row = _one(session, asked.reference)
    if row is not None:
        return order_witness(row.p, row.q, (row.sender1, row.message1), (row.sender2, row.message2))
    # A cycle is looked for by one worker: only what several unlike logs have in common gets there.
    look = function(at_workers(session), look_for_cycle)
    unlike = session.sql(asked.unlike).groupBy("everybody")
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


def _agreement(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return agreement_witness(row.view, (row.sender, row.message), row.has, row.lacks)


def _duplicate(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return {
        "members": [row.member],
        "messages": [[row.sender, row.message]],
        "positions": [row.before, row.position],
    }


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


def _cut(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    key = row.sender, row.message
    return cut_witness(FOUND[row.found], row.member, key, row.position, row.at)


def _gap(row: "SparkRow | None") -> Witness | None:
    if row is None:
        return None
    return {"members": [row.member], "messages": [[row.sender, str(row.missing)]]}
