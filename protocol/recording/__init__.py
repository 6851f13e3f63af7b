"""Recorded sessions: their records, the bundle as a file, and the comparison of a replay with its recording."""
