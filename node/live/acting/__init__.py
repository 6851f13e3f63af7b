"""Performs an action: risk, gate, held requests."""
