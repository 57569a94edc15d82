"""An audit that was made in parts, each by a job of its own: who made them, and their folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import SUMMARY
from raincheck.conformance.evidence.plans import Plan

from .auditsteps import made_from


def made_by(
    chosen: Sequence[Plan], parts: Sequence[Path], sources: Mapping[str, str]
) -> dict[str, Any]:
    """Return the tools and the machine that made the parts; nothing where no part has a step.

    Raises UsageError for a part of other sources, or made with other tools than another part.
    """
    made = {part: made_from(part, sources) for part in parts if _steps_of(part, chosen)}
    if not made:
        return {}
    first, *others = made
    for part in others:
        if made[part].get("tools") != made[first].get("tools"):
            raise UsageError(f"{first} and {part} were made with different tools: audit one again.")
    machines = [each["machine"] for each in made.values() if "machine" in each]
    found = {"tools": made[first].get("tools", {})}
    return found | ({"machine": _all(machines)} if machines else {})


def check(chosen: Sequence[Plan], parts: Sequence[Path], out: Path) -> None:
    """Raise UsageError if two parts have the same step, or one is in the folder of the whole."""
    places: dict[str, Path] = {}
    for part in parts if len(parts) > 1 else ():
        if part.resolve() == out.resolve():
            raise UsageError(
                f"--from {part} is the folder of --out too: name another for the whole."
            )
        for step in _steps_of(part, chosen):
            if step in places:
                raise UsageError(f"{places[step]} and {part} both have the step {step}: name one.")
            places[step] = part


def together(chosen: Sequence[Plan], parts: Sequence[Path], out: Path) -> Path:
    """Return the folder that has the steps of all parts: the only part itself, or `out`."""
    if len(parts) == 1:
        return parts[0]
    for plan in chosen:
        shutil.rmtree(out / plan.name, ignore_errors=True)  # of an earlier audit in this folder
    for part in parts:
        for step in _steps_of(part, chosen):
            shutil.copytree(part / step, out / step)
    return out


def _steps_of(part: Path, chosen: Sequence[Plan]) -> list[str]:
    return [plan.name for plan in chosen if (part / plan.name / SUMMARY).is_file()]


def _all(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one description of these machines: what is different stands side by side."""
    words = {
        key: "; ".join(dict.fromkeys(str(each[key]) for each in machines))
        for key in ("system", "processor")
    }
    return {**words, "processors": min(int(each["processors"]) for each in machines)}
