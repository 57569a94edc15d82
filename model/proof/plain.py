"""Counterexamples to induction in a theory's own symbols, for theories without better words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .bounded import Failure
from .concrete import Tables


def explanation(failure: Failure) -> str:
    """Describe the failure: every symbol's unusual values before, the action, and its changes."""
    transition, conjunct = failure.transition, failure.conjunct
    arguments = [
        f"{name} = {_value(failure, kind, value)}"
        for (name, kind), value in zip(transition.parameters, failure.parameters, strict=True)
    ]
    variables = [
        _value(failure, kind, value)
        for kind, value in zip(conjunct.kinds, failure.values, strict=True)
    ]
    before = list(_lines(failure, failure.before))
    left = [line for line in _lines(failure, failure.after) if line not in before]
    gone = [line for line in before if line not in set(_lines(failure, failure.after))]
    lines = ["before:", *(f"  {line}" for line in before)]
    lines.append(f"action: {transition.name} ({', '.join(arguments)})")
    lines += ["after:", *(f"  {line}" for line in left), *(f"  no longer {line}" for line in gone)]
    lines.append(f"violated: {conjunct.name}: {conjunct.says}")
    return "\n".join([*lines, f"  for {', '.join(variables)}"] if variables else lines)


def _value(failure: Failure, kind: str, value: Any) -> str:
    if kind == "process":
        return f"p{value}"
    if kind == "set":
        chosen = [f"p{p}" for p in failure.frame.domain["process"] if value(p)]
        return f"{{{', '.join(chosen)}}}"
    return str(value) if kind in ("bool", "number") else f"{kind} {value}"


def _lines(failure: Failure, tables: Tables) -> Iterator[str]:
    for name, (kinds, result) in failure.frame.theory.symbols.items():
        for values, value in sorted(tables.get(name, {}).items()):
            given = ", ".join(_value(failure, k, v) for k, v in zip(kinds, values, strict=True))
            shown = "" if result == "bool" else f" = {_value(failure, result, value)}"
            yield f"{name}({given}){shown}" if given else f"{name}{shown}"
