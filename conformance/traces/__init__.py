"""Traces and delivery logs: reading, checking, damaging them on purpose."""
