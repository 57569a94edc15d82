"""TOTAL: order and agreement, proved for any number of members, messages and views."""
