"""Compares the text of two pages."""
