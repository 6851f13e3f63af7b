"""Finds the element of a page that a selector matches."""
