"""Black-box checking of delivery logs on Spark: each property is one set-based query.

The twin of `properties_local.py`: the same questions in SQL, so that the answers scale with the
cluster; only those are put that the properties asked for need. Files are read by the workers with
the same reader, so quarantine is the same as well.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from raincheck.conformance.deliveries.logs import SUFFIXES, delivery_files, label_of
from raincheck.conformance.deliveries.properties import (
    Answers,
    Facts,
    Verdicts,
    asked,
    counts,
    judged,
)
from raincheck.conformance.deliveries.states import State, parts_of, without
from raincheck.conformance.deliveries.views import SHARED, Numbered, Visit, numbered
from raincheck.conformance.importers.reading import log_files
from raincheck.conformance.importers.said import Rows, Said, told
from raincheck.conformance.importers.table import DELIVERIES, importer_of
from raincheck.conformance.trace.inputs import Uri

from . import queries
from .logs import load
from .overwhom import ALONE, over_all
from .parts import lines_numbered
from .remote import (
    left_out,
    listed,
    unread,
    whole_files,
)
from .tables import Tables
from .witnesses import WITNESSES, agreement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOTHING: Final = Said()


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
        beside = frame.where("told is not null or said is not null")
        heard = beside.select("told", "said").distinct().collect()
        problems = lines_numbered(row.told for row in heard if row.told is not None)
        problems += map(unread, left_out(there))
        said = Said()
        for text in sorted(row.said for row in heard if row.said is not None):
            said = said.joined(msgspec.json.decode(text, type=Said))
        kept = frame.where("told is null and said is null")
        answers = ask(session, kept, names, said)
        found = judged(answers, sorted(problems), names, complete)
        return found if importer is None else told(found, importer, said, names)
    finally:
        frame.unpersist()


def ask(
    session: "SparkSession", rows: "DataFrame", names: Iterable[str] = (), said: Said = _NOTHING
) -> Answers:
    """Put the questions to the rows that these properties need, or those that are judged without
    being named.
    """
    with Tables(session) as tables:
        tables.table("labelled", rows)
        first = tables.only(queries.AT_FIRST)
        shared, views = numbered_views(tables, rows, strange=first.strange)

        def asked_of(names: Iterable[str], left_out: Rows = frozenset()) -> Answers:
            log = Log(shared, views, said.sparse, first.states > 0)
            return _asked_of(session, log, names, left_out)

        answers = asked_of(names)
        for left_out, apart in said.apart():
            if chosen := apart.intersection(asked(answers.facts, names)):
                answers = answers.instead(chosen, asked_of(sorted(chosen), left_out))
        return answers


class Log(NamedTuple):
    """The rows of which is asked, and what is known of them."""

    rows: "DataFrame"
    views: Numbered
    sparse: bool
    states: bool


def _asked_of(session: "SparkSession", log: Log, names: Iterable[str], left_out: Rows) -> Answers:
    """Put the questions to the rows but those that are left out."""
    rows = log.rows
    for event in ("deliver", "send"):
        if whose := sorted(member for member, what in left_out if what == event):
            rows = rows.where(~((rows["event"] == event) & rows["member"].isin(whose)))
    silent = {member for member, event in left_out if event == "deliver"}
    with Tables(session) as tables:
        tables.table("log", rows)
        states, unknown = know_parts(tables, silent) if log.states else (0, "")
        if not log.states:
            tables.table("c", session.sql(queries.NOTHING_GIVEN))
        members, senders = tables.only(queries.MEMBERS), tables.only(queries.SENDERS)
        facts = Facts(
            rows=members.rows,
            members=members.members,
            messages=senders.messages,
            sends=members.sends,
            views=members.views,
            holes=members.holes,
            unordered=senders.unordered or "",
            open_end=members.open_ends > 0,
            counted=senders.counted > 0,
            names=log.views.names,
            unclear=log.views.unclear,
            states=states,
            unknown=unknown,
            safe=members.safe,
            sparse=log.sparse,
        )
        return _answers(tables, asked(facts, names), facts)


def numbered_views(
    tables: Tables, rows: "DataFrame", *, strange: bool
) -> tuple["DataFrame", Numbered]:
    """Return the rows, which are also the table `labelled`, with the local engine's numbers for
    views; `strange`: they have no numbers that all members share.
    """
    if not strange:
        return rows.withColumn("view", rows["view"].cast("bigint")), SHARED
    found = numbered(
        Visit(each.member, label_of(each.label), tuple(each.members or ()), each.after, each.first)
        for each in tables.frame(queries.VISITS).toLocalIterator()
    )
    stays = [(member, str(label), number) for (member, label), number in found.numbers.items()]
    schema = "known string, label string, number bigint"
    known = tables.session.createDataFrame(stays, schema)
    same = (rows["member"] == known["known"]) & (rows["view"] == known["label"])
    joined = rows.join(known.hint("broadcast"), same, "left").fillna(0, ["number"])
    return joined.drop("view").withColumnRenamed("number", "view"), found


def know_parts(tables: Tables, silent: Collection[str] = ()) -> tuple[int, str]:
    """Make the tables of the states and of what is in them; return how many there are, and why
    that is unknown of some. Those that have to do with `silent` members are left out.
    """
    states = without({State(*row) for row in tables.all(queries.STATES)}, silent)
    lengths = {row.member: row.last for row in tables.all(queries.LAST_POSITIONS)}
    known, why = parts_of(states, lengths)
    parts = [
        (state.member, state.position, part.member, part.behind, part.upto)
        for state, all_of_it in known.items()
        for part in all_of_it
    ]
    schema = "position long, member string, provider string, after long, view long"
    tables.made("states", [*known], schema)
    schema = "member string, at long, source string, behind long, upto long"
    tables.made("parts", parts, schema)
    return len(states), why


def _answers(tables: Tables, names: Collection[str], facts: Facts) -> Answers:
    found = {name: find(tables, facts) for name, find in WITNESSES.items() if name in names}
    loose = agreement(tables.one(queries.AGREEMENT_LAST)) if "agreement" in names else None
    judged = {"state_cut": counts(0, 0, 0)}
    if some := {*names} - ({"state_cut"} if not facts.states else set()):
        for row in tables.all(over_all(some, facts.sparse)):
            over = counts(row.members, row.views, row.messages)
            judged |= dict.fromkeys(ALONE.split(", ") if row.name == ALONE else [row.name], over)
    return Answers(facts, {name: w for name, w in found.items() if w is not None}, loose, judged)
