"""Browsers within the limits of the node: pool, places, mounted capsules."""
