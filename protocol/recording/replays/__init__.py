"""Compares a replay with its recording and tells how they differ."""
