"""The proof engine: inductive invariants, checked by Z3."""
