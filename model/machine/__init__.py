"""State machines, their values and graphs, and how graphs are explored."""
