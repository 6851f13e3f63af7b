"""Implementations of the ports in ``adapters.ports``: everything that touches disk, network, clock or browser. Families of
adapters do not import each other."""
