"""Persistent memory of a group: shared regions of one machine, and gather regions."""
