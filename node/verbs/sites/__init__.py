"""Verbs about the sites that this node has worked with."""
