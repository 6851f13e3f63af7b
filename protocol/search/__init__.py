"""The shared search tree: deltas and their encoding, merging, leases, and the choice of the next branch."""
