"""The shared search tree: deltas and their encoding, merging, leases, and the selection of the next branch."""
