"""Puts protocol and adapters together: one node, its verbs, its doors and its command line."""

__version__ = "0.1.0"
