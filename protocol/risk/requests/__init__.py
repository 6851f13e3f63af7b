"""Judges requests by method, address and body."""
