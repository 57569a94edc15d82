"""PRIMARY proved for any number of members, votes and views."""
