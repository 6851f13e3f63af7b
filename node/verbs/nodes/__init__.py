"""Verbs for the node, its keys, owners, peers, agents and logs."""
