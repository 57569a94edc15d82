"""Formally checked group communication: totally ordered multicast and membership."""

__version__ = "0.1.0"
