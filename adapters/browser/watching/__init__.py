"""Watches a person in a window, for a recording of what they do."""
