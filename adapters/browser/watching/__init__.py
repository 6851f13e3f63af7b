"""Watches a person in a window, to record their acts."""
