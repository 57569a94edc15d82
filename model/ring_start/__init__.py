"""RING_START: the model of its specification."""
