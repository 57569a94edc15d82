"""FLUSH: its safety, proved for any number of members and messages."""
