"""The service of STABLE and PBCAST: what members have delivered, and what they forget of it."""
