"""Black-box checking: each property by a planted fault, and its smallest witness."""

import csv
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.conformance.deliveries.cuts import LOST, NEITHER, TWICE
from raincheck.conformance.deliveries.cycles import cycle_in
from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.deliveries.properties import NAMES, NEEDS_STATES, judged
from raincheck.conformance.deliveries.properties_local import answer, check_deliveries
from raincheck.conformance.errors import UsageError
from raincheck.conformance.judges.delivery_log import log
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise


def verdicts(
    rows: list[Row], complete: bool = False, names: tuple[str, ...] = ()
) -> dict[str, Promise]:
    """The verdict of each property, or of those that are named."""
    found = judged(answer(rows), [], names, complete)
    return {promise.name: promise for promise in found.properties}


def test_a_good_log_holds_in_all_that_can_be_asked_of_it() -> None:
    found = verdicts(log("p: a1 b1 a2", "q: a1 b1 a2"))

    assert {name: promise.verdict for name, promise in found.items()} == {
        "total_order": HOLDS,
        "agreement": HOLDS,
        "no_duplication": HOLDS,
        "sender_fifo": HOLDS,
        "gap_freeness": HOLDS,
    }


def test_order_is_compared_with_the_fullest_log() -> None:
    found = verdicts(log("p: a1 b1 c1 a2", "q: a1 c1 b1"))["total_order"]

    assert found.verdict == VIOLATED
    assert found.witness == {"members": ["q", "p"], "messages": [["c", "1"], ["b", "1"]]}


def test_order_between_members_beyond_the_fullest_log_is_seen() -> None:
    found = verdicts(log("p: a1 a2 a3 a4 a5", "q: a1 b1 c1", "r: a1 c1 b1"))["total_order"]

    assert found.witness == {"members": ["q", "r"], "messages": [["b", "1"], ["c", "1"]]}


def test_orders_that_are_compatible_pair_by_pair_but_not_all_together_are_a_cycle() -> None:
    found = verdicts(log("p: z1 z2 a1 b1", "q: z1 z2 b1 c1", "r: z1 z2 c1 a1"))["total_order"]

    assert found.verdict == VIOLATED
    assert found.witness == {
        "members": ["p", "q", "r"],
        "messages": [["a", "1"], ["b", "1"], ["c", "1"]],
    }
    assert found.judged == {"members": 3, "views": 1, "messages": 5}


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_a_cycle_is_found_if_and_only_if_the_orders_cannot_be_merged(seed: int, size: int) -> None:
    random = Random(seed)
    keys = [("s", str(number)) for number in range(6)]
    orders = {
        f"m{number}": random.sample(keys, random.randint(0, len(keys))) for number in range(size)
    }
    graph = nx.DiGraph(
        (before, after) for order in orders.values() for before, after in pairwise(order)
    )

    found = cycle_in(orders)

    assert (found is None) == nx.is_directed_acyclic_graph(graph)
    if found is not None:
        members, messages = found["members"], [tuple(each) for each in found["messages"]]
        for member, this, following in zip(
            members, messages, [*messages[1:], messages[0]], strict=True
        ):
            assert orders[member].index(this) < orders[member].index(following)


def test_an_own_message_is_not_delivered_before_it_was_sent() -> None:
    rows = log("p: b1 p1", "b: b1 p1")
    sends = [Row("b", 1, 0, "b", "1", "send", 0), Row("p", 1, 0, "p", "1", "send", 1)]
    late = [sends[0], msgspec.structs.replace(sends[1], after=2)]

    assert verdicts([*rows, *sends])["no_creation"].verdict == HOLDS
    found = verdicts([*rows, *late])["no_creation"]
    assert found.verdict == VIOLATED
    assert found.witness == {
        "members": ["p"],
        "messages": [["p", "1"]],
        "positions": [2],
        "sent_after": 2,
    }


def installed(member: str, view: int | str, members: str = "", after: int | None = None) -> Row:
    return Row(member, 0, view, event="view", members=tuple(members.split()), after=after)


def called(rows: list[Row], names: dict[int, str]) -> list[Row]:
    """The same log with other names for its views."""
    return [msgspec.structs.replace(row, view=names.get(int(row.view), row.view)) for row in rows]


NAMES_OF_VIEWS = {1: "ring 7", 2: "ring 3"}


