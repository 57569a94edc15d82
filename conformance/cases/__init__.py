"""The tables of cases: worlds, rules, and the expected answer of each case."""
