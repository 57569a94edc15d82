"""STABLE: the model of its specification."""
