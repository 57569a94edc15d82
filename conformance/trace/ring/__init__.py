"""The promises of the token ring, judged over the traces of all its members."""
