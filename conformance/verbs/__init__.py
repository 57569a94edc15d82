"""The command line's verbs, one module each."""
