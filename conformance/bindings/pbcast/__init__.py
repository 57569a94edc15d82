"""PBCAST: how model, implementation and traces name the same things."""
