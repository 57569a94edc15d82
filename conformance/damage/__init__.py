"""Damaged traces: how many of the lies that a trace can tell the checker notices."""
