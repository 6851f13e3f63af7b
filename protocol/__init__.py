"""Every decision of trailmesh, as functions of (state, input, ``now_ms``, seed).

Nothing in this package reads a clock, a disk, a socket, the environment or a source of randomness: those are handed in.
"""
