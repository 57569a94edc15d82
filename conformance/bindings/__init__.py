"""The bindings of the protocols: one name for each thing in model, implementation and traces."""
