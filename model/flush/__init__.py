"""FLUSH: the model of its specification."""
