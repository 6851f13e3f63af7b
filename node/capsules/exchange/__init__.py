"""Capsules between nodes."""
