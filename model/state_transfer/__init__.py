"""STATE TRANSFER: the model of its specification."""
