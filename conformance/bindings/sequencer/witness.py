"""The evidence that a property of SEQUENCER is violated: the smallest witness, in one sentence.

Each function is the negation of the property of the same name in `spec/Sequencer.tla`; it looks for
what makes the property false in the last state of a counterexample.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any, Final

from .names import State, address_name, message_name, running


def witness(name: str, states: list[State]) -> str:
    """Return one sentence on what shows that the property is violated, or nothing."""
    if not states:
        return ""
    look = _WITNESSES.get(name)
    return next(look(states[-1]), "") if look else ""


def _heard(state: State, n: str) -> list[str]:
    return [message_name(d["message"]) for d in state["delivered"][n]]


def _heard_in(state: State, n: str, view: int) -> list[str]:
    return [message_name(d["message"]) for d in state["delivered"][n] if d["view"] == view]


def _order(uniform: bool) -> Callable[[State], Iterator[str]]:
    def look(state: State) -> Iterator[str]:
        who = [n for n in state["status"] if uniform or running(state["status"][n])]
        for p, q in combinations(who, 2):
            mine, theirs = _heard(state, p), _heard(state, q)
            for x, y in permutations(sorted({*mine} & {*theirs}), 2):
                if mine.index(x) < mine.index(y) and theirs.index(y) < theirs.index(x):
                    yield f"{p} delivered {x} before {y}, {q} delivered {y} before {x}."

    return look


def _survived(state: State, p: str, view: int) -> bool:
    if not running(state["status"][p]) or view >= state["view"][p]:
        return False
    both = (state["views"][view - 1], state["views"][view])
    return all(p in (address[0] for address in each["members"]) for each in both)


def _agreement(uniform: bool) -> Callable[[State], Iterator[str]]:
    def look(state: State) -> Iterator[str]:
        for view in range(1, len(state["views"]) + 1):
            for p, q in permutations(state["status"], 2):
                if not _survived(state, q, view) or not (uniform or _survived(state, p, view)):
                    continue
                theirs = _heard_in(state, q, view)
                for x in _heard_in(state, p, view):
                    if x not in theirs:
                        who = q if uniform else "both"
                        what = f"{p} delivered {x} and {q} did not"
                        yield f"In view {view} {what}; {who} survived it."

    return look


def _integrity(state: State) -> Iterator[str]:
    for n in state["status"]:
        heard = _heard(state, n)
        for x in heard:
            if heard.count(x) > 1:
                yield f"{n} delivered {x} {heard.count(x)} times."


def _no_creation(state: State) -> Iterator[str]:
    for n, stream in state["stream"].items():
        for d in stream:
            message, views = d["message"], state["views"][: d["view"]]
            sender = message["from"]
            if all(sender not in view["members"] for view in views):
                yield f"{n} multicast {message_name(message)} of {sender[0]}, which is no member."
            elif message["payload"] > state["said"][sender[0]]:
                yield f"{n} multicast {message_name(message)}, which {sender[0]} never sent."


def _fifo(state: State) -> Iterator[str]:
    for n in state["status"]:
        for first, second in combinations((d["message"] for d in state["delivered"][n]), 2):
            same = first["from"][0] == second["from"][0]
            if same and first["payload"] >= second["payload"]:
                yield f"{n} delivered {message_name(first)} before {message_name(second)}."


def _gap_free(state: State) -> Iterator[str]:
    for n in state["status"]:
        last: dict[Any, Any] = {}
        for message in (d["message"] for d in state["delivered"][n]):
            before = last.get(message["from"])
            if before is not None and message["seqno"] != before["seqno"] + 1:
                yield f"{n} delivered {message_name(message)} right after {message_name(before)}."
            if before is None and message["seqno"] != 1:
                yield (
                    f"The first that {n} delivered of {address_name(message['from'])} is "
                    f"{message_name(message)}, with seqno {message['seqno']}."
                )
            last[message["from"]] = message


def _fresh(state: State) -> Iterator[str]:
    for p, q in permutations(state["status"], 2):
        if not running(state["status"][p]):
            continue
        for x in _heard(state, p):
            for d in state["delivered"][q]:
                there = [a[0] for a in state["views"][d["view"] - 1]["members"]]
                if message_name(d["message"]) == x and p not in there:
                    yield (
                        f"{q} had delivered {x} in view {d['view']}, before {p} joined; "
                        f"{p} delivered it too."
                    )


def _validity(state: State) -> Iterator[str]:
    for n, status in state["status"].items():
        said, seqno = state["said"][n], state["seqno"][n]
        for k in range(said - seqno + 1, said + 1):
            if running(status) and f"{n}{k}" not in _heard(state, n):
                yield f"{n} is still there and never delivers its own {n}{k}."


def _eventual_agreement(state: State) -> Iterator[str]:
    running_now = [n for n, status in state["status"].items() if running(status)]
    for p, q in permutations(running_now, 2):
        for d in state["delivered"][p]:
            x = message_name(d["message"])
            there = state["views"][d["view"] - 1]["members"]
            if (q, state["incarnation"][q]) in there and x not in _heard(state, q):
                yield f"{p} delivered {x} in view {d['view']}; {q} was in it and never delivers it."


_WITNESSES: Final[dict[str, Callable[[State], Iterator[str]]]] = {
    "TotalOrder": _order(False),
    "UniformTotalOrder": _order(True),
    "Agreement": _agreement(False),
    "UniformAgreement": _agreement(True),
    "Integrity": _integrity,
    "NoCreation": _no_creation,
    "Fifo": _fifo,
    "GapFree": _gap_free,
    "EventualAgreement": _eventual_agreement,
    "Fresh": _fresh,
    "Validity": _validity,
}
