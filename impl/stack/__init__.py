"""One member of a group: its layers, without I/O."""
