"""Files of other systems' logs as rows: what is no line of the format goes into quarantine."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from raincheck.conformance.deliveries.logs import Row, row_of
from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.inputs import Opens, files_in, opened

from .found import Found, Importer, Read, Refused

MAX_LINE: Final = 1 << 24
NO_END: Final = "it does not end with a newline, so it may be a part of a longer line"


def log_files(paths: Iterable[Path], importer: Importer) -> list[Path]:
    """Return each file given and each log in each folder given, sorted, once."""
    kind = f"{importer.name} log"
    return files_in(paths, importer.suffixes, kind, "name the folder with the logs")


def read_imported(
    path: Path,
    importer: Importer,
    report: Report,
    note: Callable[[Found], None],
    opens: Opens = opened,
) -> Iterator[Row]:
    """Yield the file's rows; report lines that are none, and note what else the file says."""
    problems = 0
    last: tuple[int, bool] = (0, True)

    def refuse(line: int, reason: str) -> None:
        nonlocal problems
        problems += 1
        number, ended = last
        cut = "" if ended or line != number else "truncated last line: "
        report(Problem(str(path), line, cut + reason))

    def lines() -> Iterator[tuple[int, str]]:
        nonlocal last
        with opens(path) as file:
            number = 0
            while text := file.readline(MAX_LINE):
                number += 1
                whole = text.endswith(b"\n")
                last = (number, whole or len(text) == MAX_LINE)
                if not whole and len(text) == MAX_LINE:
                    refuse(number, f"the line is longer than {MAX_LINE} bytes")
                    while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                        pass
                    continue
                try:
                    decoded = text.decode()
                except UnicodeDecodeError:
                    refuse(number, "not UTF-8")
                    continue
                kept = decoded.strip()
                # "deliver B 1" may have been "deliver B 17"; an object says itself where it ends.
                if kept and not whole and not (kept[0] == "{" and kept[-1] == "}"):
                    refuse(number, NO_END)
                elif kept:
                    yield number, kept

    rows = 0
    try:
        for found in importer.read(lines(), path.stem):
            if isinstance(found, Read):
                try:
                    row = row_of(found.columns)
                except ValueError as error:
                    refuse(found.line, str(error))
                    continue
                rows += 1
                yield row
            elif isinstance(found, Refused):
                refuse(found.line, found.reason)
            else:
                note(found)
    except OSError as error:
        refuse(last[0] + 1, f"cannot be read any further ({error.strerror or error})")
    if not rows and not problems:
        refuse(1, f"nothing of a {importer.name} log: the file is empty or holds no record")
