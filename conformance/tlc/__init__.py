"""Running TLC: the catalog, its output, its graphs, its counterexamples."""
