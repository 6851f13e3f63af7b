"""Adapters for time and randomness."""
