"""Delivery logs of any group communication system, and what they must not show."""
