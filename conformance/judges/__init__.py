"""Who judges the judges: every rule of every checker, and an input that breaks it alone."""
