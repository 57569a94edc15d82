"""Java, child processes and threads: what the verbs run on."""
