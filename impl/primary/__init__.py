"""PRIMARY: which side of a partition goes on."""
