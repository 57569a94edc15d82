"""PBCAST as implemented: a pure core, its events and its effects."""
