"""The counterexamples of a check, kept in its evidence folder for machines and for people."""

import json
from pathlib import Path

from .catalog import Case
from .errors import UsageError
from .evidence import Evidence
from .resultcache import as_json, result_from
from .tlc import TlcResult

FOLDER = "counterexamples"


def write_counterexample(evidence: Evidence, case: Case, result: TlcResult) -> None:
    """Write the trace as JSON."""
    evidence.write_json(f"{FOLDER}/{case.name}.json", as_json(result) | {"case": case.name})


def read_counterexample(path: Path) -> TlcResult:
    """Return the result that a check has written."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        entry.pop("case", None)
        return result_from(entry)
    except OSError as error:
        raise UsageError(f"Cannot read {path} ({error.strerror}).") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path} is no counterexample of raincheck check.") from error
