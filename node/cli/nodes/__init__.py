"""Commands for the node, its keys, peers, agents and logs."""
