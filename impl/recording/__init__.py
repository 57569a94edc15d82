"""Recording traces of running members."""
