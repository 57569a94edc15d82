"""LOCKS: how model and implementation name the same things."""
