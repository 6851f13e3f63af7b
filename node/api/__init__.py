"""The doors of a node: the peer API for other nodes, the control API for its owner."""
