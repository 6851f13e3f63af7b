"""The rights of peers: the trust set, grants, and the origins that grants cover."""
