"""MERGE2: some of its promises, proved for any number of groups, members and merges."""
