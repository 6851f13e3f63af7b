"""The records of a session, and the bundle that contains them."""
