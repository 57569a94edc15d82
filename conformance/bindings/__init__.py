"""How each protocol's model, implementation and traces name the same things."""
