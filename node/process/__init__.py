"""Creates and runs a node process, and connects commands to it. Only its ``wiring`` and ``machine`` name concrete
adapters.

Owns the lock of the data directory and the order in which a node starts and stops. Never holds state of its own.
Callers import the modules directly: the command line starts for each command and loads only what that command needs.
"""
