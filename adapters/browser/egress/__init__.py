"""Judges, holds and passes on what a browser sends: tunnel, guard, limits."""
