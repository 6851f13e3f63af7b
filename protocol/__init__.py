"""All decisions of trailmesh, as pure functions of (state, input, ``now_ms``, seed): no clock, disk, network or randomness.

Nothing in this package reads a clock, a disk, a socket, the environment or a source of randomness: those are handed in.
"""
