"""The Python client: speaks to a running node over its socket.

Owns the connection and the classes ``Node`` and ``Page``. Never imports the node: an installation keeps its packages out of the
way of other programs (docs/adr/0036-one-installed-package.md). The client's records and methods are generated from the
declarations of verbs instead (``scripts/client.py``).
"""
