"""The tables of cases: worlds, rules, and the answer that is wanted of each."""
