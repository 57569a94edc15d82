"""How each protocol's trace records map to its model."""
