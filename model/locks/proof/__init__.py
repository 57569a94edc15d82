"""LOCKS' tables, proved for any number of members, names and epochs."""
