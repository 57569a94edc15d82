"""A live question to a member, and its answer: the same for groups and rings."""
