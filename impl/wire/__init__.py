"""Datagrams: their headers, and how they are written and read."""
