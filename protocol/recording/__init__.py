"""Recorded sessions: their records, the bundle file, and the comparison of a replay with its recording."""
