"""PRIMARY: the model of its specification."""
