"""What TLC said earlier about exactly the same question, so that it need not be asked again.

Law of this file: the key covers everything that the answer depends on; an entry that cannot be
read is no entry; only answers are kept, never failures to answer.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from .output import READER_VERSION, ActionCoverage, TlcState
from .tlc import ERROR, Options, TlcResult

FOLDER: Final = Path(".raincheck-cache")

_FORMAT: Final = 1


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file's contents."""
    return sha256(path.read_bytes()).hexdigest()


def key_of(
    files: Iterable[Path], cfg: str, jar_hash: str, java_major: int, options: Options
) -> str:
    """Return the key of a question: the configuration's text, the files that the module stands on,
    and all that reads them.

    Neither times nor places count: the same specifications in another folder give the same key.
    """
    parts = [str(_FORMAT), str(READER_VERSION), jar_hash, str(java_major)]
    parts += [sha256(cfg.encode()).hexdigest()]
    parts += [f"{options.workers} {options.seed} {options.fingerprint} {options.coverage}"]
    parts += [str(options.check_deadlock)]
    parts += [f"{path.name} {hash_of(path)}" for path in sorted(files, key=lambda each: each.name)]
    return sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ResultCache:
    """A folder of answers, one file each, named by their keys."""

    folder: Path = FOLDER

    def get(self, key: str) -> TlcResult | None:
        """Return the answer kept under the key, or None."""
        try:
            return result_from(json.loads(self._path(key).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def put(self, key: str, result: TlcResult) -> None:
        """Keep an answer. A folder that cannot be written makes the next run slower, no worse."""
        if result.verdict == ERROR:
            return
        path = self._path(key)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_text(json.dumps(as_json(result)), encoding="utf-8", newline="\n")
                os.replace(draft, path)
            finally:
                draft.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / "tlc" / key[:2] / f"{key}.json"


def as_json(result: TlcResult) -> dict[str, object]:
    """Return the result as JSON can carry it; `result_from` is the way back."""
    names = (name for name in TlcResult.__dataclass_fields__ if name not in ("trace", "coverage"))
    trace = [
        {
            "number": state.number,
            "action": state.action,
            "arguments": state.arguments,
            "location": state.location,
            "variables": state.raw,
        }
        for state in result.trace
    ]
    coverage = [[each.action, each.location, each.distinct, each.total] for each in result.coverage]
    return {name: getattr(result, name) for name in names} | {"trace": trace, "coverage": coverage}


def result_from(entry: dict[str, object]) -> TlcResult:
    """Return the result that `as_json` wrote; raise ValueError, TypeError or KeyError if it did
    not write this."""
    fields = dict(entry)
    states, coverage = fields.pop("trace"), fields.pop("coverage")
    if not isinstance(states, list) or not isinstance(coverage, list):
        raise TypeError("a trace and a coverage are lists")
    for name in ("candidates", "warnings"):
        value = fields[name]
        if not isinstance(value, list):
            raise TypeError(f"{name} must be a list")
        fields[name] = tuple(value)
    trace = tuple(
        TlcState(
            number=int(each["number"]),
            action=str(each["action"]),
            location=str(each["location"]),
            text="\n".join(f"/\\ {name} = {value}" for name, value in each["variables"].items()),
            arguments=str(each["arguments"]),
        )
        for each in states
    )
    covered = tuple(ActionCoverage(str(a), str(b), int(c), int(d)) for a, b, c, d in coverage)
    return TlcResult(**fields, trace=trace, coverage=covered)  # type: ignore[arg-type]
