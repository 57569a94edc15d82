"""Raincore's figures, drawn by the model and by the implementation."""
