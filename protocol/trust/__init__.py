"""What each peer may do: the trust set, grants, and the origins that grants are for."""
