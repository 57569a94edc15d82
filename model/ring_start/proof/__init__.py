"""RING_START proved for any number of members, processes that join, lives and foundings."""
