"""Raincore: the model of its specification."""
