"""Verbs for recorded sessions and for pages that are only looked at."""
