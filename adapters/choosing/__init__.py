"""Adapters for choosers of actions."""
