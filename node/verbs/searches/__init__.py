"""Verbs for searches and schedules."""
