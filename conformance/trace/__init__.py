"""Traces: reading, checking, making them, damaging them on purpose."""
