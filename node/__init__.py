"""Connects protocol and adapters: the rooms of one node, its verbs, its APIs and its command line."""

__version__ = "0.1.0"
