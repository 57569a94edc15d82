"""Two-phase commit: its model, its core, and how they name the same things."""
