"""FRAG: the model of its specification."""
