"""This node's copy of a search tree, its own share of it, and the signed deltas by which nodes exchange their shares."""
