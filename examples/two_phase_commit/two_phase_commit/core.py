"""Two-phase commit, sans I/O: a participant handles an event and says what to send."""

from typing import NamedTuple


class Prepare(NamedTuple):
    pass


class Refuse(NamedTuple):
    pass


class Commit(NamedTuple):
    pass


class Abort(NamedTuple):
    pass


class ReceiveYes(NamedTuple):
    sender: str


class ReceiveCommitted(NamedTuple):
    sender: str


class ReceiveAborted(NamedTuple):
    sender: str


class Yes(NamedTuple):
    to: str


class Committed(NamedTuple):
    to: str


class Aborted(NamedTuple):
    to: str


class NotNow(Exception):
    """The event may not happen in this state; nothing has changed."""


class Participant:
    def __init__(self, node: str, nodes: tuple[str, ...], coordinator: str) -> None:
        self.node, self.nodes, self.coordinator = node, nodes, coordinator
        self.state = "working"
        self.votes: set[str] = set()

    def handle(self, event: object) -> list[object]:
        match event:
            case Prepare():
                self._leave("working", "prepared")
                return [Yes(self.coordinator)]
            case Refuse():
                self._leave("working", "aborted")
                return []
            case ReceiveYes(sender):
                self._coordinates()
                self.votes.add(sender)
                return []
            case Commit():
                self._coordinates()
                if self.votes != set(self.nodes):
                    raise NotNow("not all have voted yes")
                self._leave("prepared", "committed")
                return [Committed(node) for node in self.nodes]
            case Abort():
                self._coordinates()
                self._leave("prepared", "aborted")
                return [Aborted(node) for node in self.nodes]
            case ReceiveCommitted():
                self._leave("prepared", "committed")
            case ReceiveAborted():
                self._leave("prepared", "aborted")
        return []

    def _coordinates(self) -> None:
        if self.node != self.coordinator:
            raise NotNow(f"{self.node} does not coordinate")

    def _leave(self, state: str, following: str) -> None:
        if self.state != state:
            raise NotNow(f"{self.node} is {self.state}, not {state}")
        self.state = following
