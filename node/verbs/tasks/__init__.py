"""Verbs about tasks: work that takes long."""
