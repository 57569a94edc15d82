"""An audit that was made in parts, each by a job of its own: who made them, and their folder."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.checksum import FILES
from raincheck.conformance.evidence.folder import SUMMARY
from raincheck.conformance.evidence.plans import Plan
from raincheck.conformance.evidence.reading import json_in
from raincheck.conformance.evidence.store import hash_of

from .auditsteps import IDENTITY, PLAN, made_from


def made_by(
    chosen: Sequence[Plan], parts: Sequence[Path], sources: Mapping[str, str]
) -> dict[str, Any]:
    """Return the tools and the machine that made the parts; nothing where no part has a step.

    Raises UsageError for a part of other sources, made with other tools than another part, or a
    step of which was made with other options, such as those of a smaller tier.
    """
    made = {part: made_from(part, sources) for part in parts if _made(part, chosen)}
    if not made:
        return {}
    for part in made:
        _as_left(part)
        _same_words(part, chosen)
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
        for plan in _made(part, chosen):
            if (other := places.get(plan.name)) is not None:
                raise UsageError(f"{other} and {part} both have the step {plan.name}: name one.")
            places[plan.name] = part


def together(chosen: Sequence[Plan], parts: Sequence[Path], out: Path) -> Path:
    """Return the folder that has the steps of all parts: the only part itself, or `out`."""
    if len(parts) == 1:
        return parts[0]
    for plan in chosen:
        shutil.rmtree(out / plan.name, ignore_errors=True)  # of an earlier audit in this folder
    for part in parts:
        for plan in _made(part, chosen):
            shutil.copytree(part / plan.name, out / plan.name)
    return out


def _made(part: Path, chosen: Sequence[Plan]) -> list[Plan]:
    """Return the steps that the part has."""
    return [plan for plan in chosen if (part / plan.name / SUMMARY).is_file()]


def _as_left(part: Path) -> None:
    """Raise UsageError if what the part says of itself was changed since its own summary."""
    try:
        files = dict(json_in(part / SUMMARY)["run"][FILES])
    except (OSError, ValueError, KeyError, TypeError):
        return  # it was interrupted, or its page was written again
    for name in (IDENTITY, PLAN):
        path = part / name
        if name in files and path.is_file() and hash_of(path) != files[name]:
            raise UsageError(f"{path} is not as its audit has left it: audit again.")


def _same_words(part: Path, chosen: Sequence[Plan]) -> None:
    try:
        planned = json_in(part / PLAN)
        words = {plan.name: list(planned[plan.name]) for plan in _made(part, chosen)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{part} does not say how its steps were made: audit again.") from error
    for plan in _made(part, chosen):
        if words[plan.name] != list(plan.words):
            raise UsageError(
                f"The step {plan.name} in {part} was made as `raincheck "
                f"{shlex.join(words[plan.name])}`: give the audit's tier, runs and seed of then."
            )


def _all(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one description of these machines: what is different stands side by side."""
    words = {
        key: "; ".join(dict.fromkeys(str(each[key]) for each in machines))
        for key in ("system", "processor")
    }
    return {**words, "processors": min(int(each["processors"]) for each in machines)}
