"""Real processes on real sockets: members, load, faults."""
