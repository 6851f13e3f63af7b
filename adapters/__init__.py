"""The world, behind the ports of ``adapters.ports``. Families of adapters do not know each other."""
