"""The evidence folder of a run, for machines and for people.

Law of this file: a folder with a `summary.json` is complete, one with a file `INCOMPLETE` is not,
and no folder ever has both, however the run ends; a single rename makes a folder complete.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import Outcome, Result, plain
from raincheck.conformance.report.pages import junit_xml, report_html
from raincheck.conformance.ui import Ui

from .checksum import CHECKSUM, FILES, checksum_of
from .identity import digest
from .store import hash_of

__all__ = ["Evidence", "Outcome", "Result", "Ui", "as_json_text", "reserve_folder"]

INCOMPLETE = "INCOMPLETE"
SUMMARY = "summary.json"
RUNS = "runs"
LATEST = "latest"


def as_json_text(obj: object) -> str:
    """Return a value as JSON, indented, so that people can read and compare it."""
    return json.dumps(plain(obj), indent=2, ensure_ascii=False) + "\n"


def reserve_folder(verb: str, runs: Path) -> Path:
    """Make `runs/<time>-<verb>/`, a folder that no other run uses, and return its path."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for attempt in range(1, 1000):
        suffix = "" if attempt == 1 else f"-{attempt}"
        folder = runs / f"{stamp}-{verb}{suffix}"
        with suppress(FileExistsError), _writing(folder):
            runs.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            return folder
    raise UsageError(f"No free folder name for this run in {runs}: name one with --out.")


class Evidence:
    """The evidence of one run. Files appear whole or not at all."""

    def __init__(self, verb: str, out: Path) -> None:
        self.verb = verb
        self.folder = Path(out)
        self._written: dict[str, str] = {}
        """The hash of each file."""
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._sources = digest()
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            # An earlier run's summary in the same folder must not survive the start of this run.
            for stale in (SUMMARY, "junit.xml", "report.html"):
                (self.folder / stale).unlink(missing_ok=True)
            self._replace(INCOMPLETE, f"raincheck {verb} was started here and has not finished.\n")

    def write_text(self, name: str, text: str) -> Path:
        """Write a file of the folder; the name may have sub-folders. A `report.html` is kept."""
        path = self.folder / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise ValueError(f"{name} lies outside the evidence folder")
        with _writing(self.folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._replace(name, text)
        self._written[name] = sha256(text.encode("utf-8")).hexdigest()
        return path

    def write_json(self, name: str, obj: object) -> Path:
        """Write a value as JSON, indented, so that people can read and compare it."""
        return self.write_text(name, as_json_text(obj))

    def take_over(self, folder: Path) -> None:
        """Count what others have written into a folder of this one as evidence, too."""
        with _writing(self.folder):
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    name = path.relative_to(self.folder).as_posix()
                    self._written[name] = hash_of(path)

    def so_far(self, results: Sequence[Result]) -> None:
        """Keep what was found so far, in the mark of the unfinished run: a failure that was found
        before an interruption is not forgotten.
        """
        text = f"raincheck {self.verb} was started here and has not finished."
        found = {"unfinished": text, "results": [result.as_json() for result in results]}
        with _writing(self.folder):
            self._replace(INCOMPLETE, as_json_text(found))

    def finish(self, outcome: Outcome) -> Path:
        """Write junit.xml, report.html and finally summary.json; point `runs/latest` here."""
        self.write_text("junit.xml", junit_xml(outcome))
        if "report.html" not in self._written:
            self.write_text("report.html", report_html(outcome, self._started))
        run = {
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self._clock, 3),
            "sources": self._sources,
            FILES: dict(self._written),
        }
        summary = plain(outcome.as_json() | {"run": run})
        summary["run"][CHECKSUM] = checksum_of(summary)
        self.write_json(INCOMPLETE, summary)
        with _writing(self.folder):
            os.replace(self.folder / INCOMPLETE, self.folder / SUMMARY)
        self._point_latest()
        return self.folder

    def _replace(self, name: str, text: str) -> None:
        path = self.folder / name
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(text, encoding="utf-8", newline="\n")
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def _point_latest(self) -> None:
        """Point `runs/latest` here if this is a folder of `runs/`, and not one that --out put
        elsewhere.
        """
        folder = self.folder.absolute()
        if folder.parent.name != RUNS:
            return
        draft = folder.parent / f".{LATEST}.{os.getpid()}"
        # A file system without links, or a real file called latest, is no reason to fail a run.
        with suppress(OSError):
            draft.unlink(missing_ok=True)
            draft.symlink_to(folder.name, target_is_directory=True)
            try:
                os.replace(draft, folder.parent / LATEST)
            finally:
                draft.unlink(missing_ok=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn an error of the file system into a sentence."""
    try:
        yield
    except FileExistsError as error:
        if folder.is_dir():
            raise
        raise UsageError(f"{folder} is not a folder: choose another with --out.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"Cannot write the evidence in {folder} ({reason}): choose a folder with --out."
        ) from error
