"""TOTAL: a sequencer gives all messages of a view consecutive ids, and everybody delivers by id."""
