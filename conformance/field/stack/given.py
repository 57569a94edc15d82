"""What the members of a run had of each sender when they gave a state to another one."""

from collections.abc import Iterable, Mapping

from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.deliveries.states import State, parts_of


def states_in(rows: Iterable[Row]) -> list[State]:
    """Return the states that a log says were taken."""
    return [
        State(row.position, row.member, row.sender, row.after or 0, int(row.view))
        for row in rows
        if row.event == "state"
    ]


def last_at(rows: Iterable[Row], wanted: Iterable[int]) -> dict[int, dict[str, int]]:
    """Return which message of each sender a log's member had last, at each of these positions."""
    ahead = sorted(wanted, reverse=True)
    last: dict[str, int] = {}
    found = {}
    for row in rows:
        if row.event == "deliver":
            while ahead and ahead[-1] < row.position:
                found[ahead.pop()] = dict(last)
            last[row.sender] = int(row.message)
    return found | {position: dict(last) for position in ahead}


def given_by(
    states: Iterable[State], lengths: Mapping[str, int], logs: Mapping[str, Iterable[Row]]
) -> dict[State, dict[str, int]]:
    """Return the last message of each sender in each state whose contents the logs have."""
    known, _ = parts_of(states, lengths)
    wanted: dict[str, set[int]] = {}
    for parts in known.values():
        for part in parts:
            wanted.setdefault(part.member, set()).add(part.upto)
    last = {member: last_at(logs[member], places) for member, places in wanted.items()}
    found: dict[State, dict[str, int]] = {}
    for state, parts in known.items():
        inside = found[state] = {}
        for part in parts:
            for sender, number in last[part.member][part.upto].items():
                inside[sender] = max(number, inside.get(sender, 0))
    return found
