"""Replay: model and implementation side by side, by walks, in lockstep, and damaged by mutants."""
