"""Pure Python mirrors of the specifications, their explorer, and their proofs."""
