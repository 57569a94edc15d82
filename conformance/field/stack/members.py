"""The member processes of a run of the stack, as the harness sees them."""

from dataclasses import dataclass, field
from typing import Any

from raincheck.conformance.field.lives import Life, Lives
from raincheck.conformance.field.telling import EXCLUDED, LEFT

MODULE = "raincheck.conformance.field.stack.node"


@dataclass(eq=False, slots=True)
class Member(Life):
    """One life of one member."""

    view: int = 0
    members: tuple[str, ...] = ()
    joined_in: int = 0
    """Its first view."""
    state: tuple[int, ...] = ()
    """The final state of its application: the number of messages, their checksum, and that of the
    unordered ones."""
    unordered: dict[str, Any] = field(default_factory=dict)
    """How many unordered messages it has "sent", and the "highest" that it has of each member."""
    transfers: int = 0
    """How often it was given a state."""
    talk: dict[str, int] = field(default_factory=dict)
    """How many unicasts it was delivered, and what became of its calls; {} if it crashed."""

    def heard(self, event: dict[str, Any]) -> None:
        """Take in its report."""
        match event["event"]:
            case "view":
                self.view, self.members = event["view"], tuple(event["members"])
                self.joined_in = self.joined_in or self.view
                self.joined = True
            case "progress":
                self.sent, self.highest = event["sent"], event["highest"]
                self.unordered = event["unordered"]
            case "left":
                self.counters = event["counters"]
                self.state, self.transfers = tuple(event["state"]), event["transfers"]
                self.talk = event["talk"]
            case _:
                Life.heard(self, event)


class Members(Lives[Member]):
    """All lives of all members, in the order in which they were started."""

    module = MODULE
    kind = Member

    def asked_for(self, member: Member) -> bool:
        """Tell whether the member ended as asked; the run judges an exclusion."""
        if member.code == EXCLUDED:
            member.ending = "excluded"
            return True
        return member.code == LEFT and member.ending == "leave"
