"""Running TLC, and reading its output, its state graphs and its counterexamples."""
