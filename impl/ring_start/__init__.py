"""RING_START: whether a process that starts founds a ring, comes back to it, or joins it."""
