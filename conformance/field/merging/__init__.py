"""Runs of real groups that are partitioned, and merge (`raincheck run merging`)."""
