"""GMS: the model of its specification."""
