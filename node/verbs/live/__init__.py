"""Verbs for live browser sessions."""
