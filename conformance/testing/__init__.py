"""Support for a project's own tests: replay, lockstep by Hypothesis, traces that must conform."""
