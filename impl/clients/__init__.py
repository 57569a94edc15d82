"""Clients of a ring: processes that use its named locks by one of its members, and do not vote."""
