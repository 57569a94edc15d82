"""For a project's own tests: replay, lockstep by Hypothesis, and traces that must conform."""
