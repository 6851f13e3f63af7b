"""The ports: one small interface for each external thing that trailmesh uses, each in a module of its own.

Adapters translate every foreign exception into ``MeshError`` at this border. Each port has a contract suite in
``tests/contract`` that runs over every adapter and over its in-memory twin.
"""
