"""PBCAST proved for any number of members, messages, gossips, and any lag."""
