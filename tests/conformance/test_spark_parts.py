"""A delivery log that is split: its parts say together what the file says."""

from pathlib import Path
from random import Random

import pytest

from raincheck.conformance.deliveries import logs
from raincheck.conformance.spark.parts import END, Lines, Part, lines_numbered, parts_of, told_of
from raincheck.conformance.trace.batches import Problem

LONGEST = 200


def read(part: Part, *, skipped: bool = False) -> tuple[list[logs.Row], list[str]]:
    """What a worker says of a part; `skipped`: it does not say how many lines it has."""
    opened: list[Lines] = []

    def opens(path: Path) -> Lines:
        opened.append(Lines(path, part))
        return opened[0]

    problems: list[Problem] = []
    rows = [*logs.read_rows(Path(part.name), problems.append, opens, part=True)]
    return rows, [*told_of(part, 0 if skipped else opened[0].lines, problems)]


def some_log(random: Random) -> bytes:
    """Rows, and between them lines that are none, too long or empty; the last may be torn."""
    lines = [
        random.choice(
            [
                b'{"member":"p","sender":"a","message":%d,"position":%d}' % (at, at),
                b"{" + b" " * random.choice([0, 1, LONGEST - 2, LONGEST - 1, 3 * LONGEST]),
                b"",
            ]
        )
        for at in range(1, random.randint(2, 40))
    ]
    return b"\n".join(lines) + random.choice([b"\n", b"", b"\n\n", b"{"])


@pytest.mark.parametrize("planted", [False, True])
def test_parts_say_together_what_the_file_says(
    planted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_LINE", LONGEST)
    differing = numbers = 0
    for seed in range(40):
        random = Random(seed)
        path = tmp_path / "log.jsonl"
        path.write_bytes(some_log(random))
        problems: list[Problem] = []
        rows = [*logs.read_rows(path, problems.append)]
        parts = parts_of([path], random.choice([5, 60, LONGEST, 1000]))
        found = [read(part, skipped=planted) for part in parts]
        numbers += len(parts)

        assert [row for mine, _ in found for row in mine] == rows, seed
        told = lines_numbered(text for _, mine in found[::-1] for text in mine)
        differing += told != sorted(problems)

    assert numbers > 1000
    assert (differing > 10) == planted
    assert differing == 0 or planted


def test_what_depends_on_the_lines_before_is_one_part(tmp_path: Path) -> None:
    for name in ("a.csv", "b.parquet", "c.jsonl", "empty.jsonl"):
        (tmp_path / name).write_bytes(b"" if "empty" in name else b"x" * 10)

    parts = parts_of(sorted(tmp_path.iterdir()), 5)

    assert [(Path(each.name).name, each.start, each.stop) for each in parts] == [
        ("a.csv", 0, END),
        ("b.parquet", 0, END),
        ("c.jsonl", 0, 5),
        ("c.jsonl", 5, END),
        ("empty.jsonl", 0, END),
    ]
    assert [each.whole for each in parts] == [True, True, False, False, True]


def test_a_part_of_a_file_that_is_gone_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "gone.jsonl"
    problems: list[Problem] = []
    assert [*logs.read_rows(path, problems.append)] == []

    parts = [Part(str(path), 0, 5), Part(str(path), 5, END)]
    told: list[str] = []
    for part in parts:
        found: list[Problem] = []

        def opens(path: Path, part: Part = part) -> Lines:
            return Lines(path, part)

        assert [*logs.read_rows(path, found.append, opens, part=True)] == []
        told += told_of(part, 0, found)

    assert lines_numbered(told) == problems
