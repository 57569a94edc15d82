"""Java, child processes and threads: the tools on which the verbs run."""
