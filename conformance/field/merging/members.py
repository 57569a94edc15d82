"""The member processes of a run of a group that merges, as the harness sees them."""

from raincheck.conformance.field.stack.members import Member, Members

MODULE = "raincheck.conformance.field.merging.node"


class MergingMembers(Members):
    """All lives of all members, in the order in which they were started."""

    module = MODULE
    kind = Member