def test_views_may_be_called_anything() -> None:
    good = called(log("p: 1/a1 1/a2 2/a3", "q: 1/a1 1/a2 2/a3"), NAMES_OF_VIEWS)
    bad = called(log("p: 1/a1 1/a2 2/a3", "q: 1/a1 2/a2 2/a3"), NAMES_OF_VIEWS)

    assert {found.verdict for found in verdicts(good).values()} == {HOLDS}
    found = verdicts(bad)
    assert found["virtual_synchrony"].witness["views"] == ["ring 7", "ring 3"]
    assert found["agreement"].witness["view"] == "ring 7"


def test_views_that_each_member_numbers_for_itself_are_aligned_by_their_members() -> None:
    rows = [
        *log("p: 4/x1 5/p1 6/y1 7/p2", "q: 1/p1 2/p2"),
        installed("p", 4, "p"),
        installed("p", 5, "p q"),
        installed("p", 6, "p"),
        installed("p", 7, "p q"),
        installed("q", 1, "p q"),
        installed("q", 2, "q p"),
    ]
    late = [*rows[:-1], installed("q", 2, "q")]

    # q was in both views of p and q, and saw nothing of the one between them.
    assert {found.verdict for found in verdicts(rows).values()} == {HOLDS}
    found = verdicts(late)["virtual_synchrony"]
    assert found.verdict == VIOLATED
    assert set(found.witness["views"]) == {"occurrence 2 of {p q}", "{q}"}


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (
            [*log("p: 1/a1 2/a2", "q: 1/a1 2/a2"), installed("p", 1, "p q")],
            "the log has no member list of view 2 of p",
        ),
        (
            [
                *called(log("p: 1/a1 2/a2", "q: 1/a1 2/a2"), NAMES_OF_VIEWS),
                installed("p", "x", after=1),
                installed("p", "y", after=1),
            ],
            "it is unclear whether p had view x or y first",
        ),
        (
            [
                *called(log("p: 1/a1 2/a2", "q: 1/a1 2/a2"), NAMES_OF_VIEWS),
                installed("p", "x"),
            ],
            "it is unclear when p had view x: nothing was delivered in it, and its row has no",
        ),
        (
            called(log("p: 1/a1 2/a2", "q: 2/a1 1/a2"), NAMES_OF_VIEWS),
            "the members had these views in different orders",
        ),
    ],
)
def test_views_that_cannot_be_compared_leave_what_rests_on_them_inconclusive(
    rows: list[Row], why: str
) -> None:
    found = verdicts(rows)

    for name in ("agreement", "virtual_synchrony"):
        assert found[name].verdict == INCONCLUSIVE
        assert why in found[name].reason
    assert found["total_order"].verdict == HOLDS


def test_survivors_must_agree_on_a_view_that_they_went_on_from() -> None:
    rows = log("p: 1/a1 1/a2 2/a3", "q: 1/a1 2/a3", end=False)
    found = verdicts(rows)["agreement"]

    assert found.verdict == VIOLATED
    assert found.witness == {"view": 1, "messages": [["a", "2"]], "members": ["p", "q"]}


def test_a_crashed_member_owes_nothing_in_its_last_view() -> None:
    rows = [*log("p: 1/a1 1/a2", "q: 1/a1 1/a2", "r: 1/a1")]
    rows = [row for row in rows if not (row.member == "r" and row.event == "end")]
    rows.append(Row("r", 0, event="crash"))

    assert verdicts(rows)["agreement"].verdict == HOLDS


def test_a_difference_in_the_last_view_counts_only_if_the_logs_are_complete() -> None:
    rows = log("p: a1 a2", "q: a1", end=False)

    assert verdicts(rows)["agreement"].verdict == INCONCLUSIVE
    assert verdicts(rows, complete=True)["agreement"].verdict == VIOLATED
    assert verdicts(log("p: a1 a2", "q: a1"))["agreement"].verdict == VIOLATED


def test_a_second_delivery_is_named_with_both_positions() -> None:
    found = verdicts(log("p: a1 b1 a1", "q: a1 b1"))["no_duplication"]

    assert found.witness == {"members": ["p"], "messages": [["a", "1"]], "positions": [1, 3]}


def test_a_log_and_its_copy_are_no_second_delivery() -> None:
    rows = [*log("p: a1 b1", "q: a1 b1")]
    found = verdicts([*rows, *rows])["no_duplication"]

    assert (found.verdict, found.witness) == (INCONCLUSIVE, {})
    assert "doubled in the log of p" in found.reason


