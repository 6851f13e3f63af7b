"""Time and randomness: the machine's own, and one that tests own."""
