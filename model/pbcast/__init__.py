"""PBCAST: the model of its specification."""
