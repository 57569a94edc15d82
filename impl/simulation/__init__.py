"""Whole groups and rings in one process, in virtual time."""
