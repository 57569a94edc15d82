"""The member processes of a run of the stack, as the harness sees them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .lives import Life, Lives, RunFailed, command_of, last_line
from .telling import EXCLUDED, LEFT, SETUP

__all__ = ["Member", "Members", "RunFailed", "last_line", "node_command"]

MODULE = "raincheck.conformance.clusternode"


@dataclass(eq=False, slots=True)
class Member(Life):
    """One life of one member."""

    view: int = 0
    members: tuple[str, ...] = ()
    joined_in: int = 0
    """The first view that it had."""
    sent: int = 0
    highest: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
    """Whether it sends no more."""
    state: tuple[int, ...] = ()
    """What its application had in the end: how many messages, and their checksum."""
    transfers: int = 0
    """How often it was given a state."""
    wrong: str = ""

    @property
    def in_group(self) -> bool:
        """Whether it has joined, and is to stay."""
        return self.running and bool(self.bind) and self.view > 0

    def heard(self, event: dict[str, Any]) -> None:
        """Take in what it tells."""
        match event["event"]:
            case "open":
                self.bind = event["bind"]
            case "view":
                self.view, self.members = event["view"], tuple(event["members"])
                self.joined_in = self.joined_in or self.view
            case "progress":
                self.sent, self.highest = event["sent"], event["highest"]
            case "stopped":
                self.sent, self.stopped = event["sent"], True
            case "left":
                self.counters = event["counters"]
                self.state, self.transfers = tuple(event["state"]), event["transfers"]
            case "wrong":
                self.wrong = event["sentence"]
            case _:
                Life.heard(self, event)


class Members(Lives[Member]):
    """All lives of all members, in the order of their starts."""

    module = MODULE
    kind = Member

    @property
    def in_group(self) -> list[Member]:
        """Those that have joined and are to stay."""
        return [member for member in self.all if member.in_group]

    def asked_for(self, member: Member) -> bool:
        """Whether the member ended as it was to; an exclusion is for the run to judge."""
        if member.code == EXCLUDED:
            member.ending = "excluded"
            return True
        return member.code == LEFT and member.ending == "leave"

    def no_set_up(self, member: Member) -> bool:
        """Whether it ended because it could not even start."""
        return member.code == SETUP and not member.bind


def node_command(options: Mapping[str, object]) -> list[str]:
    """The command line of a member process."""
    return command_of(MODULE, options)
