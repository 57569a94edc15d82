"""Inductive invariants, proved by Z3 for unbounded instances."""
