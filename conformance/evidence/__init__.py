"""Evidence: a run's folder, the store, and the audit's verdicts."""
