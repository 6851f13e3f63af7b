"""Adapters for discovery on the local network."""
