"""Delivery logs of any group communication system, and the properties that they must have."""
