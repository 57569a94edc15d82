"""Two-phase commit, sans I/O: a participant handles an event and returns what is to be sent."""

from .messages import Decide, Outcome, Prepare, ReceiveOutcome, ReceiveYes, Refuse, Yes


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
            case ReceiveYes(sender):
                self._coordinates()
                self.votes.add(sender)
            case Decide(outcome):
                self._coordinates()
                if outcome == "committed" and self.votes != set(self.nodes):
                    raise NotNow("not all have voted yes")
                self._leave("prepared", outcome)
                return [Outcome(node, outcome) for node in self.nodes]
            case ReceiveOutcome(outcome=outcome):
                self._leave("prepared", outcome)
        return []

    def _coordinates(self) -> None:
        if self.node != self.coordinator:
            raise NotNow(f"{self.node} does not coordinate")

    def _leave(self, state: str, following: str) -> None:
        if self.state != state:
            raise NotNow(f"{self.node} is {self.state}, not {state}")
        self.state = following
