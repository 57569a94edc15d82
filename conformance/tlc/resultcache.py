"""TLC's earlier answers to exactly the same question, so that it need not be asked again.

Law of this file: only answers are kept, never failures to answer.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from raincheck.conformance.evidence.store import Store, code_key, files_key, key_of

from .output import ActionCoverage, TlcState
from .tlc import ERROR, Options, TlcResult

KIND: Final = "tlc"


def question_key(
    files: Sequence[Path],
    cfg: str,
    jar_hash: str,
    java_major: int,
    options: Options,
    watched: str = "",
) -> str:
    """Return the key of a question: the configuration's text, the files that the module needs, the
    exercises that are watched, and the code that reads the answer.

    Neither times nor paths count: the same specifications in another folder give the same key.
    """
    how = (options.workers, options.seed, options.fingerprint, options.coverage)
    return key_of(
        files=files_key(files),
        cfg=cfg,
        watched=watched,
        jar=jar_hash,
        java=java_major,
        options=(*how, options.check_deadlock, options.simulate),
        code=code_key(__name__),
    )


def known_answer(store: Store, key: str) -> TlcResult | None:
    """Return the answer kept under the key, or None."""
    try:
        return result_from(store.get(KIND, key))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def keep_answer(store: Store, key: str, result: TlcResult) -> None:
    """Keep an answer; a result with the verdict "error" is not one."""
    if result.verdict != ERROR:
        store.put(KIND, key, as_json(result))


def as_json(result: TlcResult) -> dict[str, object]:
    """Return the result as JSON; `result_from` is the inverse."""
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
    """Return the result that `as_json` wrote; raise ValueError, TypeError or KeyError for any other
    entry.
    """
    fields = dict(entry)
    states, coverage = fields.pop("trace"), fields.pop("coverage")
    if not isinstance(states, list) or not isinstance(coverage, list):
        raise TypeError("a trace and a coverage are lists")
    for name in ("candidates", "warnings", "exercised"):
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
