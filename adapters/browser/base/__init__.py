"""Shared by all rooms of the browser: errors, text, and the table of page actions that send no request."""
