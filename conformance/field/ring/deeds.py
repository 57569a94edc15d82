"""The harness's acts on a ring in words (`raincheck run raincore --watch`)."""

from collections.abc import Mapping
from typing import Final

from .faults import KEPT, NEVER

_MOMENTS: Final = {
    "holding": " as it takes the token",
    "locked": " within the lock",
    "passing": " as it passes the token on",
    "passed": " right after it has passed the token on",
}
_STOPPED: Final = {"close": "closed", "interrupt": "interrupted, as by Ctrl-C"}


def deed(kind: str, who: str, facts: Mapping[str, object]) -> str:
    """Return an act of `faults.jsonl` in words: "d is killed within the lock, for good"."""
    moment = _MOMENTS.get(str(facts.get("moment", "")), "")
    match kind:
        case "skipped":
            why = f"{who} never came to it" if who else "there is nobody to do it to"
            return f"{facts.get('fault', 'a fault')} is skipped: {why}"
        case "partition":
            return f"{who}: cut off from each other for {facts.get('seconds', '?')} s"
        case "heal":
            return "all can reach each other again"
        case "pause":
            return f"{who} is stopped{moment} for {facts.get('seconds', '?')} s"
        case "resumed":
            return f"{who} goes on"
        case "again":
            return "the view has changed: all send one more message"
        case "joinstorm":
            return f"{who} is started and wants to join"
        case "leave":
            return f"{who} is to leave"
        case "holder" | "crash" | "restart" | "forget" | "close" | "interrupt":
            back = facts.get("back", NEVER)
            state = "with" if back == KEPT else "without"
            end = "for good" if back == NEVER else f"and will be back {state} its state"
            return f"{who} is {_STOPPED.get(kind, 'killed')}{moment}, {end}"
    if kind.startswith("back, "):
        state = "with" if kind.endswith(KEPT) else "without"
        return f"{who} is started again, {state} its state"
    return f"{kind} {who}"
