"""Whole groups under faults on the simulated network, and the checks of their delivery logs."""