def test_creation_is_asked_for_only_with_a_send_log() -> None:
    rows = [*log("p: a1 a2"), Row("a", 1, 0, "a", "1", "send")]
    found = verdicts(rows)["no_creation"]

    assert "no_creation" not in verdicts(log("p: a1 a2"))
    assert found.witness == {"members": ["p"], "messages": [["a", "2"]], "positions": [2]}


def test_a_senders_order_is_its_send_log_or_else_its_numbers() -> None:
    by_number = verdicts(log("p: a2 a1"))["sender_fifo"]
    sends = [Row("a", 1, 0, "a", "2", "send"), Row("a", 2, 0, "a", "1", "send")]
    by_log = verdicts([*log("p: a2 a1"), *sends])["sender_fifo"]
    unknown = verdicts(log("p: ax ay"))["sender_fifo"]

    assert by_number.witness == {"members": ["p"], "messages": [["a", "2"], ["a", "1"]]}
    assert by_log.verdict == HOLDS
    assert unknown.verdict == INCONCLUSIVE


def test_a_message_belongs_to_one_view() -> None:
    found = verdicts(log("p: 1/a1 1/a2", "q: 1/a1 2/a2"))["virtual_synchrony"]

    assert found.witness == {"messages": [["a", "2"]], "views": [1, 2], "members": ["p", "q"]}


def test_a_message_is_delivered_in_the_view_it_was_sent_in() -> None:
    rows = [*log("p: 2/a1", "q: 2/a1"), Row("a", 1, 1, "a", "1", "send")]
    rows.append(Row("p", 0, 1, event="view"))
    found = verdicts(rows, names=("virtual_synchrony", "sending_view"))

    assert found["virtual_synchrony"].verdict == HOLDS
    assert found["sending_view"].witness == {
        "messages": [["a", "1"]],
        "views": [1, 2],
        "members": ["p"],
    }
    assert "sending_view" not in verdicts(rows)


def test_what_only_a_crashed_member_delivered_otherwise_breaks_the_uniform_promises_only() -> None:
    rows = [*log("p: 1/z1 1/z2 2/a1 2/b1", "q: 1/z1 1/z2 2/b1 2/a1", end=False)]
    rows.append(Row("q", 0, event="crash"))
    found = verdicts(rows, names=("total_order", "uniform_total_order"))
    apart = [*log("p: 1/z1 2/a1", "q: 1/z1 3/a1", end=False), Row("q", 0, event="crash")]

    assert found["total_order"].verdict == HOLDS
    assert found["total_order"].judged == {"members": 2, "views": 1, "messages": 2}
    assert found["uniform_total_order"].witness["members"] == ["q", "p"]
    assert verdicts(apart)["virtual_synchrony"].verdict == HOLDS


def test_what_a_crashed_member_delivered_others_have_too_where_the_log_is_safe() -> None:
    rows = log("p: 1/z1 2/a1", "q: 1/z1 2/a1", "r: 1/z1 1/b1", end=False)
    rows.append(Row("r", 0, event="crash"))
    safe = Row("p", 0, event="safe")

    assert "uniform_agreement" not in verdicts(rows)
    found = verdicts([*rows, safe])["uniform_agreement"]
    assert found.verdict == VIOLATED
    assert found.witness == {"view": 1, "messages": [["b", "1"]], "members": ["r", "p"]}
    assert verdicts([*rows, safe])["uniform_total_order"].verdict == HOLDS
    rows[3:5] = log("q: 1/z1 1/b1", end=False)
    assert verdicts([*rows, safe])["uniform_agreement"].witness["members"] == ["q", "p"]
    assert (
        verdicts(log("p: 1/z1 2/a1", "r: 1/z1"), names=("uniform_agreement",))[
            "uniform_agreement"
        ].verdict
        == HOLDS
    )


def test_a_crashed_member_is_judged_for_the_views_that_it_went_on_from() -> None:
    rows = [*log("p: 1/a1 1/b1 2/c1", "q: 1/b1 1/a1 2/c1", end=False), Row("q", 0, event="crash")]
    apart = [*log("p: 1/z1 1/a1", "q: 1/z1 2/a1 3/c1"), Row("q", 0, event="crash")]

    assert verdicts(rows)["total_order"].verdict == VIOLATED
    assert verdicts(apart)["virtual_synchrony"].witness["messages"] == [["a", "1"]]


