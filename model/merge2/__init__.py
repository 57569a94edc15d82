"""MERGE2: the model of its specification."""
