"""The judges of the checkers: every rule of every checker, and an input that breaks it alone."""
