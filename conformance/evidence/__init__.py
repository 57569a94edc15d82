"""What the verbs leave behind: a folder of a run, and what its results amount to."""
