"""The counterexamples of a check, kept in its evidence folder for machines and for people."""

import json
from pathlib import Path

from raincheck.conformance.cases.case import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence
from raincheck.conformance.report.sequence import as_steps, as_text
from raincheck.conformance.report.sequencesvg import as_page, as_svg

from .resultcache import as_json, result_from
from .story import diagram_of
from .tlc import TlcResult

FOLDER = "counterexamples"


def write_counterexample(evidence: Evidence, case: Case, result: TlcResult) -> None:
    """Write the trace for machines, and its story as text, picture and page."""
    base = f"{FOLDER}/{case.name}"
    evidence.write_json(f"{base}.json", as_json(result) | {"case": case.name})
    diagram = diagram_of(case, result)
    evidence.write_text(f"{base}.txt", f"{as_text(diagram)}\nStep by step\n\n{as_steps(diagram)}")
    evidence.write_text(f"{base}.svg", as_svg(diagram))
    evidence.write_text(f"{base}.html", as_page(diagram))


def read_counterexample(path: Path) -> TlcResult:
    """Return the result that a check wrote."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        entry.pop("case", None)
        return result_from(entry)
    except OSError as error:
        raise UsageError(
            f"Cannot read {path} ({error.strerror}): name a counterexample."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path} is no counterexample of raincheck check.") from error
