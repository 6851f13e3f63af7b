"""Starts browsers or attaches to one, and ends them: arguments, profiles, what a machine gives to each."""
