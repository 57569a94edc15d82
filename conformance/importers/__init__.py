"""Readers of other systems' logs: lines of one file become rows of a delivery log."""
