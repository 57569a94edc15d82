"""The findings of an audit for tools: SARIF 2.1.0, and annotations of GitHub's checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from raincheck import __version__
from raincheck.conformance.outcome import INCONCLUSIVE, Outcome, Result

VERSION: Final = "2.1.0"


def sarif_json(outcome: Outcome) -> str:
    """Return each result that is not as expected, with file and line; first what is missing."""
    surprises = [result for result in outcome.results if not result.as_expected]
    kinds = sorted({_rule(result) for result in surprises})
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "raincheck",
                "version": __version__,
                "rules": [{"id": kind} for kind in kinds],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not outcome.head.get("incomplete"),
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": line}} for line in outcome.headline
                ],
            }
        ],
        "properties": {
            "verdict": outcome.verdict,
            "incomplete": outcome.head.get("incomplete", []),
            "reproduce": outcome.reproduce,
        },
        "results": [
            {
                "ruleId": _rule(result),
                "level": _level(result),
                "message": {"text": _sentence(result)},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": _uri(result)},
                            "region": {"startLine": _line(result)},
                        }
                    }
                ],
            }
            for result in surprises
        ],
    }
    return json.dumps({"version": VERSION, "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def workflow_commands(outcome: Outcome) -> list[str]:
    """Return a workflow command for each result that is not as expected."""
    return [
        f"::{_level(result)} file={_escaped(str(result.figures.get('file', '')), property=True)},"
        f"line={_line(result)}::{_escaped(_sentence(result))}"
        for result in outcome.results
        if not result.as_expected
    ]


def _rule(result: Result) -> str:
    """Return the kind of the result: "property", "link", "step check"."""
    first, _, rest = result.name.partition(" ")
    return first if first in ("property", "link", "assumption", "hole", "step") else rest and first


def _level(result: Result) -> str:
    return "warning" if result.verdict == INCONCLUSIVE else "error"


def _sentence(result: Result) -> str:
    of = f"{result.protocol}: " if result.protocol not in ("", "all") else ""
    foreseen = "" if result.expected == result.verdict else f", expected {result.expected}"
    detail = f": {result.detail}" if result.detail else ""
    return f"{of}{result.name} is {result.verdict}{foreseen}{detail}"


def _uri(result: Result) -> str:
    path = Path(str(result.figures.get("file", "")))
    return path.as_uri() if path.is_absolute() else path.as_posix()


def _line(result: Result) -> int:
    line = result.figures.get("line", 1)
    return line if isinstance(line, int) and line > 0 else 1


def _escaped(text: str, *, property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property else text
