"""A node as a process: created, run, and reached by commands. Its wiring is the one place that names concrete adapters.

Owns the lock of the data directory and the order in which a node starts and stops. Never holds state of its own.
Callers import the modules directly: the command line starts for each command and loads only what that command needs.
"""
