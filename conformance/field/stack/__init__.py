"""Real processes in a group: members, load, faults."""
