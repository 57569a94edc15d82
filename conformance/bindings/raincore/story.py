"""The meaning of a step of Raincore, found from two states of `spec/Raincore.tla`.

The network is a set: a message is identified by its content, from the step that adds it to the set
to the step that removes it. A step that takes a message belongs to its addressee, or to its sender
if it reports a failure; any other step belongs to the member whose entries change.
"""

from collections.abc import Iterator
from typing import Any, Final

from raincheck.conformance.report.sequence import Event, Message

from .witness import State, witness
from .words import Words, message_name

__all__ = ["absent", "members", "tell", "witness"]

_MARKS: Final = {"Crash": "crash", "Forget": "leave", "Recover": "join", "Initialise": "join"}
_ARRIVALS: Final = frozenset({"ReceiveToken", "Receive911"})
_FAILURES: Final = frozenset({"TokenUndelivered", "Undelivered911"})
_NOBODYS: Final = frozenset({"Split", "Heal", "Pause", "Lose", "FalseReport", "Forge", "Corrupt"})


def members(states: list[State]) -> tuple[str, ...]:
    """All nodes, in order of rank."""
    return tuple(states[0]["up"]) if states else ()


def absent(state: State) -> frozenset[str]:
    """Return the members that are not there yet, or no longer."""
    return frozenset(node for node, up in state["up"].items() if up != "up")


def tell(steps: list[tuple[str, State, State]]) -> list[Event]:
    """Return an event for each step."""
    teller = _Teller()
    return [teller.step(action, before, after) for action, before, after in steps]


class _Teller:
    """Keeps the identities of the messages under way."""

    def __init__(self) -> None:
        self.count = 0
        self.ids: dict[Any, int] = {}
        self.names: tuple[str, ...] = ()

    def step(self, action: str, before: State, after: State) -> Event:
        """Return the event of one step."""
        self.names = tuple(before["up"])
        taken = self._taken(action, before, after)
        node = self._actor(action, taken, before, after)
        received = None
        if taken is not None and action in _ARRIVALS:
            received = Message(self._id(taken), message_name(taken, self.names), taken["to"])
        sent = tuple(self._sent(action, before, after))
        if action == "Initialise" or node:
            text, mark = Words(self.names).of_member(action, node, taken, before, after)
        else:
            text, mark = Words(self.names).of_nobody(action, taken, after), ""
        call = f"{action}({node})" if node else action
        return Event(0, node, call, text, sent, received, _MARKS.get(action, mark))

    # ------------------------------------------------------------------ messages

    def _id(self, message: Any) -> int:
        if message not in self.ids:
            self.count += 1
            self.ids[message] = self.count
        return self.ids[message]

    @staticmethod
    def _taken(action: str, before: State, after: State) -> Any:
        """Return the message that the step takes from the network, reports as lost, or makes up."""
        if action == "FalseReport":
            return next(iter(after["reports"] - before["reports"]), None)
        if action == "Forge":
            return next(iter(after["network"] - before["network"]), None)
        gone = before["reports"] - after["reports"]
        gone |= before["network"] - after["network"]
        return next(iter(gone), None)

    def _sent(self, action: str, before: State, after: State) -> Iterator[Message]:
        """Return the messages that the step adds; equal contents sent again are another message."""
        for message in sorted(after["network"] - before["network"], key=str):
            if action != "FalseReport":
                self.ids.pop(message, None)
            yield Message(self._id(message), message_name(message, self.names), message["to"])

    def _actor(self, action: str, taken: Any, before: State, after: State) -> str:
        if action in _NOBODYS:
            return ""
        if action in _ARRIVALS | _FAILURES and taken is not None:
            return str(taken["to"] if action in _ARRIVALS else taken["current"])
        changed = [
            node
            for name in (
                "up",
                "tokenState",
                "attempt",
                "lastToken",
                "outbox",
                "leaving",
                "viewState",
            )
            for node in self.names
            if before[name][node] != after[name][node]
        ]
        return changed[0] if changed else ""
