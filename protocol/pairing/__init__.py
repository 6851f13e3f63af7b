"""pairing."""
