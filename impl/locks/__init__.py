"""LOCKS: named locks over a ring, for readers and writers."""
