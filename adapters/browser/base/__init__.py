"""Shared by all rooms of the browser: errors, text, what a page may do without a request."""
