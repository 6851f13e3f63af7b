"""Flows on real applications in two versions: what a replay matches, performs, touches and misses (``make bench-drift``)."""
