"""Stored sessions: read, verified, exported, imported, removed."""
