"""The TLA+ specifications and the catalog of what must hold of them."""
