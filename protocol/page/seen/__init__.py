"""Observations of a page."""
