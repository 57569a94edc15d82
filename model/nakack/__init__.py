"""NAKACK: the model of its specification."""
