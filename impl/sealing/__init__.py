"""Datagrams under a key: authenticated, encrypted, and never taken twice."""
