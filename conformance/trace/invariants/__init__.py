"""Each protocol's own invariants, evaluated on its traces."""
