"""FRAG: its safety, proved for any number of members, messages, fragments and views."""
