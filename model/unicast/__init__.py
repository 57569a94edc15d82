"""UNICAST: the model of its specification."""
