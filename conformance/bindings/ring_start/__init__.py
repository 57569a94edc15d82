"""RING_START: how model and implementation name the same things."""
