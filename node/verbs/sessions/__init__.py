"""Verbs for recorded sessions and for snapshots of pages."""
