"""Say in words why a trace does not conform: the event, the false conjuncts, the wrong values."""

from typing import Any

import msgspec

from .batches import Problem
from .findings import WORDS, Finding


def describe(finding: Finding) -> str:
    """The finding as a few lines of text."""
    who = f"{finding.node}.{finding.incarnation}"
    event = f"event {finding.index}" if finding.index else "the file"
    clock = f", clock {finding.clock}" if finding.clock else ""
    action = f" ({finding.action}{clock})" if finding.action else ""
    lines = [f"{WORDS[finding.verdict]}: {who}, {event}{action}: {finding.reason}"]
    if finding.path:
        line = f", line {finding.line}" if finding.line else ""
        lines.append(f"  in {finding.path}{line}")
    for conjunct in finding.conjuncts:
        values = ", ".join(f"{name} = {shown(value)}" for name, value in conjunct.values.items())
        lines.append(f"  false: {conjunct.text}   where {values}")
    for difference in finding.differences:
        lines.append(f"  {difference.name}: expected {shown(difference.expected)}")
        lines.append(f"  {' ' * len(difference.name)}  recorded {shown(difference.recorded)}")
    return "\n".join(lines)


def describe_problem(problem: Problem) -> str:
    """One line for a record in quarantine."""
    excerpt = f": {problem.excerpt}" if problem.excerpt else ""
    return f"quarantined: {problem.path}, line {problem.line}: {problem.reason}{excerpt}"


def shown(value: Any) -> str:
    """A value as the trace writes it, cut where it is long; a text of its own is no value."""
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= 300 else text[:297] + "..."