def test_each_verdict_says_over_how_many_it_was_judged() -> None:
    rows = log("p: 1/a1 1/b1 2/a2", "q: 1/a1 1/b1 2/a2", "r: 1/a1")
    rows += [Row("a", n, 1, "a", str(n), "send") for n in (1, 2)]
    rows.append(Row("b", 1, 0, "b", "1", "send"))
    found = verdicts(rows, names=(*NAMES,))

    assert {name: tuple(promise.judged.values()) for name, promise in found.items()} == {
        "total_order": (2, 2, 3),
        "agreement": (2, 2, 3),
        "no_duplication": (3, 2, 3),
        "no_creation": (3, 2, 3),
        "sender_fifo": (2, 2, 2),
        "virtual_synchrony": (3, 2, 3),
        "gap_freeness": (2, 2, 2),
        "state_cut": (0, 0, 0),
        "uniform_total_order": (2, 2, 3),
        "uniform_agreement": (3, 1, 1),
        "sending_view": (3, 2, 2),
    }


@pytest.mark.parametrize(
    ("name", "rows", "why"),
    [
        ("total_order", log("p: a1 b1", "q: a1"), "the same two messages"),
        ("uniform_total_order", log("p: a1 b1", "q: a1"), "the same two messages"),
        ("uniform_agreement", log("p: 1/a1", "q: 1/a1"), "from which another one went on"),
        ("agreement", log("p: a1 b1"), "went on together"),
        ("agreement", log("p: a1 b1", "q: a1 b1", end=False), "went on together"),
        ("sender_fifo", log("p: a1 b1", "q: a1 b1"), "two messages of one sender"),
        ("gap_freeness", log("p: a1 b1", "q: a1 b1"), "two messages of one sender"),
        ("virtual_synchrony", log("p: 1/a1 1/b1", "q: 1/a1 1/b1"), "one view to another"),
        ("virtual_synchrony", log("p: 1/a1 2/b1", "q: 1/c1 2/d1"), "one view to another"),
        ("sending_view", [*log("p: 1/a1"), Row("b", 1, 1, "b", "1", "send")], "which view"),
    ],
)
def test_a_property_that_nobody_was_there_to_be_judged_by_is_no_pass(
    name: str, rows: list[Row], why: str
) -> None:
    found = verdicts(rows, names=(name,))[name]

    assert found.verdict == INCONCLUSIVE
    assert why in found.reason
    assert not all(found.judged[kind] for kind in ("members", "messages"))


def test_a_number_that_is_skipped_is_named() -> None:
    found = verdicts(log("p: a1 a2 a5"))["gap_freeness"]

    assert found.witness == {"members": ["p"], "messages": [["a", "3"]]}


_GIVEN = "p: 1/a1 1/b1 2/a2 2/b2 2/a3 3/b3"
"""p is in the group from the beginning; what others take of it is in their states."""


@pytest.mark.parametrize(
    "other",
    [
        "q: 2/=p2 2/a2 2/b2 2/a3 3/b3",
        "q: 1/a1 2/=p4 2/a3 3/b3",
        "q: 1/a1 1/b1 2/a2 2/=p5 3/b3",
        "q: 1/a1 1/b1 2/=r3 2/a3 3/b3\nr: 2/=p2 2/a2 2/b2 2/a3 3/b3",
    ],
)
def test_what_is_in_a_state_explains_a_hole_in_the_deliveries(other: str) -> None:
    found = verdicts(log(_GIVEN, *other.splitlines()))

    assert {promise.verdict for promise in found.values()} == {HOLDS}
    assert "state_cut" in found


@pytest.mark.parametrize(
    ("other", "what", "key"),
    [
        ("q: 2/=p3 2/a2 2/b2 2/a3 3/b3", TWICE, ["a", "2"]),
        ("q: 1/a1 1/b1 2/=p1 2/a2 2/b2 2/a3 3/b3", LOST, ["b", "1"]),
        ("q: 2/=p1 2/a2 2/b2 2/a3 3/b3", NEITHER, ["b", "1"]),
    ],
)
def test_a_message_in_the_state_and_delivered_or_in_neither_is_named(
    other: str, what: str, key: list[str]
) -> None:
    found = verdicts(log(_GIVEN, other))["state_cut"]

    assert found.verdict == VIOLATED
    assert (found.witness["found"], found.witness["messages"]) == (what, [key])


@pytest.mark.parametrize("end", [True, False])
def test_a_message_that_no_state_contains_is_missing_amid_a_view(end: bool) -> None:
    found = verdicts(log(_GIVEN, "q: 1/a1 1/b1 2/=p3 2/a3 3/b3", end=end))

    assert found["agreement"].witness["messages"] == [["b", "2"]]
    assert found["gap_freeness"].witness["messages"] == [["b", "2"]]


