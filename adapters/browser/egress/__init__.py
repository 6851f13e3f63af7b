"""Judges, holds and passes on the requests of a browser: tunnel, guard, limits."""
