"""Federated exploration: a coordinator leases branches, workers explore them, deltas carry what was learned.

``replica`` is one node's copy of a search tree, ``walker`` drives a page along its branches, ``worker`` works on a lease,
``coordinator`` deals leases and believes only what it replayed itself, ``exchange`` moves deltas, ``explorer`` is the room's door.
"""
