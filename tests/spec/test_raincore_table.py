"""Raincore's page shows, per property and assumption, what the catalog says that TLC must find."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from raincheck.conformance.cases.tables import HOLDS, Case, load_cases

PAGE = Path(__file__).parents[2] / "docs" / "protocols" / "raincore.md"

COLUMNS = ("still", "crash", "recover", "forget", "early", "false", "lost", "split", "join")
ROWS = (
    *("ConsistentHistory", "FenceUnique", "OneLock", "OneEater", "OneLiveToken", "SevenStates"),
    *("HeldByAll", "NoHoles", "MajorityAsked", "Lemma31", "Lemma32", "Lemma33"),
    *("AgreedOrder", "Integrity", "Fifo"),
    *("Agreement", "GoesOn", "JoinCompletes", "LoneServes", "Delivered", "Rounds3", "Rounds4"),
)

HOLES = {
    "raincore-f6-seed": ("split", True),
    "raincore-f7-seed": ("early", True),
    "raincore-f8-seed": ("join", True),
}
"""Cases of holes that are in a column as well, and whether they are of the text as it is."""

NOTHING_TO_ASK = {
    *(("JoinCompletes", column) for column in ("still", "lost")),
    *(("LoneServes", column) for column in ("still", "early", "false", "lost", "split")),
    *((row, "still") for row in ("ConsistentHistory", "HeldByAll", "Lemma32", "NoHoles")),
    *((row, "still") for row in ("SevenStates", "MajorityAsked", "Agreement", "GoesOn")),
    ("MajorityAsked", "join"),
}
"""Nobody joins in that column; nobody is ever alone; the list never changes; nobody starves."""

_NAME = re.compile(rf"raincore-({'|'.join(COLUMNS)})(-seed)?(?:-.*)?")


def place(case: Case) -> tuple[str, bool] | None:
    """In which column of which table a case is: as the text has it, or repaired."""
    found = _NAME.fullmatch(case.name)
    return (found[1], found[2] is not None) if found else HOLES.get(case.name)


def table(cases: Iterable[Case], as_written: bool) -> str:
    """One table, in Markdown: "no" where a counterexample is known, "yes" where all cases hold.

    A case says nothing of what it never exercises.
    """
    cells: dict[tuple[str, str], str] = {}
    for case in cases:
        where = place(case)
        if where is None or where[1] != as_written:
            continue
        for name in case.properties:
            if case.expected in (HOLDS, name) and name not in case.idle:
                cell = (name.removeprefix("MC"), where[0])
                cells[cell] = "no" if case.expected == name else cells.get(cell, "yes")
    lines = [
        f"| {'as written' if as_written else 'repaired'} | {' | '.join(COLUMNS)} |",
        f"|---|{'---|' * len(COLUMNS)}",
    ]
    for row in ROWS:
        # As written there are no majorities.
        nothing = {(row, column) for column in COLUMNS if as_written and row == "MajorityAsked"}
        words = (
            cells.get((row, column), "–" if (row, column) in NOTHING_TO_ASK | nothing else "·")
            for column in COLUMNS
        )
        lines.append(f"| `{row}` | {' | '.join(words)} |")
    return "\n".join(lines)


@pytest.mark.parametrize("as_written", [True, False], ids=["as written", "repaired"])
def test_the_page_has_the_table_of_the_catalog(as_written: bool) -> None:
    wanted = table((case for case in load_cases() if case.protocol == "raincore"), as_written)

    assert wanted in PAGE.read_text()


def test_one_counterexample_outweighs_what_holds_in_smaller_cases() -> None:
    def case(name: str, properties: tuple[str, ...], expected: str) -> Case:
        return Case(name, "raincore", PAGE, "", properties, expected, "full", "R2")

    cases = [
        case("raincore-false", ("OneEater", "OneLock"), HOLDS),
        case("raincore-false-one-eater", ("OneEater",), "OneEater"),
        case("raincore-false-more", ("OneEater",), HOLDS),
        case("raincore-false-seed", ("OneLock",), "OneLock"),
        case("raincore-f6-repaired", ("Fifo",), HOLDS),
    ]

    repaired, written = table(cases, False), table(cases, True)

    assert "| `OneEater` | · | · | · | · | · | no | · | · |" in repaired
    assert "| `OneLock` | · | · | · | · | · | yes | · | · |" in repaired
    assert "| `OneLock` | · | · | · | · | · | no | · | · |" in written
    assert "yes" not in written
    assert place(cases[-1]) is None
