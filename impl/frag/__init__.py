"""FRAG: messages too large for one bundle, in fragments."""
