"""Persistent storage: the store on SQLite, the blobs, and the lock of a data directory.

``sqlite`` implements the port on ``database`` (thread, transactions), ``migrations`` (schema), ``blobs`` (files),
``records`` (bytes of a record) and ``faults`` (foreign exceptions to ``MeshError``).
"""
