"""Witness logs: Merkle trees, checkpoints, the rules for checking them, and proof files."""
