"""Whole groups under faults on the simulated network, and the judge of their delivery logs."""
