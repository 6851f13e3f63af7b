"""Reads what a page shows: its tree, text, fields, pictures."""
