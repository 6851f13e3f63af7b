"""Starts browsers or attaches to one, and ends them: arguments, profiles, resources on the machine."""
