"""One member of a token ring, without I/O."""
