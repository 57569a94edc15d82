"""Real processes in a token ring: members, load, faults."""
