"""MERGE2: two groups of one name, whose coordinators have found each other, become one."""
