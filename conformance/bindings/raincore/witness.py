"""The evidence that a promise of Raincore is broken, in one sentence, from the spec's states."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

State = Mapping[str, Any]


def epoch_name(epoch: Sequence[int], names: Sequence[str]) -> str:
    """Return an epoch for people: 2/c is the second, claimed by c."""
    n, rank = epoch
    return f"{n}/{names[rank - 1]}" if 1 <= rank <= len(names) else str(n)


def number_name(carrier: Any, names: Sequence[str]) -> str:
    """Return the number of a token or of a copy; the epoch is left out while it is the first."""
    epoch, seq = carrier["epoch"], carrier["seq"]
    return f"{epoch_name(epoch, names)}:{seq}" if any(epoch) else str(seq)


def list_name(nodes: Iterable[str]) -> str:
    """Return a list of nodes: abc, or with blanks where names are longer."""
    names = list(nodes)
    return ("" if all(len(name) == 1 for name in names) else " ").join(names) or "nobody"


def witness(name: str, states: list[State]) -> str:
    """Return what breaks the promise, or nothing if the states do not show it."""
    find = _WITNESSES.get(name)
    return next(find(states), "") if find and states else ""


def _histories(states: list[State]) -> Iterator[str]:
    last = states[-1]
    for (a, mine), (b, theirs) in combinations(last["globalView"].items(), 2):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=False), 1):
            if one and other and one != other:
                yield f"View {index} is {list_name(one)} at {a}, and {list_name(other)} at {b}."
    for index, view in sorted(last.get("past", ()), key=str):
        for node, history in last["globalView"].items():
            if index <= len(history) and history[index - 1] not in ((), view):
                other = list_name(history[index - 1])
                was = f"View {index} was {list_name(view)} in an earlier life"
                yield f"{was}, and is {other} at {node}."


def _eaters(state: State) -> list[str]:
    return [
        node
        for node, token_state in state["tokenState"].items()
        if token_state == "eating" and state["up"][node] == "up"
    ]


def _held(state: State, nodes: Iterable[str]) -> str:
    names = tuple(state["up"])
    return " and ".join(f"{n} eats {number_name(state['lastToken'][n], names)}" for n in nodes)


def _two_eat(states: list[State]) -> Iterator[str]:
    last = states[-1]
    eaters = _eaters(last)
    if len(eaters) > 1:
        yield f"{_held(last, eaters)}, at once."


def _two_lock(states: list[State]) -> Iterator[str]:
    last = states[-1]
    locked = [node for node in _eaters(last) if last["viewState"][node] != "chaos"]
    if len(locked) > 1:
        yield f"{_held(last, locked)}, at once, and neither is in chaos."


def _same_fence(states: list[State]) -> Iterator[str]:
    names = tuple(states[-1]["up"])
    for one, other in combinations(sorted(states[-1].get("eaten", ()), key=str), 2):
        if one[:2] == other[:2]:
            number = number_name({"epoch": one[0], "seq": one[1]}, names)
            yield f"Both {one[2]} and {other[2]} have eaten with the number {number}."


def _holes(states: list[State]) -> Iterator[str]:
    """Yield a hole among later views first; else the member that lacks the last view of all."""
    histories = states[-1]["globalView"]
    lacks = []
    for a, mine in histories.items():
        for index, view in enumerate(mine, 1):
            for b in view:
                theirs = histories.get(b, ())
                committed = f"{a} has committed {list_name(view)} as view {index}"
                if len(theirs) > index and not theirs[index - 1]:
                    yield f"{committed}; {b} has NULL there."
                elif len(theirs) < index or not theirs[index - 1]:
                    lacks.append(f"{committed}; {b} has not.")
    yield from lacks


def _orders(states: list[State]) -> Iterator[str]:
    for (a, mine), (b, theirs) in combinations(states[-1]["delivered"].items(), 2):
        common = [each for each in mine if each in theirs]
        other = [each for each in theirs if each in mine]
        for one, two in zip(common, other, strict=False):
            if one != two:
                first, second = (f"{origin}{k}" for origin, k in (one, two))
                mine_first = f"{a} delivered {first} before {second}"
                yield f"{mine_first}, {b} delivered {second} before {first}."


def _twice(states: list[State]) -> Iterator[str]:
    for node, delivered in states[-1]["delivered"].items():
        for origin, k in delivered:
            if (times := delivered.count((origin, k))) > 1:
                yield f"{node} delivered {origin}{k} {times} times."


def _gaps(states: list[State]) -> Iterator[str]:
    for node, delivered in states[-1]["delivered"].items():
        for (a, i), (b, j) in combinations(delivered, 2):
            if a == b and j < i:
                yield f"{node} delivered {a}{i} before {b}{j}."


_WITNESSES: Final = {
    "ConsistentHistory": _histories,
    "OneEater": _two_eat,
    "OneLock": _two_lock,
    "FenceUnique": _same_fence,
    "NoHoles": _holes,
    "AgreedOrder": _orders,
    "Integrity": _twice,
    "Fifo": _gaps,
}
