"""LEASES: the model of its specification."""
