"""Contexts, tabs and pages of a browser: opens, navigates, closes them."""
