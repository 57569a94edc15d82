"""SEQUENCER: the model of its specification."""
