"""The twins in memory of what acts on the world: one for each port, held to the contract tests of its port.

They are for tests, the simulation and benchmarks; what is installed does not have them.
"""
