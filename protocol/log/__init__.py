"""Witness logs: Merkle trees, checkpoints, what a peer may conclude from them, and proofs that stand alone as files."""
