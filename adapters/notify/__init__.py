"""Adapters for notifications by webhook or command."""
