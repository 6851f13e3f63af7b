"""Records actions as the steps of a session."""
