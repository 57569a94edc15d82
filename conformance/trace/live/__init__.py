"""Traces that are judged while they are written."""
