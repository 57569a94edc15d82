"""The member processes of a run of a group that merges, as the harness sees them."""

from dataclasses import dataclass
from typing import Any

from raincheck.conformance.field.stack.members import Member, Members

MODULE = "raincheck.conformance.field.merging.node"


@dataclass(eq=False, slots=True)
class MergingMember(Member):
    """One life of one member."""

    primary: bool = False
    """Whether it has said of its view that it is primary."""

    def heard(self, event: dict[str, Any]) -> None:
        """Take in its report."""
        if event["event"] == "primary":
            self.primary = event["primary"]
            return
        if event["event"] == "view":
            self.primary = False
        Member.heard(self, event)


class MergingMembers(Members):
    """All lives of all members, in the order in which they were started."""

    module = MODULE
    kind = MergingMember
