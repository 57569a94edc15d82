"""Model and implementation side by side: walks, replay, lockstep, mutants."""
