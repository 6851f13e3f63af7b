"""The keys of a node over time: key events, the rules of the key log, the recovery key."""
