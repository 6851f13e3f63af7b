"""Shared by all commands."""
