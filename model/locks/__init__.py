"""LOCKS: named locks over a ring."""
