"""Finds text of a page that addresses the model that reads it."""