@pytest.mark.parametrize(
    "rows",
    [
        log(_GIVEN, "q: 2/=p9 2/a2"),
        log(_GIVEN, "q: 2/=r1 2/a2"),
        log(_GIVEN, "q: 2/=r3 2/a2", "r: 2/=q2 2/a2 2/b2"),
    ],
)
def test_a_state_whose_contents_no_log_has_leaves_what_rests_on_it_open(rows: list[Row]) -> None:
    found = verdicts([*rows, Row("p", 0, event="safe")])

    assert {found[name].verdict for name in NEEDS_STATES} == {INCONCLUSIVE}
    assert all(found[name].reason for name in NEEDS_STATES)
    assert found["no_duplication"].verdict == HOLDS


def test_a_log_without_states_is_not_judged_by_them() -> None:
    rows = log(_GIVEN, "q: 1/a1 1/b1 2/a2 2/b2 2/a3 3/b3")

    assert "state_cut" not in verdicts(rows)
    found = verdicts(rows, names=("state_cut",))["state_cut"]
    assert found.verdict == INCONCLUSIVE
    assert "anybody took a state" in found.reason


def test_a_joiner_that_has_delivered_nothing_yet_owes_nothing() -> None:
    found = verdicts(log(_GIVEN, "q: 3/=p1", end=False), names=("state_cut",))["state_cut"]

    assert found.verdict == INCONCLUSIVE
    assert "has delivered one" in found.reason


def test_missing_positions_never_pass() -> None:
    rows = [row for row in log("p: a1 a2 a3", "q: a1 a2 a3") if row.position != 2]
    found = verdicts(rows)

    assert {promise.verdict for promise in found.values()} == {INCONCLUSIVE}


def test_a_log_that_ends_before_its_end_record_never_passes() -> None:
    rows = [*log("p: a1 a2", end=False), Row("p", 3, event="end")]

    assert HOLDS not in {promise.verdict for promise in verdicts(rows).values()}


def test_no_rows_never_pass() -> None:
    assert {promise.verdict for promise in verdicts([]).values()} == {INCONCLUSIVE}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_the_three_formats_say_the_same(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    rows = [
        {"member": m, "view": v, "sender": "a", "message": f"{v}", "position": v}
        for m in "pq"
        for v in (1, 2)
    ]
    if suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif suffix == ".jsonl":
        import json

        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    found = check_deliveries([tmp_path])

    assert found.problems == []
    assert (found.facts.members, found.facts.messages, found.facts.rows) == (2, 2, 4)
    assert {promise.verdict for promise in found.properties} == {HOLDS}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no row"),
        ("{", "truncated last line: not a delivery record"),
        ('{"member":"p","position":-1,"sender":"a","message":1}\n', "not a delivery record"),
        ('{"member":"p","position":0,"sender":"a","message":1}\n', "positions count from 1"),
        ('{"member":"p","position":1,"sender":"a"}\n', "needs sender and message"),
        ('{"member":"p","position":1,"event":"dance"}\n', "unknown event"),
        ("x" * (1 << 20) + "\n", "longer than"),
    ],
)
def test_what_is_no_row_is_put_aside_and_nothing_holds(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "log.jsonl").write_text(text)
    found = check_deliveries([tmp_path])

    assert reason in found.problems[0].reason
    assert HOLDS not in {promise.verdict for promise in found.properties}


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b"p,a,2,1", "no newline"),  # of p,a,2,12
        (b"p,a,2,b,2\n", "more values"),  # of a message "2,b"
        (b"p,a,\xe9,2\np,a,\xe8,3\n", "not UTF-8"),  # two messages
        (b'p,a,"2,2\np,a,3,3\n', "not CSV"),  # whose rest would be one message
    ],
)
def test_a_row_of_csv_that_may_be_another_one_is_put_aside(
    tmp_path: Path, rest: bytes, reason: str
) -> None:
    (tmp_path / "log.csv").write_bytes(b"member,sender,message,position\np,a,1,1\n" + rest)
    found = check_deliveries([tmp_path])

    assert reason in found.problems[0].reason
    assert {promise.verdict for promise in found.properties} == {INCONCLUSIVE}


def test_an_unknown_property_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="choose from total_order"):
        judged(answer(log("p: a1")), [], ["speed"], False)
