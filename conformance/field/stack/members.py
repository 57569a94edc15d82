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
    highest: dict[str, int] = field(default_factory=dict)
    """The last message that it delivered from each member."""
    state: tuple[int, ...] = ()
    """The final state of its application: the number of messages, and their checksum."""
    transfers: int = 0
    """How often it was given a state."""

    @property
    def in_group(self) -> bool:
        """Tell whether it has joined, and is to stay."""
        return self.running and bool(self.bind) and self.view > 0

    def heard(self, event: dict[str, Any]) -> None:
        """Take in its report."""
        match event["event"]:
            case "view":
                self.view, self.members = event["view"], tuple(event["members"])
                self.joined_in = self.joined_in or self.view
            case "progress":
                self.sent, self.highest = event["sent"], event["highest"]
            case "left":
                self.counters = event["counters"]
                self.state, self.transfers = tuple(event["state"]), event["transfers"]
            case _:
                Life.heard(self, event)


class Members(Lives[Member]):
    """All lives of all members, in the order in which they were started."""

    module = MODULE
    kind = Member

    @property
    def in_group(self) -> list[Member]:
        """Return those that have joined and are to stay."""
        return [member for member in self.all if member.in_group]

    def asked_for(self, member: Member) -> bool:
        """Tell whether the member ended as asked; the run judges an exclusion."""
        if member.code == EXCLUDED:
            member.ending = "excluded"
            return True
        return member.code == LEFT and member.ending == "leave"
